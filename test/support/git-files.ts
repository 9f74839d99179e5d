import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";

/**
 * Reads and writes git's plain files without git: tests would start git hundreds of times just for this, and a large process takes longer
 * to start another one than git takes to answer.
 */

const objectName = /^[0-9a-f]{40,64}\n$/;

/** The target of a full ref; undefined if it has no file of its own, so that only git knows. */
export function looseRef(gitDir: string, ref: string): string | undefined {
  const content = contentOf(join(gitDir, ref));
  return content !== undefined && objectName.test(content) ? content.trim() : undefined;
}

/** The target of a branch, by its short or full name; undefined if the name may also mean something else. */
export function plainRef(gitDir: string, name: string): string | undefined {
  if (!/^\w[\w./-]*$/.test(name)) return undefined;
  if (name.startsWith("refs/")) return name.startsWith("refs/heads/") ? looseRef(gitDir, name) : undefined;
  const others = [name, `refs/${name}`, `refs/tags/${name}`];
  const isPlain = !hasPackedRefs(gitDir) && !others.some((other) => existsSync(join(gitDir, other)));
  return isPlain ? looseRef(gitDir, `refs/heads/${name}`) : undefined;
}

/** The target of HEAD, on a branch or detached; undefined if only git knows. */
export function looseHead(gitDir: string): string | undefined {
  const content = contentOf(join(gitDir, "HEAD"));
  if (content === undefined || objectName.test(content)) return content?.trim();
  const ref = /^ref: (\S+)\n$/.exec(content)?.[1];
  return ref === undefined ? undefined : looseRef(gitDir, ref);
}

/** Does the same as `git init`, on branch `main`. */
export function initRepository(gitDir: string, bare: boolean): void {
  for (const folder of ["info", "objects/info", "objects/pack", "refs/heads", "refs/tags"]) {
    mkdirSync(join(gitDir, folder), { recursive: true });
  }
  writeFileSync(join(gitDir, "config"), configFile(bare));
  writeFileSync(join(gitDir, "HEAD"), "ref: refs/heads/main\n");
}

function configFile(bare: boolean): string {
  const core = {
    repositoryformatversion: 0,
    filemode: true,
    bare,
    ...(bare ? {} : { logallrefupdates: true }),
  };
  const lines = Object.entries(core).map(([key, value]) => `\t${key} = ${value}\n`);
  return `[core]\n${lines.join("")}`;
}

/** Whether the repository also has refs in one packed file. */
export function hasPackedRefs(gitDir: string): boolean {
  return existsSync(join(gitDir, "packed-refs"));
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** The entries allowed in a `.git` whose next commit depends only on the work tree: no hook, merge, packed ref or setting. */
const plainNames = new Set(["config", "HEAD", "index", "info", "logs", "objects", "refs", "COMMIT_EDITMSG"]);

/** The ref that HEAD names, if a commit to it depends only on its files; otherwise undefined. */
export function plainHead(gitDir: string): string | undefined {
  const isPlain =
    contentOf(join(gitDir, "config")) === configFile(false) &&
    readdirSync(gitDir).every((name) => plainNames.has(name)) &&
    readdirSync(join(gitDir, "info")).length === 0;
  return isPlain
    ? /^ref: (refs\/heads\/[\w./-]+)\n$/.exec(contentOf(join(gitDir, "HEAD")) ?? "")?.[1]
    : undefined;
}

/** Changes when a program writes the index. */
export function indexStamp(gitDir: string): string {
  const index = join(gitDir, "index");
  if (!existsSync(index)) return "none";
  const { mtimeNs, size, ino } = statSync(index, { bigint: true });
  return `${mtimeNs} ${size} ${ino}`;
}

export interface PlainCommit {
  message: string;
  /** "NAME <ADDRESS> SECONDS +0000" */
  author: string;
  committer: string;
}

/**
 * Does the same as `git add --all` and `git commit` in a work tree, with identical object names and index, and returns the commit's name.
 * Returns undefined, without a relevant change, if a file or the message needs git itself.
 */
export function commitWorkTree(workTree: string, commit: PlainCommit): string | undefined {
  const gitDir = join(workTree, ".git");
  const ref = plainHead(gitDir);
  // git normalizes other messages.
  if (ref === undefined || !/^\S(?:.*\S)?(?:\n\n?\S(?:.*\S)?)*$/.test(commit.message)) return undefined;
  const files: IndexedFile[] = [];
  const tree = storeFolder(gitDir, workTree, "", files);
  if (tree === undefined) return undefined;
  const parent = looseRef(gitDir, ref);
  const head = `tree ${tree.toString("hex")}\n${parent === undefined ? "" : `parent ${parent}\n`}`;
  const people = `author ${commit.author}\ncommitter ${commit.committer}\n`;
  const sha = storeObject(gitDir, "commit", Buffer.from(`${head}${people}\n${commit.message}\n`)).toString(
    "hex",
  );
  writeFileSync(join(gitDir, "index"), indexOf(files));
  const kind = parent === undefined ? "commit (initial)" : "commit";
  const entry = `${kind}: ${commit.message.split("\n")[0]}`;
  moveRef(gitDir, ref, sha);
  for (const name of ["HEAD", ref]) appendLog(gitDir, name, [parent, sha, commit.committer, entry]);
  return sha;
}

/** Does the same as `git checkout -B NAME`. False if that needs git itself. */
export function startBranch(gitDir: string, name: string, who: string): boolean {
  const ref = plainHead(gitDir);
  const sha = ref && looseRef(gitDir, ref);
  const isFree = /^\w[\w-]*(?:\/\w[\w-]*)*$/.test(name) && !existsSync(join(gitDir, "refs/heads", name));
  if (!ref || !sha || !isFree) return false;
  moveRef(gitDir, `refs/heads/${name}`, sha);
  appendLog(gitDir, `refs/heads/${name}`, [undefined, sha, who, "branch: Created from HEAD"]);
  writeFileSync(join(gitDir, "HEAD"), `ref: refs/heads/${name}\n`);
  appendLog(gitDir, "HEAD", [
    sha,
    sha,
    who,
    `checkout: moving from ${ref.slice("refs/heads/".length)} to ${name}`,
  ]);
  return true;
}

/** Writes a ref to its own file. */
export function moveRef(gitDir: string, ref: string, sha: string): void {
  mkdirSync(dirname(join(gitDir, ref)), { recursive: true });
  writeFileSync(join(gitDir, ref), `${sha}\n`);
}

type LogEntry = [from: string | undefined, to: string, who: string, what: string];

function appendLog(gitDir: string, ref: string, [from = "0".repeat(40), to, who, what]: LogEntry): void {
  const log = join(gitDir, "logs", ref);
  mkdirSync(dirname(log), { recursive: true });
  appendFileSync(log, `${from} ${to} ${who}\t${what}\n`);
}

interface IndexedFile {
  path: string;
  mode: number;
  oid: Buffer;
  stats: {
    ctimeNs: bigint;
    mtimeNs: bigint;
    dev: bigint;
    ino: bigint;
    uid: bigint;
    gid: bigint;
    size: bigint;
  };
}

/** Other names have a meaning in git (`.gitignore`), are refused by git, or sort differently. */
const plainName = /^(?!.*git)[ !#-.0-9:-[\]-}]+$/i;

/** Stores a folder and returns the name of its tree: zero bytes if it is empty, undefined if it holds something that is not plain. */
function storeFolder(
  gitDir: string,
  folder: string,
  prefix: string,
  files: IndexedFile[],
): Buffer | undefined {
  const entries: Buffer[] = [];
  const names = readdirSync(folder).filter((name) => prefix !== "" || name !== ".git");
  // The index orders files by the bytes of their full paths; a folder's name counts with a trailing slash.
  const sorted = names.map((name) => ({ name, stats: lstatSync(join(folder, name), { bigint: true }) }));
  const keyOf = ({ name, stats }: (typeof sorted)[number]) => (stats.isDirectory() ? `${name}/` : name);
  sorted.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  for (const one of sorted) {
    const { name, stats } = one;
    const [file, path] = [join(folder, name), prefix + name];
    if (!plainName.test(name)) return undefined;
    if (stats.isDirectory()) {
      const tree = storeFolder(gitDir, file, `${path}/`, files);
      if (tree === undefined) return undefined;
      if (tree.length > 0) entries.push(treeEntry("40000", name, tree));
    } else if (stats.isFile() || stats.isSymbolicLink()) {
      const content = stats.isFile() ? readFileSync(file) : readlinkSync(file, "buffer");
      const mode = stats.isFile() ? ((stats.mode & 0o100n) === 0n ? 0o100644 : 0o100755) : 0o120000;
      const oid = storeObject(gitDir, "blob", content);
      files.push({ path, mode, oid, stats });
      entries.push(treeEntry(mode.toString(8), name, oid));
    } else return undefined;
  }
  if (entries.length === 0 && prefix !== "") return Buffer.alloc(0);
  return storeObject(gitDir, "tree", Buffer.concat(entries));
}

const treeEntry = (mode: string, name: string, oid: Buffer) =>
  Buffer.concat([Buffer.from(`${mode} ${name}\0`), oid]);

/** https://git-scm.com/book/en/v2/Git-Internals-Git-Objects */
function storeObject(gitDir: string, type: string, content: Buffer): Buffer {
  const whole = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const oid = createHash("sha1").update(whole).digest();
  const hex = oid.toString("hex");
  const file = join(gitDir, "objects", hex.slice(0, 2), hex.slice(2));
  if (existsSync(file)) return oid;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, deflateSync(whole, { level: 1 }), { mode: 0o444 });
  return oid;
}

/** Version 2 of https://git-scm.com/docs/index-format */
function indexOf(files: readonly IndexedFile[]): Buffer {
  const head = Buffer.alloc(12);
  head.write("DIRC");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(files.length, 8);
  const whole = Buffer.concat([head, ...files.map(indexEntry)]);
  return Buffer.concat([whole, createHash("sha1").update(whole).digest()]);
}

function indexEntry({ path, mode, oid, stats }: IndexedFile): Buffer {
  const second = 1_000_000_000n;
  const { ctimeNs, mtimeNs, dev, ino, uid, gid, size } = stats;
  const times = [ctimeNs / second, ctimeNs % second, mtimeNs / second, mtimeNs % second];
  const name = Buffer.from(path);
  const entry = Buffer.alloc((62 + name.length + 8) & ~7);
  const fields = [...times, dev, ino, BigInt(mode), uid, gid, size];
  for (const [at, field] of fields.entries()) entry.writeUInt32BE(Number(field & 0xffffffffn), at * 4);
  oid.copy(entry, 40);
  entry.writeUInt16BE(Math.min(name.length, 0xfff), 60);
  name.copy(entry, 62);
  return entry;
}
