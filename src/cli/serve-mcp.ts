import { once } from "node:events";
import type { Readable } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
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
 * Serves one client on standard input and output until one of them ends or a signal comes. Where the input ends, the calls that are
 * running are answered first. Resolves to the exit code when their files are gone. Rejects with `repository_unavailable` and as
 * `requireGit` does before anything is served.
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
  const transport = new WatchedTransport(stdin, io.stdout, signal);
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

/** A request that stays open for as long as the connection. */
const LISTEN = "subscriptions/listen";

/**
 * Answers what was asked before its input ended: the SDK's own transport closes at once, and drops it. Tells when it has closed, which
 * the SDK does not of a connection that was never used.
 */
class WatchedTransport extends StdioServerTransport {
  readonly #stdin: Readable;
  readonly #stdout: NodeJS.WriteStream;
  readonly #signal: AbortSignal;
  readonly #unanswered = new Set<unknown>();
  readonly #closed = Promise.withResolvers<void>();
  readonly closed = this.#closed.promise;

  /** @param signal once it has fired nothing is answered any more */
  constructor(stdin: Readable, stdout: NodeJS.WriteStream, signal: AbortSignal) {
    super(stdin, stdout);
    [this.#stdin, this.#stdout, this.#signal] = [stdin, stdout, signal];
  }

  override async start(): Promise<void> {
    const deliver = this.onmessage;
    this.onmessage = (message) => {
      this.#note(message);
      deliver?.(message);
    };
    await super.start();
  }

  #note(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message && message.method !== LISTEN) this.#unanswered.add(message.id);
    // Nobody answers what was taken back.
    if (message.method === "notifications/cancelled") this.#unanswered.delete(message.params?.requestId);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if ("method" in message || !this.#unanswered.delete(message.id)) return;
    if (this.#stdin.readableEnded) await this.close();
  }

  override async close(): Promise<void> {
    const isHeard = this.#stdin.readableEnded && !this.#stdout.errored && !this.#signal.aborted;
    if (isHeard && this.#unanswered.size > 0) return;
    await super.close();
    this.#closed.resolve();
  }
}
