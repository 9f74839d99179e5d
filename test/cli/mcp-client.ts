import { type ChildProcess, spawn } from "node:child_process";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { compiledCodeVariable } from "../../src/border/compile-cache.ts";
import { programEntry } from "../support/built-program.ts";
import { noHome } from "../support/no-home.ts";
import { unsetVariables } from "../support/run-cli.ts";

export interface ServerOptions {
  repo: string;
  base?: string;
  /** Where its temporary files go. */
  tmp: string;
  env?: Record<string, string>;
  /** More options of the command. */
  more?: readonly string[];
}

/** How a client is told to start the server. */
export function serverCommand({ repo, base = "main", tmp, env = {}, more = [] }: ServerOptions) {
  return {
    command: process.execPath,
    args: [programEntry, "mcp", "--repo", repo, "--base", base, ...more],
    env: {
      ...unsetVariables,
      ...{ PATH: process.env.PATH ?? "", HOME: noHome, TMPDIR: tmp, LC_ALL: "C.UTF-8" },
      ...compiledCodeVariable,
      ...env,
    },
  };
}

/** The SDK's client with a server of its own. Ends both with it. */
export interface Connected extends AsyncDisposable {
  client: Client;
  pid: number;
  /** What the server has written to stderr. */
  stderr(): string;
}

export async function connect(options: ServerOptions, clientOptions: ClientOptions = {}): Promise<Connected> {
  const transport = new StdioClientTransport({ ...serverCommand(options), stderr: "pipe" });
  const heard: Buffer[] = [];
  transport.stderr?.on("data", (chunk: Buffer) => heard.push(chunk));
  const client = new Client({ name: "test", version: "1" }, clientOptions);
  await client.connect(transport);
  return {
    client,
    pid: transport.pid ?? 0,
    stderr: () => Buffer.concat(heard).toString("utf8"),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export interface RawServer {
  child: ChildProcess;
  /** Writes one line. */
  say(line: string | Buffer | object): void;
  /** Resolves to the message that answers a request. */
  answerTo(id: unknown): Promise<Record<string, unknown>>;
  stdout(): string;
  /** Resolves when the process has ended and its pipes are empty. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
}

/** The server without a client: whatever is written reaches it as it is. */
export function startRaw(options: ServerOptions): RawServer {
  const { command, args, env } = serverCommand(options);
  const child = spawn(command, args, { env, stdio: "pipe" });
  let [out, err] = ["", ""];
  const waiting = new Map<unknown, (message: Record<string, unknown>) => void>();
  child.stdin.on("error", () => {});
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk;
  });
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const message of lines.map((line) => JSON.parse(line))) waiting.get(message.id)?.(message);
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<Awaited<RawServer["ended"]>>();
  child.on("close", (code, signal) => end({ code, signal, stderr: err }));
  return {
    child,
    say(line) {
      const isText = typeof line === "string" || Buffer.isBuffer(line);
      child.stdin.write(isText ? line : JSON.stringify(line));
      child.stdin.write("\n");
    },
    answerTo: (id) =>
      Promise.race([
        new Promise<Record<string, unknown>>((answered) => waiting.set(id, answered)),
        ended.then(({ stderr }) => {
          throw new Error(`the server ended: ${stderr}`);
        }),
      ]),
    stdout: () => out,
    ended,
  };
}

/** How a client of 2025 begins. */
export const hello = {
  jsonrpc: "2.0",
  id: "hello",
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
