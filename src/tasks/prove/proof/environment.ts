import { createHash, randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError, errorLine } from "../../../core/errors.ts";
import { cutCharacters } from "../../../core/text/cut.ts";
import { showHidden } from "../../../core/text/escape-invisible.ts";
import { nameBytes } from "../../../repo/git/names.ts";
import { livenessOfTag, ownTag } from "../../../repo/git/owner.ts";
import type { Change, Workspace } from "../../../repo/git/workspace.ts";
import { LEAST_NODE_MB, limitsFor, type Sandbox } from "../../../sandbox/bubblewrap.ts";
import { placedFiles } from "../../../sandbox/command-port.ts";
import { startRegistryProxy } from "../../../sandbox/registry-proxy.ts";
import {
  keyOf,
  NOBODY,
  runInSandbox,
  type SandboxOutcome,
  type SandboxRun,
  type TakenFile,
} from "../../../sandbox/run-in-sandbox.ts";
import { dependencyFiles } from "./dependency-files.ts";

export interface EnvironmentOrder {
  /** `owner/name`, or the path of a local repository. */
  repository: string;
  /** For `sh -c`, from the base branch's configuration. */
  command: string;
  /** Lists and reads the files of the merge base. No other revision is read. */
  tree: Pick<Workspace, "tree" | "readBytes">;
  isPrivate: (path: string) => boolean;
  sandbox: Sandbox;
  /** Of the sandbox; half of it is the most that files take. */
  memoryMb: number;
  /** Hosts that the command may reach: `name` or `name:port`, in lower case. */
  registries: readonly string[];
  folder: string;
  timeoutMs: number;
  /** Takes a fault of this machine, which may name its folders, where the reason is public. If omitted, the reason says it. */
  onFault?: (line: string) => void;
}

/** An environment's folder, for `SandboxRun.environment`; or the reason why there is none, for people. */
type Environment = { root: string } | { why: string };

const MAX_ENTRIES = 100_000;
const MAX_BYTES = 2 * 1024 ** 3;
const MAX_FILE_BYTES = 256 * 1024 * 1024;
/** Of all environments of a folder; the least recently used ones are deleted. */
const MAX_KEPT = 20;
const MAX_KEPT_BYTES = 10 * 1024 ** 3;
/** A proof may still run with it. */
const IN_USE_MS = 2 * 3_600_000;
/** Unused for so long, it is deleted. */
const OLD_MS = 30 * 24 * 3_600_000;
/** After a failure the same is not tried again for so long. */
const RETRY_MS = 10 * 60_000;

/** The names of a repository's environments begin with this. */
const nameOf = (repository: string) => `${sha256(repository.toLowerCase()).slice(0, 20)}-`;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Deletes the environments of a repository. Tests that run with one of them fail, and their findings are not shown as proven. */
export async function removeEnvironments(folder: string, repository: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => []))
    if (name.startsWith(nameOf(repository))) await remove(folder, name);
}

/**
 * The files of a change that a revision would have in the place of files of its environment, or beside them in folders that only the
 * environment has; sorted. A pull request could bring its own test runner there.
 *
 * @param before the files of the merge base
 */
export async function changedEnvironment(
  { root }: { root: string },
  changes: Iterable<Pick<Change, "path">>,
  before: ReadonlyMap<string, unknown>,
): Promise<string[]> {
  const folders = new Set([...before.keys()].flatMap(foldersOf));
  const found: string[] = [];
  for (const { path } of changes) {
    if (before.has(path)) continue;
    const [first = path] = [...foldersOf(path), path].filter((one) => !folders.has(one));
    const at = Buffer.concat([Buffer.from(join(root, "/")), nameBytes(first)]);
    if (await lstat(at).catch(() => null)) found.push(path);
  }
  return found.toSorted();
}

const foldersOf = (path: string): string[] =>
  path
    .split("/")
    .slice(0, -1)
    .map((_, index, names) => names.slice(0, index + 1).join("/"));

/** Running ones, and for a while those that failed. */
const attempts = new Map<string, Promise<Environment>>();

/**
 * Makes the environment, or finds the one that the same command made of the same dependency files: packages and whatever else it left as
 * new files. Nothing of a pull request takes part in it. Never writes outside of `folder`.
 *
 * @throws AppError `aborted`
 */
export async function prepareEnvironment(order: EnvironmentOrder, signal: AbortSignal): Promise<Environment> {
  try {
    return await findOrMake(order, signal);
  } catch (error) {
    if (signal.aborted) throw new AppError("aborted", "Stopped while an environment was prepared");
    const fault = errorLine(error);
    if (!order.onFault) return { why: `the environment cannot be prepared: ${fault}` };
    order.onFault(fault);
    return { why: "the environment cannot be prepared on the machine that runs Hunkwise; its log says why" };
  }
}

async function findOrMake(order: EnvironmentOrder, signal: AbortSignal): Promise<Environment> {
  await makeFolder(order.folder);
  const place = join(order.folder, await identityOf(order));
  for (;;) {
    const root = await rootOf(place);
    if (root !== null) return { root };
    const other = attempts.get(place);
    if (other === undefined) break;
    // It ends with the signal of whoever started it; then it is this one's turn.
    const ended = await other.catch(() => null);
    signal.throwIfAborted();
    if (ended !== null && "why" in ended) return ended;
  }
  const work = make(order, place, signal);
  attempts.set(place, work);
  let isKept = false;
  try {
    const made = await work;
    isKept = "why" in made;
    if (isKept) setTimeout(() => attempts.delete(place), RETRY_MS).unref();
    return made;
  } finally {
    if (!isKept) attempts.delete(place);
  }
}

/** The files of a finished environment, which is now in use; null if there is none. */
async function rootOf(place: string): Promise<string | null> {
  const now = new Date();
  try {
    await utimes(place, now, now);
    return join(place, FILES);
  } catch {
    return null;
  }
}

const FILES = "files";
const SIZE = "bytes";

/** Creates it so that sandboxes can enter it, but not list it. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o711 });
  if (process.getuid?.() !== 0) return;
  // The process may have a mask that forbids it.
  if (first !== undefined)
    for (let at = folder; at.length >= first.length; at = dirname(at)) await chmod(at, 0o711);
  for (let at = folder; at !== "/"; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0)
      throw new Error(`the user nobody, as whom root runs sandboxes, cannot enter ${at}`);
  }
}

async function identityOf(order: EnvironmentOrder): Promise<string> {
  const { repository, command, tree, sandbox, isPrivate } = order;
  const entries = await tree.tree("merge_base");
  const files = dependencyFiles(entries.keys(), command)
    .filter((path) => !isPrivate(path))
    .toSorted()
    .map((path) => [path, entries.get(path)?.mode, entries.get(path)?.oid]);
  const machine = [process.platform, process.arch, toolsOf(sandbox)];
  const parts = JSON.stringify([1, repository, command, files, machine]);
  return nameOf(repository) + sha256(parts);
}

/** When programs of the sandbox were last installed or updated. */
function toolsOf({ readable }: Sandbox): (string | number | undefined)[] {
  const folders = ["/usr/bin", "/usr/local/bin", ...readable.flatMap((path) => [path, join(path, "bin")])];
  return [process.version, ...folders.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs)];
}

async function make(order: EnvironmentOrder, place: string, signal: AbortSignal): Promise<Environment> {
  await sweep(order.folder);
  const temporary = join(order.folder, `.${ownTag}.${randomUUID()}`);
  try {
    await mkdir(join(temporary, FILES), { recursive: true, mode: 0o755 });
    const store = newStore(temporary);
    const why = await runInto(store, order, signal);
    if (why !== null) return { why };
    await store.finish();
    await rename(temporary, place).catch(async (error: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (!["ENOTEMPTY", "EEXIST"].includes(error.code ?? "")) throw error;
    });
    return { root: join(place, FILES) };
  } finally {
    await removeTree(temporary);
  }
}

/** Null if the command succeeded and everything that it left is in the store. */
async function runInto(store: Store, order: EnvironmentOrder, signal: AbortSignal): Promise<string | null> {
  const { command, sandbox, memoryMb, timeoutMs, registries } = order;
  // The way to a registry is a program of Node.
  if (registries.length > 0 && memoryMb < LEAST_NODE_MB)
    return `HUNKWISE_SANDBOX_MEMORY_MB is ${memoryMb}, but \`prove.prepare\` needs ${LEAST_NODE_MB} to reach a registry`;
  await using proxy = registries.length === 0 ? null : await startRegistryProxy({ registries });
  const limits = limitsFor(memoryMb);
  const entries = await order.tree.tree("merge_base");
  let tooLarge: string | null = null;
  const wants: SandboxRun["wants"] = (left, { exitCode, ended, odd }) => {
    if (exitCode !== 0 || ended !== null) return [];
    const isKept = (path: string) => !entries.has(keyOf(path)) && !isCache(path);
    const files = left.filter(({ path, kind }) => kind === "new" && isKept(path));
    const paths = [...files.map(({ path }) => path), ...odd.filter(isKept)];
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (paths.length > MAX_ENTRIES) tooLarge = `it leaves more than ${MAX_ENTRIES} files`;
    else if (bytes > MAX_BYTES) tooLarge = `it leaves more than ${MAX_BYTES / 1024 ** 3} GB`;
    const large = files.find((file) => file.bytes > MAX_FILE_BYTES);
    if (large) tooLarge ??= `'${line(large.path)}' is larger than ${MAX_FILE_BYTES / 1024 ** 2} MB`;
    return tooLarge === null ? paths : [];
  };
  const outcome = await runInSandbox(
    sandbox,
    {
      ...{ command, limits, timeoutMs, wants, maxFileBytes: MAX_FILE_BYTES },
      files: placedFiles(entries, {
        isPrivate: order.isPrivate,
        filesBytes: limits.filesBytes,
        read: ({ oid }) => order.tree.readBytes(oid),
      }),
      ...(proxy && { registry: proxy.folder }),
      receive: (entry) => store.take(entry),
    },
    signal,
  );
  const refused = [...(proxy?.refused ?? [])].slice(0, 3).join(", ");
  const failure = failureOf(outcome);
  const unnamed = refused === "" ? "" : `; HUNKWISE_PROVE_REGISTRIES does not name ${line(refused)}`;
  if (failure !== null) return `the command of \`prove.prepare\` ${failure}${unnamed}`;
  if (outcome.tooMany) tooLarge = "it leaves too many files";
  return tooLarge && `the environment is too large: ${tooLarge}`;
}

/** Untrusted bytes as one short line. */
const line = (text: string) => cutCharacters(showHidden(text.replace(/\s+/g, " ").trim()), 300);

function failureOf({ exitCode, ended, stdout, stderr }: SandboxOutcome): string | null {
  if (ended !== null) return `was ended by its limit (${ended})`;
  if (exitCode === 0) return null;
  const last = [stdout, stderr]
    .flatMap((bytes) => bytes.toString("utf8").split("\n"))
    // npm's last line names a file that is gone.
    .findLast((one) => one.trim() !== "" && !one.includes("complete log of this run"));
  return `ended with ${exitCode}${last === undefined ? "" : `: ${line(last)}`}`;
}

/** Caches of tools: they could not write to them, and compiled files of Python hold the times of others. */
const isCache = (path: string) => /(^|\/)(__pycache__|node_modules\/\.(cache|vite|vite-temp))\//.test(path);

type Store = ReturnType<typeof newStore>;

/** An unfinished environment with names and targets of any kind. Links are made last, so nothing is written through one. */
function newStore(root: string) {
  const folders = new Set<string>([""]);
  const links: { path: string; target: Buffer }[] = [];
  let size = 0;
  /** Each character of `path` is one byte of the name. */
  const at = (path: string) =>
    Buffer.concat([Buffer.from(join(root, FILES, "/")), Buffer.from(path, "latin1")]);

  async function makeFolderOf(path: string): Promise<void> {
    const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    if (folders.has(folder)) return;
    await makeFolderOf(folder);
    await mkdir(at(folder), { mode: 0o755 });
    folders.add(folder);
  }

  return {
    async take({ path, bytes, executable, isLink }: TakenFile): Promise<void> {
      requireInside(path);
      size += bytes.length;
      if (size > MAX_BYTES) throw new Error("the environment is too large");
      await makeFolderOf(path);
      if (isLink) links.push({ path, target: bytes });
      // Fails if anything is there, a link included.
      else await writeFile(at(path), bytes, { flag: "wx", mode: executable ? 0o555 : 0o444 });
    },

    /** Adds the links, and lets nobody change it any more: only its owner could, who does not. */
    async finish(): Promise<void> {
      for (const { path, target } of links) await symlink(target, at(path));
      for (const folder of folders) await chmod(at(folder), 0o555);
      await writeFile(join(root, SIZE), String(size));
      // The sandboxes of root run as `nobody`; other users of the machine have no business here.
      if (process.getuid?.() === 0) await chown(root, 0, NOBODY);
      await chmod(root, 0o750);
    },
  };
}

function requireInside(path: string): void {
  const isPart = (part: string) => part !== "" && part !== "." && part !== ".." && !part.includes("\0");
  if (!path.split("/").every(isPart)) throw new Error(`'${line(path)}' is no path of an environment`);
}

/** Deletes what killed processes left and what is used least, to make room for one more. */
async function sweep(folder: string): Promise<void> {
  const kept: { path: string; usedAt: number; bytes: number }[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const usedAt = (await stat(path).catch(() => null))?.mtimeMs;
    if (usedAt === undefined) continue;
    if (!name.startsWith(".")) {
      kept.push({ path, usedAt, bytes: Number(await readFile(join(path, SIZE), "utf8").catch(() => 0)) });
      continue;
    }
    const liveness = livenessOfTag(name.slice(1).split(".").slice(0, 3).join("."));
    if (liveness === "dead" || (liveness === "unknown" && usedAt < Date.now() - OLD_MS))
      await removeTree(path);
  }
  let bytes = MAX_BYTES;
  for (const [index, one] of kept.toSorted((a, b) => b.usedAt - a.usedAt).entries()) {
    bytes += one.bytes;
    const isTooMuch = index + 1 >= MAX_KEPT || bytes > MAX_KEPT_BYTES || one.usedAt < Date.now() - OLD_MS;
    if (!isTooMuch || one.usedAt > Date.now() - IN_USE_MS) continue;
    await remove(folder, basename(one.path));
  }
}

async function remove(folder: string, name: string): Promise<void> {
  // Half of one must never be found.
  const gone = join(folder, `.${ownTag}.${randomUUID()}`);
  await rename(join(folder, name), gone).catch(() => {});
  await removeTree(gone);
}

/** Deletes a tree whose folders are read-only; follows no links. */
export async function removeTree(folder: string): Promise<void> {
  const open: Buffer[] = [Buffer.from(folder)];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    try {
      await chmod(at, 0o755);
      for (const entry of await readdir(at, { withFileTypes: true, encoding: "buffer" }))
        if (entry.isDirectory()) open.push(Buffer.concat([at, Buffer.from("/"), entry.name]));
    } catch {
      // It is gone.
    }
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
