import { isUtf8 } from "node:buffer";
import { copyFile, lstat, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { splitNul, splitRecords } from "../../core/text/decode.ts";
import { decodeName } from "./names.ts";
import { blobSizes } from "./object-listing.ts";
import type { LocalRepository } from "./repository.ts";
import { type Git, runGit } from "./run-git.ts";
import { createScratchRepository } from "./scratch.ts";
import type { LentWorkTree } from "./workspace.ts";

/** A copy of a work tree's index in a scratch repository, so that git writes nothing to the user's. */
export interface CopiedIndex {
  git: Git;
  source: LocalRepository;
  workTree: string;
  indexDir: string;
  config: [string, string][];
}

/** Where the configuration of the person at this machine is; it names what they ignore everywhere. */
export interface UserHome {
  /** HOME */
  home: string;
  /** XDG_CONFIG_HOME, or its default. */
  configHome: string;
}

interface CopyOptions {
  /** A folder that does not exist yet. */
  indexDir: string;
  /** The checked out commit; null if there is none. */
  headSha: string | null;
  /** For a capture: a missing index is copied as an empty one, and files are ignored and stored as by this user's own git. */
  capturedBy?: UserHome | null;
}

/** Copies the index of a work tree. Null if there is no work tree, or nothing was ever added to it. */
export async function copyIndex(
  git: Git,
  source: LocalRepository,
  { indexDir, headSha, capturedBy }: CopyOptions,
): Promise<CopiedIndex | null> {
  const { workTree } = source;
  if (workTree === null) return null;
  const indexStats = await stat(source.indexFile).catch(() => undefined);
  if (indexStats === undefined && capturedBy === undefined) return null;
  await createScratchRepository(indexDir, source, { headSha, attributes: false });
  const copy = { git, source, workTree, indexDir, config: await harmlessConfig(git, source, capturedBy) };
  if (indexStats === undefined) return copy;
  const shared = (await readdir(source.gitDir)).filter((name) => name.startsWith("sharedindex."));
  await Promise.all([
    copyFile(source.indexFile, join(indexDir, "index")),
    ...shared.map((name) => copyFile(join(source.gitDir, name), join(indexDir, name))),
  ]);
  // git trusts an entry only if it is older than the index; rounding down makes it check twice, never too rarely.
  const seconds = Math.floor(indexStats.mtimeMs / 1000);
  await utimes(join(indexDir, "index"), seconds, seconds);
  return copy;
}

/** Keys that decide how files are compared; and those that name a file, which decides what is ignored and which bytes are stored. */
const [comparing, naming] = ["filemode|autocrlf|eol|ignorecase", "excludesfile|attributesfile"];
/** Whether a configuration may contain one of them with a value that is not git's default. */
const mayMatter = /autocrlf|eol|ignorecase|excludesfile|attributesfile|include|filemode(?!\s*=\s*true\s*$)/im;

/** The settings of a repository that cannot run anything, from the weakest to the strongest file; for a capture also the user's. */
async function harmlessConfig(
  git: Git,
  { commonDir, gitDir }: LocalRepository,
  user: UserHome | null | undefined,
): Promise<[string, string][]> {
  const global = user ? [join(user.configHome, "git", "config"), join(user.home, ".gitconfig")] : [];
  const files = [...global, join(commonDir, "config"), join(gitDir, "config.worktree")];
  const texts = await Promise.all(files.map((file) => readFile(file, "latin1").catch(() => "")));
  const keys = `^core\\.(${user === undefined ? comparing : `${comparing}|${naming}`})$`;
  const read = async (file: string, at: number) => {
    if (texts[at] === "") return [];
    // Where the user has such a file, the home exists; there git expands `~` in the files that it includes.
    const isGlobal = at < global.length;
    const { stdout } = await runGit({
      git: { ...git, emptyHome: isGlobal && user ? user.home : git.emptyHome },
      gitDir,
      what: "read the configuration",
      expectedExits: [0, 1, 128],
      args: ["config", "--file", file, ...(isGlobal ? ["--includes"] : []), "-z", "--get-regexp", keys],
    });
    return splitRecords(stdout);
  };
  const records = texts.some((text) => mayMatter.test(text))
    ? (await Promise.all(files.map(read))).flat()
    : [];
  const config: [string, string][] = user
    ? [
        ["core.excludesfile", join(user.configHome, "git", "ignore")],
        ["core.attributesfile", join(user.configHome, "git", "attributes")],
      ]
    : [];
  for (const record of records) {
    // "KEY<line feed>VALUE"; a key without a value is true.
    const [key = "", ...lines] = record.toString("utf8").split("\n");
    const value = (lines.length === 0 ? "true" : lines.join("\n")).replace(
      /^~(?=\/)/,
      () => user?.home ?? "~",
    );
    if (key.endsWith("sfile") ? isAbsolute(value) : /^[a-z]+$/i.test(value)) config.push([key, value]);
  }
  return config;
}

/** Whether tracked files of the work tree differ from its HEAD, staged or not. */
export async function isDirty(index: CopiedIndex): Promise<boolean> {
  const args = ["--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all", "--no-renames"];
  return (await onIndex(index, "status", ["status", ...args])).length > 0;
}

export interface OnIndex {
  /** In the folder of the index; default: the copy. */
  indexFile?: string;
  input?: Buffer;
  signal?: AbortSignal | undefined;
}

/** Runs git with a copied index, or in its folder alone. */
export async function onIndex(
  { git, indexDir, ...more }: Pick<CopiedIndex, "git" | "indexDir" | "config"> & { workTree?: string },
  what: string,
  args: readonly string[],
  { indexFile = "index", ...asked }: OnIndex = {},
): Promise<Buffer> {
  const { workTree, config } = more;
  const place = { git, gitDir: indexDir, workTree, config, indexFile: join(indexDir, indexFile) };
  return (await runGit({ ...place, ...asked, what, args, timeoutMs: TIMEOUT_MS })).stdout;
}

const TIMEOUT_MS = 600_000;

/**
 * The files of a work tree that differ from a commit now: edited, removed, added or of another type, committed or not. git compares sizes
 * and times, and the content only if these leave a doubt.
 */
export async function differingFiles(
  git: Git,
  { root, indexDir, config }: Pick<LentWorkTree, "root" | "indexDir" | "config">,
  sha: string,
  signal?: AbortSignal,
): Promise<string[]> {
  const args = [
    "--name-only",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    sha,
    "--",
  ];
  const index = { git, indexDir, config, workTree: root };
  return splitNul(await onIndex(index, "compare the work tree", ["diff", ...args], { signal }), decodeName);
}

/** With more differing files, reading everything from git is as fast. */
const MOST_DIFFERING = 5_000;

/**
 * A work tree for searching a commit, as far as it has the same files. Null if there is a reason why its files may have other bytes than
 * git's objects although git considers them equal: converted line ends, filters, or entries with a flag that stops git from checking them.
 *
 * @param isHead resolves to whether the commit is checked out and nothing was changed since
 */
export async function lendWorkTree(
  index: CopiedIndex,
  sha: string,
  isHead: () => Promise<boolean>,
  signal?: AbortSignal,
): Promise<LentWorkTree | null> {
  const { git, workTree: root, indexDir, config } = index;
  if (process.platform === "win32" || convertsByConfig(config)) return null;
  const [listing, untracked, differing] = await Promise.all([
    listIndex(index, signal),
    onIndex(index, "list untracked files", ["ls-files", "-z", "--others", "--directory"], { signal }),
    isHead().then((is) => (is ? [] : differingFiles(git, { root, indexDir, config }, sha, signal))),
  ]);
  if (listing === null || differing.length > MOST_DIFFERING) return null;
  if (await convertsByAttributes(index, listing, differing)) return null;
  if (!(await sizesAgree(index, listing, new Set(differing)))) return null;
  const ignoreFile = join(indexDir, "not-tracked");
  const folders = entriesOf(listing, submodule).map(({ name }) => name);
  await writeFile(ignoreFile, ignoreLines([...splitRecords(untracked), ...folders]));
  return { root, indexDir, ignoreFile, config, differing };
}

const convertsByConfig = (config: readonly (readonly [string, string])[]) =>
  config.some(([key, value]) =>
    key === "core.autocrlf" ? value !== "false" && value !== "input" : key === "core.eol" && value !== "lf",
  );

interface IndexEntry {
  oid: string;
  name: Buffer;
}

/** Patterns for records "H 100644 OID 0<tab>PATH" of a listing, each after a NUL. A listing may have half a million. */
const unusual = /\0(?!H \d{6} [0-9a-f]+ 0\t)[^\0]/;
const submodule = /\0H 160000 (?<oid>[0-9a-f]+) 0\t(?<name>[^\0]+)/g;
const attributesFile = /\0H \d{6} (?<oid>[0-9a-f]+) 0\t(?<name>(?:[^\0]*\/)?\.gitattributes)(?=\0)/g;
const regularFile = /\0H 100\d{3} (?<oid>[0-9a-f]+) 0\t(?<name>[^\0]+)/y;

/** The entries of an index, as Latin-1. Null if one has a flag that hides its changes from git, or is in conflict. */
async function listIndex(index: CopiedIndex, signal?: AbortSignal): Promise<string | null> {
  const listed = await onIndex(index, "list the index", ["ls-files", "-z", "-v", "--stage"], { signal });
  const listing = `\0${listed.toString("latin1")}`;
  return unusual.test(listing) ? null : listing;
}

/** The names of all submodules of an index. */
export async function submodulesIn(index: CopiedIndex, signal?: AbortSignal): Promise<Buffer[]> {
  const listed = await onIndex(index, "list the index", ["ls-files", "-z", "-t", "--stage"], { signal });
  return entriesOf(`\0${listed.toString("latin1")}`, submodule).map(({ name }) => name);
}

const entryOf = ({ groups }: RegExpExecArray): IndexEntry => ({
  oid: groups?.oid ?? "",
  name: Buffer.from(groups?.name ?? "", "latin1"),
});

const entriesOf = (listing: string, pattern: RegExp) => [...listing.matchAll(pattern)].map(entryOf);

/** An attribute with which git writes other bytes to the disk than it has stored, on systems with LF. */
const converting = /^[^#\n]*\s(?:crlf|ident|eol=crlf|filter=|working-tree-encoding=)/m;

async function convertsByAttributes(
  { git, source, indexDir }: CopiedIndex,
  listing: string,
  differing: readonly string[],
): Promise<boolean> {
  if (differing.some((path) => path.endsWith(".gitattributes"))) return true;
  const own = await readFile(join(source.commonDir, "info", "attributes"), "latin1").catch(() => "");
  const oids = entriesOf(listing, attributesFile).map(({ oid }) => oid);
  const input = [...new Set(oids)].map((oid) => `${oid}\n`).join("");
  const command = { git, gitDir: indexDir, what: "read attributes", args: ["cat-file", "--batch"] };
  const stored = input === "" ? "" : (await runGit({ ...command, input })).stdout.toString("latin1");
  return converting.test(`${own}\n${stored}`);
}

/** Files whose sizes are compared. */
const SAMPLE = 64;

/** Whether files have the sizes of their blobs. They have not if the user's own configuration, which we do not read, converts line ends. */
async function sizesAgree(
  { git, workTree, indexDir }: CopiedIndex,
  listing: string,
  differing: ReadonlySet<string>,
): Promise<boolean> {
  const sample = sampleOf(listing).filter(({ name }) => !differing.has(decodeName(name)));
  const sizes = await blobSizes(
    { git, gitDir: indexDir },
    sample.map(({ oid }) => oid),
  );
  const agree = await Promise.all(
    sample.map(async ({ oid, name }) => {
      const found = await lstat(Buffer.concat([Buffer.from(`${workTree}/`), name])).catch(() => null);
      return found?.isFile() === true && found.size === sizes.get(oid);
    }),
  );
  return agree.every(Boolean);
}

/** Regular files from all parts of a listing. */
function sampleOf(listing: string): IndexEntry[] {
  const starts = Array.from({ length: SAMPLE }, (_, at) => Math.floor((at * listing.length) / SAMPLE));
  return [...new Set(starts.map((start) => listing.indexOf("\0", start)))].flatMap((start) => {
    regularFile.lastIndex = start;
    const found = regularFile.exec(listing);
    return found === null ? [] : [entryOf(found)];
  });
}

/** Lines of a `.gitignore` that each match exactly one path. A name that no line can contain gets none. */
function ignoreLines(names: readonly Buffer[]): string {
  return names
    .filter((name) => isUtf8(name) && !name.includes("\n"))
    .map((name) => `/${escapeGlob(name.toString("utf8"))}\n`)
    .join("");
}

const escapeGlob = (name: string) => name.replace(/[\\*?[\]{}!# ]/g, "\\$&");
