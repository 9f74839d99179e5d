import { resolve } from "node:path";
import type { ToolResult } from "../../agent/tools/tool.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { escapeUnseen } from "../../core/text/escape-invisible.ts";
import { plainLine } from "../../report/terminal-style.ts";
import {
  type CommandContext,
  type CommandIo,
  changeCommand,
  chosenRange,
  exitCodes,
  explained,
  type OptionsOf,
  optionText,
} from "../command.ts";
import { write } from "../output.ts";

const declare = () =>
  explained(changeCommand("tool"), {
    text: [
      "Prints the result as JSON: status, output or error, metadata.",
      "Exit code: 0 success; 1 no such tool, or the tool returned an error or refused its arguments; 2 usage or setup: " +
        "no repository, no base, or --args is not JSON.",
    ],
    examples: [
      ["list the files that a branch changes", "hunkwise tool changed_files"],
      [
        "read the beginning of a file",
        `hunkwise tool read_file_part --base main --args '{"file_path": "README.md", "end_line": 20}'`,
      ],
    ],
  })
    .argument("[NAME]", "the tool to run; see --list")
    .option("--list", "print the definitions of all tools as JSON")
    .option("--args <JSON>", "the arguments of the call", optionText, "{}");

export const tool = (io: CommandContext) =>
  declare().action(async (name, values) => {
    io.exitCode = await printTool(name, values, io);
  });

/** Runs one tool on a local range as a review would, or lists them. Resolves to the exit code. */
async function printTool(
  name: string | undefined,
  values: OptionsOf<typeof declare>,
  io: CommandIo,
): Promise<number> {
  const { graphTools, readingTools, reportingTools } = await import("../../agent/tools/index.ts");
  const { createRegistry } = await import("../../agent/tools/run-tool.ts");
  const registry = createRegistry([...readingTools, ...graphTools, ...reportingTools]);
  if (values.list) {
    await write(io.stdout, `${JSON.stringify(registry.definitions(), null, 2)}\n`);
    return exitCodes.clean;
  }
  if (name === undefined) throw usage("NAME is missing", "See 'hunkwise tool --list'.");
  const known = registry.definitions().map((one) => one.name);
  // A model gets the same answer. This check precedes the error about a missing base, which would not help.
  if (!known.includes(name)) {
    const { unknownTool } = await import("../../agent/tools/run-tool.ts");
    return printResult(unknownTool(name, known).result, io);
  }
  const args = requireJson(values.args);
  const { leftOut, loadLocalConfig, openRange, rangeNotices } = await import("../open-range.ts");
  const { toolContext } = await import("../range-keeper.ts");
  const { KeptGraph } = await import("../local-graph.ts");
  await using range = await openRange({ repo: values.repo, ...chosenRange(values), signal: io.signal });
  const { config } = await loadLocalConfig(range.workspace);
  const warn = (line: string) => void write(io.stderr, `warning: ${plainLine(line)}\n`);
  for (const notice of [...rangeNotices(range, values.repo, "read"), ...leftOut(range)]) warn(notice);
  const context = await toolContext(range, config);
  const { isPrivate } = context;
  await using graph = new KeptGraph({
    range,
    repo: resolve(values.repo),
    isPrivate,
    warn,
    makesVectors: false,
  });
  const onCrash = (where: string, error: unknown) => warn(`fault in ${where}: ${errorLine(error)}`);
  const { result } = await registry.execute(
    name,
    args,
    { ...context, graph },
    { signal: io.signal, onCrash },
  );
  io.signal.throwIfAborted();
  return printResult(result, io);
}

async function printResult(result: ToolResult, { stdout }: CommandIo): Promise<number> {
  await write(stdout, `${escapeUnseen(JSON.stringify(result, null, 2))}\n`);
  return result.status === "success" ? exitCodes.clean : exitCodes.found;
}

/** Returns the text unchanged: the tool checks its arguments itself, as it does for a model. */
function requireJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    const remedy = `Quote it for the shell: --args '{"key": "value"}'.`;
    throw usage(`--args is not JSON: ${errorLine(error)}`, remedy);
  }
}

const usage = (message: string, remedy: string) => new AppError("usage", message, { remedy });
