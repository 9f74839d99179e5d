import { isUtf8 } from "node:buffer";
import { closeSync } from "node:fs";
import { rgPath } from "@vscode/ripgrep";
import { AppError } from "../../core/errors.ts";
import { BINARY_PROBE_BYTES, looksBinary } from "../../core/text/decode.ts";
import { fileStart, openConfined } from "./confined-file.ts";
import { decodeName, nameBytes } from "./names.ts";
import { ownerVariable } from "./owner.ts";
import { byNul, LineSplitter, runProcess } from "./run-process.ts";
import type { LineMatch, SearchHits, SearchQuery, TreeEntry } from "./workspace.ts";

/** A folder with files, and the tree with the files that count. */
export interface SearchPlace {
  root: string;
  tree: ReadonlyMap<string, TreeEntry>;
  /** Files of the tree that are not there, because they cannot be read. */
  unread?: ReadonlySet<string> | undefined;
  /** Default: {@link startsBinary}. */
  isBinary?: ((path: string) => boolean) | undefined;
  /** Lists what is passed over in a work tree. Whether there is a link on the way to a file is found out afterwards. */
  ignoreFile?: string | undefined;
}

const TIMEOUT_MS = 60_000;
/** With more files, ripgrep searches first with all threads, which finish in any order; to sort, it uses one. */
const MANY_FILES = 5_000;
const [NUL, NEWLINE, SLASH] = [0, 10, 47];
/** Larger files are not searched: a line of 100 MB would be in memory twice. ripgrep reads "20M" as this number. */
export const MAX_SEARCHED_BYTES = 20 * 1024 * 1024;
/** Longer lines are cut; minified files have lines of megabytes. */
const MAX_LINE_CHARS = 2000;

/** Searches the regular files of a tree in a folder. Rejects with `usage` for an unknown path, and if ripgrep refuses pattern, glob or type. */
export async function searchTree(
  place: SearchPlace,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchHits> {
  const { isBinary = (path: string) => startsBinary(place.root, path) } = place;
  const { start, covers, flat } = whereToLook(place, query);
  if (start !== undefined && place.ignoreFile === undefined) requireNoLink(place.root, start);
  const { filePattern, fileType, wants: allows = () => true } = query;
  const walk = [...(flat ? ["--max-depth=1"] : []), ...passingOver(place.ignoreFile)];
  // ripgrep ignores the type for a file whose name matches a glob.
  const ofType =
    filePattern === undefined || fileType === undefined
      ? undefined
      : await listFiles(place.root, [...walk, `--type=${fileType}`, "--", target(start)], signal);
  const wants = (path: string) =>
    covers(path) &&
    isRegular(place.tree.get(path)) &&
    allows(path) &&
    (ofType?.has(path) ?? true) &&
    !isBinary(path);
  const args = ripgrepArguments(query, start);
  args.splice(args.indexOf("--"), 0, ...walk);
  const run = { root: place.root, wants, signal };
  const search = query.mode === "content" ? searchLines : searchFiles;
  const left = [...(place.unread ?? [])].filter((path) => covers(path) && allows(path));
  const unread = left.length === 0 ? {} : { unread: left };
  if (place.tree.size > MANY_FILES) {
    const found = await search(query, { ...run, args });
    // Otherwise chance decided which matches came before the maximum.
    if (!found.limited) return { ...mergeHits([found], query), ...unread };
  }
  return { ...(await search(query, { ...run, args: ["--sort=path", ...args] })), ...unread };
}

const passingOver = (ignoreFile: string | undefined) =>
  ignoreFile === undefined ? [] : [`--ignore-file=${ignoreFile}`];

/** The files that a search sees in a folder, by their names on the disk, and those that are binary by {@link looksBinary}. */
export async function searchedFiles(root: string, ignoreFile: string) {
  const binary = new Set<string>();
  let path = "";
  const pieces = new LineSplitter((piece, end) => {
    if (end === NUL) path = keyOf(piece);
    else if (Number.parseInt(piece.toString("latin1"), 10) < BINARY_PROBE_BYTES) binary.add(path);
    return undefined;
  }, pathThenLine);
  const print = ["--null", "--with-filename", "--byte-offset", "--only-matching", "--no-line-number"];
  // Matches the first NUL of a file with the rest of its line, and prints only where it is.
  const first = [
    "--text",
    "--encoding=none",
    "--max-count=1",
    "--replace=",
    String.raw`--regexp=(?-u)\x00[^\n]*`,
  ];
  const where = [...passingOver(ignoreFile), "--", target(undefined)];
  const args = [...obeysNoFile, ...print, ...first, ...where];
  await runRipgrep({ root, args, signal: undefined }, (chunk) => pieces.push(chunk));
  return { seen: await listFiles(root, where, undefined), binary };
}

/** ripgrep follows no link below a folder, but it would follow one as its start. */
function requireNoLink(root: string, start: string): void {
  try {
    closeSync(openConfined(root, decodeName(Buffer.from(start)), { kind: "file or folder" }));
  } catch {
    throw new AppError("usage", `'${start}' cannot be searched: it is not in the checkout`);
  }
}

/** Whether a file of a checkout is binary, by its beginning. An unreadable file counts as binary. */
export function startsBinary(root: string, key: string): boolean {
  try {
    return looksBinary(fileStart(root, key, BINARY_PROBE_BYTES));
  } catch {
    return true;
  }
}

interface SearchTarget {
  /** The file or folder as a key, "" for the root. */
  key: string;
  isFile: boolean;
  /** Whether the file with this key is included. */
  covers: (key: string) => boolean;
}

/** Rejects with `usage` for a path that is not in the tree. */
export function searchTarget(
  tree: ReadonlyMap<string, TreeEntry>,
  { path = "" }: Pick<SearchQuery, "path">,
): SearchTarget {
  const key = path.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
  if (key === "" || key === ".") return { key: "", isFile: false, covers: () => true };
  if (tree.has(key)) return { key, isFile: true, covers: (one) => one === key };
  const prefix = `${key}/`;
  for (const one of tree.keys()) {
    if (one.startsWith(prefix)) return { key, isFile: false, covers: (other) => other.startsWith(prefix) };
  }
  throw new AppError("usage", `There is no file or folder '${key}' at head`);
}

const isRegular = (entry: TreeEntry | undefined) => entry?.mode.startsWith("100") ?? false;

/**
 * The start path for ripgrep (undefined is the root), and the included files. ripgrep applies neither glob nor type to a file given as an
 * argument, so its folder is searched instead, without subfolders (`flat`).
 */
function whereToLook({ tree, unread }: SearchPlace, query: SearchQuery) {
  const { key, isFile, covers } = searchTarget(tree, query);
  const hasFile = [...tree.values()].some(
    (entry) => isRegular(entry) && covers(entry.path) && !unread?.has(entry.path),
  );
  // A link, a submodule, an unreadable file: ripgrep still reports problems of the query.
  if (!hasFile) return { start: undefined, covers, flat: true };
  const isFiltered = query.filePattern !== undefined || query.fileType !== undefined;
  const start = withUtf8Name(isFile && isFiltered ? folderOf(key) : key);
  const flat = isFile && start !== key && start === folderOf(key);
  return { start: start === "" ? undefined : nameBytes(start).toString("utf8"), covers, flat };
}

const folderOf = (key: string) => key.slice(0, Math.max(key.lastIndexOf("/"), 0));

/** The file or folder itself, or else the nearest folder around it, with a UTF-8 name: arguments cannot have others. */
function withUtf8Name(key: string): string {
  let near = key;
  while (!isUtf8(nameBytes(near))) near = folderOf(near);
  return near;
}

/** No file of the repository (`.ignore`, `.rgignore`, `.gitignore`, `.ripgreprc`) can hide or start anything. */
const obeysNoFile = [
  "--no-config",
  "--no-ignore",
  "--hidden",
  "--no-messages",
  "--no-follow",
  "--max-filesize=20M",
  "--no-require-git",
  "--glob=!**/.git",
];

const target = (path: string | undefined) => (path === undefined ? "./" : `./${path}`);

/** ripgrep's arguments for a query. Values of the query come after `=` or `--`, so none can be an option. */
export function ripgrepArguments(query: SearchQuery, path: string | undefined): string[] {
  const flags = [
    ...obeysNoFile,
    ...modeFlags(query),
    // A pattern of a few characters may expand to a hundred megabytes, ripgrep's own limit, and take half a minute.
    "--regex-size-limit=10M",
    "--dfa-size-limit=30M",
    // Raw bytes: a byte order mark must not make ripgrep transcode or shift the first line.
    "--encoding=none",
    // We decide which files are binary, as git does: ripgrep would stop at the first NUL of any text.
    "--text",
    "--color=never",
  ];
  if (query.fixedString) flags.push("--fixed-strings");
  flags.push(query.ignoreCase ? "--ignore-case" : "--case-sensitive");
  if (query.wholeWord) flags.push("--word-regexp");
  if (query.invertMatch) flags.push("--invert-match");
  if (query.fileType !== undefined) flags.push(`--type=${query.fileType}`);
  if (query.filePattern !== undefined) flags.push(`--glob=${query.filePattern}`);
  return [...flags, `--regexp=${query.pattern}`, "--", target(path)];
}

function modeFlags({ mode, contextLines }: SearchQuery): string[] {
  const named = ["--null", "--with-filename"];
  if (mode === "count") return [...named, "--count"];
  if (mode === "files_with_matches") return [...named, "--files-with-matches"];
  return [...named, "--no-heading", "--line-number", `--context=${contextLines}`, "--no-context-separator"];
}

async function listFiles(
  root: string,
  args: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Set<string>> {
  const paths = new Set<string>();
  const names = new LineSplitter((name) => {
    paths.add(keyOf(name));
    return undefined;
  }, byNul);
  const all = [...obeysNoFile, "--files", "--null", ...args];
  await runRipgrep({ root, args: all, signal }, (chunk) => names.push(chunk));
  return paths;
}

interface SearchRun {
  root: string;
  args: readonly string[];
  /** Whether matches in the file at this path count. */
  wants: (path: string) => boolean;
  signal: AbortSignal;
}

/** A path may contain a newline, and a line a NUL, but neither contains what ends it. */
const pathThenLine = { ends: [NUL, NEWLINE] };

/** Records are `PATH NUL LINE:TEXT newline` for a match, and `PATH NUL LINE-TEXT newline` for a line near it. */
async function searchLines(query: SearchQuery, run: SearchRun): Promise<SearchHits> {
  const collector = new MatchCollector(query, run.wants);
  const pieces = new LineSplitter(
    (piece, end) => (end === NUL ? collector.takePath(piece) : collector.takeLine(piece)),
    pathThenLine,
  );
  const ran = await runRipgrep(run, (chunk) => pieces.push(chunk));
  const { matches } = collector;
  return { mode: "content", matches, ...ran, limited: ran.limited || matches.length >= query.maxResults };
}

/** Records are `PATH NUL` or `PATH NUL COUNT newline`. */
async function searchFiles({ mode, maxResults }: SearchQuery, run: SearchRun): Promise<SearchHits> {
  const found: { path: string; count: number }[] = [];
  let path = "";
  const add = (count: number) =>
    run.wants(path) && found.push({ path, count }) >= maxResults ? "stop" : undefined;
  const pieces = new LineSplitter(
    (piece, end) => {
      if (end === NEWLINE) return add(Number(piece.toString("latin1")) || 0);
      path = keyOf(piece);
      return mode === "count" ? undefined : add(0);
    },
    mode === "count" ? pathThenLine : byNul,
  );
  const ran = await runRipgrep(run, (chunk) => pieces.push(chunk));
  if (mode === "count") return { mode, counts: found, ...ran };
  return { mode: "files_with_matches", paths: found.map(({ path }) => path), ...ran };
}

/** Runs ripgrep in a folder; `limited` if it was stopped early. Exit code 1 means "nothing found". */
async function runRipgrep(
  { root, args, signal }: Pick<SearchRun, "root" | "args"> & { signal: AbortSignal | undefined },
  onStdout: (chunk: Buffer) => "stop" | undefined,
): Promise<Pick<SearchHits, "limited" | "program">> {
  if (args.some((argument) => argument.includes("\0"))) {
    throw new AppError("usage", "A search pattern cannot contain the character NUL");
  }
  const end = await runProcess({
    program: rgPath,
    args,
    cwd: root,
    env: ownerVariable,
    signal,
    timeoutMs: TIMEOUT_MS,
    onStdout,
  });
  const returnCode = end.stopped ? null : end.exitCode;
  const program = { command: ["rg", ...args].join(" "), returnCode, stderr: end.stderr };
  if (end.stopped || end.exitCode === 0 || end.exitCode === 1) return { limited: end.stopped, program };
  const message = end.stderr.replace(/^rg: /, "").trim();
  // Unreadable files cause the same code without a message; the results still count.
  if (end.exitCode === 2 && message === "") return { limited: false, program };
  if (end.exitCode === 2) throw new AppError("usage", message);
  throw new AppError("git_failed", message || "ripgrep ended unexpectedly", { retryable: true });
}

/** The tree's key of a path that ripgrep received with `./`. */
function keyOf(path: Buffer): string {
  const key = decodeName(path);
  return key.startsWith("./") ? key.slice(2) : key;
}

interface PrintedLine {
  line: number;
  isMatch: boolean;
  /** The bytes of its text. */
  bytes: Buffer;
}

/** Digits before the sign after a line number. */
const MAX_DIGITS = 20;

function printedLine(record: Buffer): PrintedLine {
  const [head = "", line, sign] = /^(\d+)(.)/.exec(record.toString("latin1", 0, MAX_DIGITS)) ?? [];
  return { line: Number(line), isMatch: sign === ":", bytes: record.subarray(head.length) };
}

/** Collects matches, each with its context, in the order of files and lines, and reports when there are enough. */
class MatchCollector {
  readonly matches: LineMatch[] = [];
  readonly #query: SearchQuery;
  readonly #wants: (path: string) => boolean;
  /** The path of the last record. */
  #name = Buffer.alloc(0);
  /** Null if it does not count. */
  #path: string | null = null;
  /** The last lines of the file. */
  #recent: { line: number; text: string; isLatin1: boolean }[] = [];

  constructor(query: SearchQuery, wants: (path: string) => boolean) {
    this.#query = query;
    this.#wants = wants;
  }

  takePath(name: Buffer): "stop" | undefined {
    if (name.equals(this.#name)) return undefined;
    if (this.#isFull()) return "stop";
    this.#name = Buffer.from(name);
    const path = keyOf(name);
    this.#path = this.#wants(path) ? path : null;
    this.#recent = [];
    return undefined;
  }

  takeLine(record: Buffer): "stop" | undefined {
    if (this.#path === null) return undefined;
    const { line, isMatch, bytes } = printedLine(record);
    const { contextLines } = this.#query;
    // Decoded as everywhere: UTF-8 or Latin-1.
    const isLatin1 = !isUtf8(bytes);
    const text = cutLine(bytes.toString(isLatin1 ? "latin1" : "utf8"));
    for (let at = this.matches.length - 1; at >= 0; at--) {
      const match = this.matches[at];
      if (match?.path !== this.#path || line - match.line > contextLines) break;
      match.after.push({ line, text });
      match.hasLatin1 ||= isLatin1;
    }
    if (isMatch && !this.#isFull()) {
      const near = this.#recent.filter((one) => line - one.line <= contextLines);
      const before = near.map((one) => ({ line: one.line, text: one.text }));
      const hasLatin1 = isLatin1 || near.some((one) => one.isLatin1);
      this.matches.push({ path: this.#path, line, text, before, after: [], hasLatin1 });
    }
    this.#recent.push({ line, text, isLatin1 });
    if (this.#recent.length > contextLines) this.#recent.shift();
    const last = this.matches.at(-1);
    // The last match may lack following lines.
    const isComplete = last?.path !== this.#path || line >= last.line + contextLines;
    return this.#isFull() && isComplete ? "stop" : undefined;
  }

  #isFull(): boolean {
    return this.matches.length >= this.#query.maxResults;
  }
}

function cutLine(text: string): string {
  if (text.length <= MAX_LINE_CHARS) return text;
  return `${text.slice(0, MAX_LINE_CHARS)} [... ${text.length - MAX_LINE_CHARS} more characters]`;
}

/** The results of one query for different files, in the order of `rg --sort=path`. */
export function mergeHits(all: readonly SearchHits[], { mode, maxResults }: SearchQuery): SearchHits {
  const matches = all.flatMap((one) => (one.mode === "content" ? one.matches : []));
  const counts = all.flatMap((one) => (one.mode === "count" ? one.counts : []));
  const paths = all.flatMap((one) => (one.mode === "files_with_matches" ? one.paths : []));
  const program = all[0]?.program ?? { command: "rg", returnCode: null, stderr: "" };
  const unread = all.flatMap((one) => one.unread ?? []);
  const limited = matches.length + counts.length + paths.length >= maxResults;
  const rest = { limited, program, ...(unread.length === 0 ? {} : { unread }) };
  const first = <Hit>(hits: readonly Hit[], pathOf: (hit: Hit) => string) =>
    sortedByPath(hits, pathOf).slice(0, maxResults);
  if (mode === "content") return { mode, matches: first(matches, ({ path }) => path), ...rest };
  if (mode === "count") return { mode, counts: first(counts, ({ path }) => path), ...rest };
  return { mode, paths: first(paths, (path) => path), ...rest };
}

function sortedByPath<Hit>(hits: readonly Hit[], pathOf: (hit: Hit) => string): Hit[] {
  const byPath = [...Map.groupBy(hits, pathOf)].map(([path, own]) => ({ own, key: sortKey(path) }));
  byPath.sort((left, right) => Buffer.compare(left.key, right.key));
  return byPath.flatMap(({ own }) => own);
}

/** ripgrep's sort key: names as bytes, folder by folder. Unlike in git, `a/b` comes before `a-b`. */
function sortKey(path: string): Buffer {
  const bytes = nameBytes(path);
  for (let at = bytes.indexOf(SLASH); at >= 0; at = bytes.indexOf(SLASH, at + 1)) bytes[at] = 0;
  return bytes;
}
