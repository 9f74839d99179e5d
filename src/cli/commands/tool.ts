import { resolve } from "node:path";
import { AppError, errorLine } from "../../errors.ts";
import { plainLine } from "../../reporters/terminal-style.ts";
import { escapeUnseen } from "../../text/escape-invisible.ts";
import type { ToolResult } from "../../tools/tool.ts";
import {
  type CommandContext,
  type CommandIo,
  didYouMean,
  examples,
  exitCodes,
  type OptionsOf,
  paragraphs,
  rangeCommand,
  optionText,
} from "../command.ts";
import { write } from "../output.ts";

const declare = () =>
  rangeCommand("tool")
    .description(
      paragraphs(
        "Prints the result as JSON: status, output or error, metadata.",
        "Exit code: 0 success; 1 no such tool, or the tool answered with an error or refused its arguments; 2 usage or set-up: " +
          "no repository, no base, or --args is not JSON.",
      ),
    )
    .argument("[NAME]", "the tool to run; see --list")
    .option("--list", "print the definitions of all tools as JSON")
    .option("--args <JSON>", "the arguments of the call", optionText, "{}")
    .addHelpText(
      "after",
      examples(
        ["what a branch changes", "hunkwise tool changed_files"],
        [
          "the beginning of a file",
          `hunkwise tool read_file_part --base main --args '{"file_path": "README.md", "end_line": 20}'`,
        ],
      ),
    );

export const tool = (io: CommandContext) =>
  declare().action(async (name, values) => {
    io.exitCode = await printTool(name, values, io);
  });

/** Runs one tool on a local range, or lists them. Resolves to the exit code. */
async function printTool(
  name: string | undefined,
  values: OptionsOf<typeof declare>,
  io: CommandIo,
): Promise<number> {
  const { callTool, definitions } = await import("../call-tool.ts");
  if (values.list) {
    await write(io.stdout, `${JSON.stringify(definitions(), null, 2)}\n`);
    return exitCodes.clean;
  }
  const { repo, base, head } = values;
  if (name === undefined) throw usage("NAME is missing", "See 'hunkwise tool --list'.");
  const known = definitions().map((one) => one.name);
  // The same answer as a model gets, and before anybody is asked for a base that would not help.
  if (!known.includes(name)) {
    const meant = didYouMean(name, known);
    if (meant) await write(io.stderr, `${meant}\n`);
    const { unknownTool } = await import("../../tools/run-tool.ts");
    return printResult(unknownTool(name, known).result, io);
  }
  const args = readArguments(values.args);
  const { openRange } = await import("../open-range.ts");
  const { loadLocalConfig } = await import("../open-range.ts");
  const { rangeNotices } = await import("../open-range.ts");
  await using range = await openRange({ repo, base, head, signal: io.signal });
  const { config } = await loadLocalConfig(range.workspace);
  const warn = (line: string) => void write(io.stderr, `warning: ${plainLine(line)}\n`);
  for (const notice of rangeNotices(range, repo, "read")) warn(notice);
  const given = { config, repo: resolve(repo), signal: io.signal, warn };
  const result = await callTool(name, args, range, given);
  io.signal.throwIfAborted();
  return printResult(result, io);
}

async function printResult(result: ToolResult, { stdout }: CommandIo): Promise<number> {
  await write(stdout, `${escapeUnseen(JSON.stringify(result, null, 2))}\n`);
  return result.status === "success" ? exitCodes.clean : exitCodes.found;
}

/** The text is handed on as it is, so that the tool's own check of arguments answers as it answers a model. */
function readArguments(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    const remedy = `Quote it for the shell: --args '{"key": "value"}'.`;
    throw usage(`--args is not JSON: ${errorLine(error)}`, remedy);
  }
}

const usage = (message: string, remedy: string) => new AppError("usage", message, { remedy });
