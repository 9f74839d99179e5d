import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";

const entry = resolve(import.meta.dirname, "../../src/cli.ts");

export interface ServerProcess extends AsyncDisposable {
  url: string;
  webhookUrl: string;
  process: ChildProcess;
  /** Everything the process has written so far. */
  log(): string;
  /** Resolves to the exit code after SIGTERM. */
  stop(): Promise<number | null>;
}

/** A start takes half a second of two cores; where many programs share them, that is far more time. */
const PATIENCE_MS = 90_000;

/**
 * Starts `hunkwise serve` as an operator would, with nothing of this process's environment but PATH. Resolves when it
 * listens, on a port that it chose itself: with many servers at a time, a port that was free a moment ago may be taken.
 */
export async function startServerProcess(env: Record<string, string>): Promise<ServerProcess> {
  const child = spawn(process.execPath, [entry, "serve"], {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: "/nonexistent",
      HOST: "127.0.0.1",
      PORT: "0",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  // A test that timed out stops nothing itself.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  exited.finally(() => process.off("exit", kill));
  const { log, port } = await listening(child);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
    return child.exitCode;
  };
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    webhookUrl: `${url}/api/github/webhooks`,
    process: child,
    log,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

/** Resolves with the port once the log tells it; rejects with the log when the process ends or stays silent. */
async function listening(child: ChildProcess): Promise<{ log(): string; port: number }> {
  const { promise, resolve: tell, reject } = Promise.withResolvers<number>();
  let log = "";
  const note = (chunk: Buffer) => {
    log += chunk.toString("utf8");
    const port = /Listening on port (\d+)/.exec(log)?.[1];
    if (port !== undefined) tell(Number(port));
  };
  child.stdout?.on("data", note);
  child.stderr?.on("data", note);
  // When its output is complete, not just when it ended: the reason stands in the last line.
  child.once("close", (code) => reject(new Error(`The server ended with ${code}:\n${log}`)));
  const timer = setTimeout(() => {
    child.kill("SIGKILL");
    reject(new Error(`The server did not begin to listen:\n${log}`));
  }, PATIENCE_MS);
  const port = await promise.finally(() => clearTimeout(timer));
  return { log: () => log, port };
}
