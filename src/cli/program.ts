import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { AppError } from "../core/errors.ts";
import type { CommandContext, CommandIo } from "./command.ts";
import { programVersion, write } from "./output.ts";

interface Entry {
  name: string;
  summary: string;
  /** Loads the command's file. */
  load(): Promise<(io: CommandContext) => CommandUnknownOpts>;
}

/** All commands. Only the file of the requested one is loaded. */
export const commands: readonly Entry[] = [
  {
    name: "review",
    summary: "review the working tree, commits or a pull request",
    load: async () => (await import("./commands/review.ts")).review,
  },
  {
    name: "runs",
    summary: "list, show and export records of runs",
    load: async () => (await import("./commands/runs.ts")).runs,
  },
  {
    name: "report",
    summary: "print the cost of a server's reviews, and the outcomes of their findings",
    load: async () => (await import("./commands/report.ts")).report,
  },
  {
    name: "tool",
    summary: "run one of the reviewer's tools and print its result as JSON",
    load: async () => (await import("./commands/tool.ts")).tool,
  },
  {
    name: "mcp",
    summary: "serve the reviewer's tools and the review to a coding agent, over the Model Context Protocol",
    load: async () => (await import("./commands/mcp.ts")).mcp,
  },
  {
    name: "fix",
    summary: "repair findings of a review, and print the patch",
    load: async () => (await import("./commands/fix.ts")).fix,
  },
  {
    name: "hook",
    summary: "review before each commit and each push, with hooks of git",
    load: async () => (await import("./commands/hook.ts")).hook,
  },
  {
    name: "graph",
    summary: "query the knowledge graph of a repository: callers, tests, documents, commits",
    load: async () => (await import("./commands/graph.ts")).graph,
  },
  {
    name: "serve",
    summary: "run the GitHub App: web server and worker in one process",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  {
    name: "worker",
    summary: "run only a worker",
    load: async () => (await import("./commands/serve.ts")).worker,
  },
  {
    name: "action",
    summary: "review the pull request of a GitHub Actions workflow (action.yml runs it)",
    load: async () => (await import("./commands/action.ts")).action,
  },
  {
    name: "doctor",
    summary: "check the installation and say what to do",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  {
    name: "config",
    summary: "check, describe and show the repository configuration",
    load: async () => (await import("./commands/config.ts")).config,
  },
];

const HELP_WIDTH = 100;

/** Runs one command line and resolves to the exit code. Rejects with `usage`, or as the command does. */
export async function runProgram(argv: readonly string[], process: CommandIo): Promise<number> {
  const io: CommandContext = { ...process, exitCode: 0 };
  const asked = argv[0] === "help" ? argv[1] : argv[0];
  let [help, helpAsError] = ["", ""];
  const program = new Command("hunkwise")
    .usage("COMMAND [options]")
    .description("Reviews pull requests: few comments, on the right line.")
    .version(programVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [COMMAND]", "print the help of a command")
    .addHelpText(
      "after",
      "\nExamples:\n" +
        "  hunkwise review --base main      review the checked-out branch against main\n" +
        "  hunkwise doctor                  check the installation\n\n" +
        "Without OPENAI_API_KEY, ANTHROPIC_API_KEY and OPENAI_BASE_URL reviews run offline, with only the built-in analyzers.",
    )
    .configureHelp({ helpWidth: HELP_WIDTH })
    .configureOutput({
      writeOut: (text) => {
        help += text;
      },
      writeErr: (text) => {
        helpAsError += text;
      },
      outputError: () => {},
    })
    .exitOverride();
  for (const { name, summary, load } of commands) {
    const command = name === asked ? (await load())(io) : new Command(name);
    const description = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.\n\n${command.description()}`;
    program.addCommand(command.summary(summary).description(description).copyInheritedSettings(program));
  }
  try {
    await program.parseAsync(argv, { from: "user" });
    return io.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code !== "commander.help" && error.exitCode !== 0) throw usageError(error, asked);
    await write(io.stdout, help);
    await write(io.stderr, helpAsError);
    return error.exitCode === 0 ? 0 : 2;
  }
}

/** Commander's message ends with a line in brackets if it has a suggestion. */
function usageError({ message }: CommanderError, asked: string | undefined): AppError {
  const [, text = message, suggestion] =
    /^error: ([\s\S]*?)(?:\n\((Did you mean [^\n]*)\))?$/.exec(message) ?? [];
  const what = text.replace(
    /^command-argument value ('.*') is invalid for argument /s,
    "argument $1 is invalid for ",
  );
  const command = commands.some(({ name }) => name === asked) ? `${asked} ` : "";
  return new AppError("usage", what.replace(/\.$/, ""), {
    remedy: suggestion ?? `See 'hunkwise ${command}--help'.`,
  });
}
