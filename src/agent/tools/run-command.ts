import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { cutLine, headAndTail } from "../../core/text/cut.ts";
import { shellWord } from "../../core/text/fence.ts";
import { shownBytes } from "../../repo/diff/file-diff.ts";
import { showPath } from "../../repo/show.ts";
import { resolveFolder } from "./paths.ts";
import { wholeNumber } from "./read-arguments.ts";
import {
  type CommandEnd,
  defineTool,
  type Executed,
  type Rendered,
  type ToolContext,
  ToolError,
} from "./tool.ts";

/** A word of a command line as a shell reads it, in either kind of quotes or without. */
const words = /"([^"]*)"|'([^']*)'|(\S+)/g;
/** Characters with a meaning for a shell in a word without quotes. */
const meaning = /[;&|<>`$(){}*?!#~\\"'\n]/;

/**
 * The requested command line: an allowed one by name or text, optionally with plain words as arguments. The sandbox is the security boundary,
 * not this.
 * @throws ToolError that names the allowed commands
 */
export function allowedCommand(asked: string, allowed: Readonly<Record<string, string>>): string {
  const given = asked.trim();
  const known = Object.entries(allowed).flatMap(([name, line]) => [
    { begins: line, line },
    { begins: name, line },
  ]);
  // `npm test` is also the beginning of `npm test -- --run`.
  const found = known
    .filter(({ begins }) => given === begins || given.startsWith(`${begins} `))
    .toSorted((a, b) => b.begins.length - a.begins.length)[0];
  if (!found)
    throw new ToolError(`'${given}' is not one of the commands that may be run: ${listed(allowed)}`);
  const rest = [...given.slice(found.begins.length).matchAll(words)].map(([, double, single, bare]) => {
    if (bare === undefined || !meaning.test(bare)) return double ?? single ?? bare ?? "";
    throw new ToolError(
      `only plain arguments may follow '${found.begins}', not '${bare}'; the answer holds stdout and stderr, and of long output the beginning and the end`,
    );
  });
  return [found.line, ...rest.map(shellWord)].join(" ");
}

function listed(allowed: Readonly<Record<string, string>>): string {
  const all = Object.entries(allowed).map(([name, line]) => `${name} (${line})`);
  return all.length > 0 ? all.join(", ") : "none, because .github/hunkwise.yml of the base names none";
}

const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 600;
/** For setting up the sandbox and copying changed files back. */
const SETUP_MS = 120_000;
const MAX_COMMAND = 2_000;
const MAX_VALUE = 4_096;
const MAX_VARIABLES = 50;
const VARIABLE = /^[A-Za-z_]\w{0,99}$/;
/** Maximum changed paths that are named. */
const NAMED = 20;
/** Maximum bytes of notes about files, because a command chooses their names. */
const MAX_NOTE_BYTES = 8_192;
const MAX_ERROR_BYTES = 16_384;

const Input = z.strictObject({
  command: z
    .string()
    .max(MAX_COMMAND)
    .refine((command) => !command.includes("\0"), "no command can hold a NUL")
    .describe("Name or text of an allowed command; plain arguments may follow."),
  working_dir: z.string().default("."),
  timeout: wholeNumber(1, MAX_SECONDS).default(DEFAULT_SECONDS).describe(`Seconds, up to ${MAX_SECONDS}.`),
  env: z
    .record(z.string(), z.string().max(MAX_VALUE))
    .refine((env) => Object.keys(env).every((name) => VARIABLE.test(name)), "names are letters, digits and _")
    .refine((env) => !Object.values(env).join("").includes("\0"), "no value can hold a NUL")
    .refine((env) => Object.keys(env).length <= MAX_VARIABLES, `at most ${MAX_VARIABLES} variables`)
    .optional()
    .describe("Further environment variables."),
});
type Input = z.infer<typeof Input>;

interface Output {
  stdout: string;
  stderr: string;
  exit_code: number;
}

/** Descriptions of the limits; a time-out has its own answer. */
const limits = {
  memory: "It was ended: it used more memory than is allowed.",
  files: "It was ended: it made more files than are allowed.",
  output: "It was ended: it printed more output than is allowed.",
};

function noteOf({ ended, changed, notes }: CommandEnd): string {
  const named = changed.slice(0, NAMED).map(showPath).join(", ");
  const more = changed.length > NAMED ? `, and ${changed.length - NAMED} more` : "";
  const all = [
    ...(ended === null || ended === "timeout" ? [] : [limits[ended]]),
    ...(changed.length > 0 ? [`It changed ${count(changed.length, "file")}: ${named}${more}.`] : []),
    ...notes,
  ].join(" ");
  return cutLine(all, MAX_NOTE_BYTES);
}

async function execute(input: Input, context: ToolContext, signal: AbortSignal): Promise<Executed<Output>> {
  const { commands } = context;
  if (!commands) throw new ToolError("no command can be run here: this machine has no sandbox");
  const command = allowedCommand(input.command, commands.allowed);
  const folder = (await resolveFolder(input.working_dir, context)) || ".";
  const request = { command, folder, timeoutMs: input.timeout * 1_000, env: input.env ?? {} };
  const end = await commands.run(request, signal);
  const output = { stdout: end.stdout, stderr: end.stderr, exit_code: end.exitCode };
  if (end.ended === "timeout") throw timedOut(input, output);
  const note = noteOf(end);
  return { output, truncated: end.truncated, ...(note === "" ? {} : { note }) };
}

function timedOut({ command, timeout }: Input, output: Output): ToolError {
  const { text } = show(output, MAX_ERROR_BYTES);
  const what = `'${command}' took longer than ${timeout} s and was ended, and nothing that it changed was kept`;
  return new ToolError(
    `${what}; give it more time or less to do. What it printed:\n${text}`,
    undefined,
    "timeout",
  );
}

/** stderr gets the room that stdout leaves, and at least half of it. */
function show({ stdout, stderr }: Output, maxBytes: number): Rendered {
  const room = maxBytes - 100;
  const errors = headAndTail(stderr, room / 2, shownBytes);
  const out = headAndTail(stdout, room - shownBytes(errors.text), shownBytes);
  const parts = [out.text, ...(errors.text === "" ? [] : [`[stderr]\n${errors.text}`])].filter(
    (one) => one !== "",
  );
  return { text: parts.join("\n") || "(no output)", truncated: out.truncated || errors.truncated };
}

function render(output: Output, _input: Input, maxBytes: number): Rendered {
  const { text, truncated } = show(output, maxBytes);
  return { text: `exit code ${output.exit_code}\n${text}`, truncated: truncated ?? false };
}

export const runCommand = defineTool<Input, Output>({
  name: "run_command",
  title: "Run a command",
  description:
    "Runs a command that the maintainers allow (like test, lint, build) on the present files, without network, in a copy that is " +
    "thrown away. Files that it changes are kept unless git ignores them. Long output is cut to its beginning and end.",
  returns:
    "`{stdout, stderr, exit_code}`; `exit_code` is 128 plus the number of the signal if a signal ended the command.",
  example: { command: "test", timeout: 300 },
  kind: "change",
  input: Input,
  timeoutMs: MAX_SECONDS * 1_000 + SETUP_MS,
  execute,
  render,
});
