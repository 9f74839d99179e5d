import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

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

/** Starts `hunkwise serve` as an operator would, with nothing of this process's environment but PATH. Resolves when it listens. */
export async function startServerProcess(env: Record<string, string>): Promise<ServerProcess> {
  const port = await freePort();
  const child = spawn(process.execPath, [entry, "serve"], {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: "/nonexistent",
      HOST: "127.0.0.1",
      PORT: String(port),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  const note = (chunk: Buffer) => {
    log += chunk.toString("utf8");
  };
  child.stdout.on("data", note);
  child.stderr.on("data", note);
  const exited = once(child, "exit");
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
    return child.exitCode;
  };
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(url, child, () => log);
  return {
    url,
    webhookUrl: `${url}/api/github/webhooks`,
    process: child,
    log: () => log,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

async function untilHealthy(url: string, child: ChildProcess, log: () => string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}:\n${log()}`);
    const answer = await fetch(`${url}/healthz`).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(100);
  }
  child.kill("SIGKILL");
  throw new Error(`The server did not begin to listen:\n${log()}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
