import { AppError, errorLine } from "../errors.ts";
import { escapeUnseen } from "../reporters/json.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import { type CommandIo, defineCommand, exitCodes, type ValuesOf } from "./command.ts";
import { write } from "./output.ts";

const options = {
  list: { type: "boolean", description: "print the definitions of all tools as JSON" },
  repo: { type: "string", value: "DIR", description: "the repository", default: "." },
  base: { type: "string", value: "REF", description: "what the change is to be merged into" },
  head: { type: "string", value: "REF", description: "the last commit of the change", default: "HEAD" },
  args: { type: "string", value: "JSON", description: "the arguments of the call", default: "{}" },
} as const;

type Values = ValuesOf<typeof options>;

export const tool = defineCommand({
  positionals: [{ name: "NAME", description: "the tool to run; see --list", required: false }],
  options,
  notes: [
    "Prints the result as JSON: status, output or error, metadata.",
    "",
    "Exit code: 0 success; 1 the tool answered with an error, is unknown or refused its arguments; 2 no repository, no " +
      "base, or --args is not JSON.",
  ],
  examples: [
    { command: "hunkwise tool changed_files --base main", says: "what a branch changes" },
    {
      command: `hunkwise tool read_file_part --base main --args '{"file_path": "README.md", "end_line": 20}'`,
      says: "the beginning of a file",
    },
  ],
  run: runTool,
});

async function runTool(values: Values, [name]: readonly string[], io: CommandIo): Promise<number> {
  if (values.list) return list(io);
  if (name === undefined) throw usage("NAME is missing", "See 'hunkwise tool --list'.");
  if (values.base === undefined)
    throw usage("--base is missing", "Name what the change is to be merged into.");
  const args = readArguments(values.args);
  const [{ openRange }, { loadLocalConfig }] = await Promise.all([
    import("./open-range.ts"),
    import("./local-config.ts"),
  ]);
  const { repo, base, head } = values;
  await using range = await openRange({ repo, base, head, signal: io.signal });
  const { config, notice } = await loadLocalConfig(range.workspace);
  if (notice) await write(io.stderr, `hunkwise: ${notice}\n`);
  const { callTool } = await import("./call-tool.ts");
  const onCrash = (line: string) => io.stderr.write(`hunkwise: ${plainLine(line)}\n`);
  const result = await callTool(name, args, range, { config, signal: io.signal, onCrash });
  io.signal.throwIfAborted();
  await write(io.stdout, `${escapeUnseen(JSON.stringify(result, null, 2))}\n`);
  return result.status === "success" ? exitCodes.clean : exitCodes.found;
}

async function list(io: CommandIo): Promise<number> {
  const { definitions } = await import("./call-tool.ts");
  await write(io.stdout, `${JSON.stringify(definitions(), null, 2)}\n`);
  return exitCodes.clean;
}

/** The text is handed on as it is, so that the tool's own check of arguments answers as it answers a model. */
function readArguments(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw usage(
      `--args is not JSON: ${errorLine(error)}`,
      'Quote it for the shell: --args \'{"key": "value"}\'.',
    );
  }
}

const usage = (message: string, remedy: string) => new AppError("usage", message, { remedy });
