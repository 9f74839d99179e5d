import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { compiledCodeVariable } from "../../src/border/compile-cache.ts";
import { programEntry } from "./built-program.ts";
import { noHome } from "./no-home.ts";

/** A process of the App, started as an operator starts it. */
export interface ServerProcess extends AsyncDisposable {
  /** Address of the web server; a worker does not answer there. */
  url: string;
  webhookUrl: string;
  process: ChildProcess;
  /** All output of the process so far. */
  log(): string;
  /** Sends SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL; resolves when the process is dead. */
  kill(): Promise<void>;
}

/** A program that starts another one; the other command line follows its own arguments. */
export interface Sandbox {
  command: readonly [string, ...string[]];
  options: { uid?: number; gid?: number };
}

/** A start takes half a second on two cores, and far longer if many programs share them. */
const PATIENCE_MS = 300_000;

/**
 * Starts `hunkwise serve` with only PATH from this process's environment. Resolves when it listens, on a port that it chose itself: with
 * many servers at a time, a free port may be taken a moment later.
 */
export const startServerProcess = (env: Record<string, string>, inside?: Sandbox): Promise<ServerProcess> =>
  startProcess("serve", env, /Listening on port (\d+)/, inside);

/** Starts `hunkwise worker` in the same way. Resolves when it polls for jobs. */
export const startWorkerProcess = (env: Record<string, string>): Promise<ServerProcess> =>
  startProcess("worker", env, /Working with (\d+) jobs/);

async function startProcess(
  command: "serve" | "worker",
  env: Record<string, string>,
  sign: RegExp,
  inside?: Sandbox,
): Promise<ServerProcess> {
  const [program, ...args] = [...(inside?.command ?? []), process.execPath, programEntry, command];
  const child = spawn(program, args, {
    ...inside?.options,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: noHome,
      HOST: "127.0.0.1",
      PORT: "0",
      // The server sets this for Node itself, but only after Node has stripped the types of its first files.
      ...compiledCodeVariable,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  // A test that timed out does not stop its processes.
  const killNow = () => child.kill("SIGKILL");
  process.once("exit", killNow);
  exited.finally(() => process.off("exit", killNow));
  const { log, port } = await ready(child, sign);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
    return child.exitCode;
  };
  const kill = async () => {
    killNow();
    await exited;
  };
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    webhookUrl: `${url}/api/github/webhooks`,
    process: child,
    log,
    stop,
    kill,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

/** Resolves to the number in the log line that matches `sign`; rejects with the log if the process ends or stays silent. */
async function ready(child: ChildProcess, sign: RegExp): Promise<{ log(): string; port: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let log = "";
  let isReady = false;
  const note = (chunk: Buffer) => {
    log += chunk.toString("utf8");
    // A server may write megabytes after that.
    const port = isReady ? undefined : sign.exec(log)?.[1];
    if (port === undefined) return;
    isReady = true;
    resolve(Number(port));
  };
  child.stdout?.on("data", note);
  child.stderr?.on("data", note);
  // Waits for the complete output, not just for the exit: the last line holds the reason.
  child.once("close", (code) => reject(new Error(`The process ended with ${code}:\n${log}`)));
  const timer = setTimeout(() => {
    child.kill("SIGKILL");
    reject(new Error(`The process did not say ${sign}:\n${log}`));
  }, PATIENCE_MS);
  const port = await promise.finally(() => clearTimeout(timer));
  return { log: () => log, port };
}
