import { once } from "node:events";
import { readLocalEnv } from "../config/env.ts";
import { clip, plainLine } from "../reporters/terminal-style.ts";
import { type CommandIo, defineCommand, exitCodes } from "./command.ts";
import { write } from "./output.ts";
import { rangeOptions } from "./range-options.ts";
import { useProxy } from "./use-proxy.ts";

export const mcp = defineCommand({
  positionals: [],
  options: rangeOptions,
  notes: [
    "Speaks the Model Context Protocol on standard input and output, for a coding agent that is to look at its own branch before " +
      "there is a pull request. Offers the tools that read the range, as the reviewer has them, and `review`, the whole review. " +
      "When its input ends, it answers what is running and ends.",
    "",
    "Both revisions are looked up anew at each call, so that what the agent commits meanwhile is seen. Uncommitted changes are " +
      "not, and an answer says so while there are any. Nothing is written to the repository, and its configuration is " +
      ".github/hunkwise.yml from the base: private paths are withheld here, too.",
    "",
    "Without OPENAI_API_KEY and OPENAI_BASE_URL only the built-in analyzers review.",
    "",
    "Exit code: 0 when the input ended; 2 usage or set-up, such as no repository, or when something else ended it.",
  ],
  examples: [
    { command: "hunkwise mcp --base main", says: "for a client that starts it in the repository" },
    { command: "hunkwise mcp --repo ../shop --base origin/main", says: "for any other" },
  ],
  run: (values, _, io) => serveMcp(values, io),
});

interface McpValues {
  repo: string;
  base: string | undefined;
  head: string;
}

/** Of a message that cannot be read its beginning will do. */
const MAX_WARNING = 300;

/**
 * Serves one client on standard input and output until one of them ends or a signal comes. Where the input ends, the calls that are
 * running are answered first. Resolves to the exit code when their files are gone. Rejects with `repository_unavailable` and as
 * `requireGit` does before anything is served.
 */
async function serveMcp(values: McpValues, io: CommandIo): Promise<number> {
  const { createRangeKeeper } = await import("./range-keeper.ts");
  const { createMcpReview } = await import("./mcp-review.ts");
  const { connectModels } = await import("./review-range.ts");
  const { serveClient, WatchedTransport } = await import("./mcp-server.ts");
  const { stdin } = process;
  const env = readLocalEnv();
  useProxy(env);
  const warn = (text: string) => void write(io.stderr, `warning: ${clip(plainLine(text), MAX_WARNING)}\n`);
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  await using keeper = await createRangeKeeper({ ...values, warn, signal });
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
