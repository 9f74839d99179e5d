import { once } from "node:events";
import type { Readable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { readLocalEnv } from "../config/env.ts";
import { errorLine } from "../errors.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import { clip } from "../reporters/terminal-wrap.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { createMcpReview } from "./mcp-review.ts";
import { createMcpServer } from "./mcp-server.ts";
import { write } from "./output.ts";
import { createRangeKeeper } from "./range-keeper.ts";
import { connectModels } from "./review-range.ts";
import { useProxy } from "./use-proxy.ts";

/** The options of the command, as its help describes them. */
export interface McpValues {
  repo: string;
  base: string | undefined;
  head: string;
}

/** Of a message that cannot be read its beginning will do. */
const MAX_WARNING = 300;

/**
 * Serves one client on standard input and output until one of them ends or a signal comes. Resolves to the exit code when the calls
 * that were running have ended and their files are gone.
 */
export async function serveMcp(
  values: McpValues,
  io: CommandIo,
  stdin: Readable = process.stdin,
): Promise<number> {
  const env = readLocalEnv();
  useProxy(env);
  const warn = (text: string) => void write(io.stderr, `warning: ${clip(plainLine(text), MAX_WARNING)}\n`);
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  await using keeper = await createRangeKeeper({ ...values, warn, signal });
  const connect = () => connectModels(env, { warn, signal });
  const records = { repository: values.repo, folder: env.runsFolder, keepMs: env.retentionMs };
  const review = createMcpReview({ keeper, connect, records, signal });
  const transport = new WatchedTransport(stdin, io.stdout);
  const handle = serveStdio(() => createMcpServer({ keeper, review, signal, onCrash: warn }), {
    transport,
    onerror: (error) => warn(errorLine(error)),
  });
  const stopped = io.signal.aborted ? Promise.resolve() : once(io.signal, "abort");
  await Promise.race([transport.closed, stopped]);
  ending.abort();
  await handle.close();
  io.signal.throwIfAborted();
  return stdin.readableEnded ? exitCodes.clean : exitCodes.failed;
}

/** The SDK tells nobody when a connection ends that was never used. */
class WatchedTransport extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>();
  readonly closed = this.#closed.promise;

  override async close(): Promise<void> {
    await super.close();
    this.#closed.resolve();
  }
}
