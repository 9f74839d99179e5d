import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const prefix = "hunkwise-postgres-";
const keeper = join(import.meta.dirname, "postgres-keeper.ts");

/** A real Postgres; it stops when the process that it was started for ends, in whatever way. */
export interface PostgresServer {
  /** Creates an empty database; resolves to its URL. */
  createDatabase(): Promise<string>;
}

/** A Postgres for one test only: it survives a power cut, and can be stopped and restarted at the same address. */
export interface OwnPostgres extends PostgresServer, AsyncDisposable {
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** The Postgres of this test run, started by the first file that needs it. It syncs nothing to disk. */
export async function sharedPostgres(): Promise<PostgresServer> {
  // All test files of a run execute in children of one process.
  const folder = join(tmpdir(), `${prefix}${process.ppid}`);
  if (isNew(folder)) launch(folder, process.ppid, "shared").unref();
  return serverAt(await urlIn(folder));
}

export async function startPostgres(): Promise<OwnPostgres> {
  const folder = join(tmpdir(), `${prefix}${process.pid}-${randomUUID()}`);
  mkdirSync(folder);
  const child = launch(folder, process.pid, "durable");
  const server = serverAt(await urlIn(folder));
  const order = async (word: "stop" | "start") => {
    child.send(word);
    await once(child, "message");
  };
  return {
    ...server,
    stop: () => order("stop"),
    start: () => order("start"),
    async [Symbol.asyncDispose]() {
      // The keeper's package stops its server before it exits.
      child.kill("SIGTERM");
      await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isNew(folder: string): boolean {
  removeLeftovers();
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function launch(folder: string, owner: number, kind: "shared" | "durable"): ChildProcess {
  const child = fork(keeper, [folder, String(owner), kind], {
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    execArgv: [],
  });
  if (kind === "shared") child.disconnect();
  return child;
}

async function urlIn(folder: string): Promise<string> {
  for (let waited = 0; waited < 300_000; waited += 20) {
    if (existsSync(join(folder, "failed"))) throw new Error(readFileSync(join(folder, "failed"), "utf8"));
    if (existsSync(join(folder, "ready"))) return readFileSync(join(folder, "ready"), "utf8");
    await sleep(20);
  }
  throw new Error(`No Postgres came up in ${folder}`);
}

function serverAt(url: string): PostgresServer {
  return {
    async createDatabase() {
      const name = `t${randomUUID().replaceAll("-", "")}`;
      await query(`${url}/postgres`, `CREATE DATABASE ${name}`);
      return `${url}/${name}`;
    },
  };
}

/** Runs one statement on a separate connection. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Removes the files of keepers that were killed before they could stop their server. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const folder = join(tmpdir(), name);
    const keeper = pidIn(join(folder, "keeper"));
    if (keeper === null || commandOf(keeper).includes(folder)) continue;
    const postmaster = pidIn(join(folder, "data", "postmaster.pid"));
    if (postmaster !== null && commandOf(postmaster).includes(folder)) process.kill(postmaster, "SIGKILL");
    // The keeper's children notice that it is gone, but may write a last file until then.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

function pidIn(file: string): number | null {
  return existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : null;
}

/** Empty if there is no such process or no /proc. */
function commandOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
