import { once } from "node:events";
import { readLocalEnv } from "../../config/env.ts";
import { clip, plainLine } from "../../reporters/terminal-style.ts";
import {
  type CommandContext,
  type CommandIo,
  changeCommand,
  chosenRange,
  examples,
  exitCodes,
  type OptionsOf,
  paragraphs,
} from "../command.ts";
import { write } from "../output.ts";
import { useProxy } from "../use-proxy.ts";

const declare = () =>
  changeCommand("mcp")
    .description(
      paragraphs(
        "Serves the Model Context Protocol on standard input and output, for a coding agent that checks its own branch before " +
          "it opens a pull request. Provides the reviewer's reading tools, and `review`, the whole review. " +
          "When its input ends, it answers the running calls and exits.",
        "Each call looks at the repository again, so it sees what the agent has edited or committed: the working tree, or only " +
          "commits in a build (CI is set), with --committed or with another --head. Nothing is written to the repository, and its " +
          "configuration is .github/hunkwise.yml from the base: private paths are withheld here as well.",
        "Without OPENAI_API_KEY, ANTHROPIC_API_KEY and OPENAI_BASE_URL only the built-in analyzers review.",
        "Exit code: 0 the input ended; 2 usage or setup, such as no repository, or something else ended the server.",
      ),
    )
    .addHelpText(
      "after",
      examples(
        ["for a client that starts the server in the repository", "hunkwise mcp --base main"],
        ["for any other client", "hunkwise mcp --repo ../shop --base origin/main"],
      ),
    );

export const mcp = (io: CommandContext) =>
  declare().action(async (values) => {
    io.exitCode = await serveMcp(values, io);
  });

/** Maximum characters shown of an unreadable message. */
const MAX_WARNING = 300;

/**
 * Serves one client on standard input and output until one of them ends or a signal arrives. If the input ends, running calls are answered
 * first. Resolves to the exit code after their files are removed. Rejects with `repository_unavailable`, or as `requireGit` does, before
 * anything is served.
 */
async function serveMcp(values: OptionsOf<typeof declare>, io: CommandIo): Promise<number> {
  const { createRangeKeeper } = await import("../range-keeper.ts");
  const { createMcpReview, serveClient, WatchedTransport } = await import("../mcp-server.ts");
  const { connectModels } = await import("../review-range.ts");
  const { stdin } = process;
  const env = readLocalEnv();
  useProxy(env);
  const warn = (text: string) => void write(io.stderr, `warning: ${clip(plainLine(text), MAX_WARNING)}\n`);
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  await using keeper = await createRangeKeeper({ repo: values.repo, ...chosenRange(values), warn, signal });
  const connect = () => connectModels(env, { warn, signal });
  const records = { repository: values.repo, folder: env.runsFolder, keepMs: env.retentionMs };
  const review = createMcpReview({ keeper, connect, records, signal });
  const transport = new WatchedTransport(stdin, io.stdout, signal);
  const handle = serveClient({ keeper, review, signal, onCrash: warn }, transport);
  const stopped = io.signal.aborted ? Promise.resolve() : once(io.signal, "abort");
  await Promise.race([transport.closed, stopped]);
  ending.abort();
  await handle.close();
  io.signal.throwIfAborted();
  return stdin.readableEnded ? exitCodes.clean : exitCodes.failed;
}
