import { isUtf8 } from "node:buffer";
import { closeSync } from "node:fs";
import { rgPath } from "@vscode/ripgrep";
import { AppError } from "../errors.ts";
import { BINARY_PROBE_BYTES, looksBinary } from "../text/decode.ts";
import { openConfined } from "./confined-file.ts";
import { fileStart } from "./file-start.ts";
import { LineSplitter } from "./line-splitter.ts";
import { decodeName, nameBytes } from "./names.ts";
import { ownerVariable } from "./orphans.ts";
import { ripgrepArguments } from "./ripgrep-arguments.ts";
import { keyOf, MatchCollector, type RipgrepEvent } from "./ripgrep-json.ts";
import { runProcess } from "./run-process.ts";
import { folderOf, searchTarget } from "./search/search-target.ts";
import { selectFiles } from "./search/select-files.ts";
import type { SearchHits, SearchQuery, TreeEntry } from "./workspace.ts";

/** What is searched: the checkout, and the tree that says which of its files count. */
export interface SearchPlace {
  root: string;
  tree: ReadonlyMap<string, TreeEntry>;
}

const TIMEOUT_MS = 60_000;

/** Searches the regular files of the tree. Rejects with `usage` when ripgrep refuses the pattern, the glob or the type. */
export async function searchTree(
  place: SearchPlace,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchHits> {
  const target = targetOf(place.tree, query);
  if (target.start !== undefined) requireNoLink(place.root, target.start);
  const args = ripgrepArguments(query, target.start);
  if (target.flat) args.splice(args.indexOf("--"), 0, "--max-depth=1");
  const { wants: allows = () => true } = query;
  const isMeant = (path: string) => target.covers(path) && isRegular(place.tree, path) && allows(path);
  const isOfType = await typeFilter(place.tree, query);
  const wants = (path: string) => isMeant(path) && isOfType(path) && !isBinary(place.root, path);
  if (query.mode === "content") return await searchLines(place, query, args, wants, signal);
  return await searchFiles(place, query, args, wants, signal);
}

/** ripgrep forgets the type of a file whose name a glob matches. */
async function typeFilter(tree: ReadonlyMap<string, TreeEntry>, { filePattern, fileType }: SearchQuery) {
  if (filePattern === undefined || fileType === undefined) return () => true;
  const ofType = new Set(await selectFiles([...tree.keys()], "", { fileType }));
  return (path: string) => ofType.has(path);
}

/** Of what lies below a folder ripgrep follows no link, but it would follow one that it is sent to. */
function requireNoLink(root: string, start: string): void {
  try {
    closeSync(openConfined(root, decodeName(Buffer.from(start)), { kind: "file or folder" }));
  } catch {
    throw new AppError("usage", `'${start}' cannot be searched: it is not in the checkout`);
  }
}

interface Target {
  /** Where ripgrep is sent; undefined is the root. */
  start: string | undefined;
  /** Whether the file with this key is meant. */
  covers: (key: string) => boolean;
  /** Whether ripgrep stays out of the folders below. */
  flat: boolean;
}

/**
 * Where ripgrep is sent, and which of the files there are meant. A file named outright would escape the glob and the type,
 * so its folder is searched instead.
 */
function targetOf(tree: ReadonlyMap<string, TreeEntry>, query: SearchQuery): Target {
  const { key, isFile, covers } = searchTarget(tree, query);
  const isFiltered = query.filePattern !== undefined || query.fileType !== undefined;
  const start = reachable(isFile && isFiltered ? folderOf(key) : key);
  const flat = isFile && start !== key && start === folderOf(key);
  return { start: start === "" ? undefined : nameBytes(start).toString("utf8"), covers, flat };
}

/** The file or folder itself, or else the nearest folder around it, that has a name in UTF-8: arguments have no other. */
function reachable(key: string): string {
  let near = key;
  while (!isUtf8(nameBytes(near))) near = folderOf(near);
  return near;
}

function isRegular(tree: ReadonlyMap<string, TreeEntry>, path: string): boolean {
  return tree.get(path)?.mode.startsWith("100") ?? false;
}

async function searchLines(
  place: SearchPlace,
  query: SearchQuery,
  args: readonly string[],
  wants: (path: string) => boolean,
  signal: AbortSignal,
): Promise<SearchHits> {
  const collector = new MatchCollector({ ...query, wants });
  const lines = new LineSplitter((line) => collector.take(JSON.parse(line.toString("utf8")) as RipgrepEvent));
  const ran = await runRipgrep({ cwd: place.root, args, signal }, (chunk) => lines.push(chunk));
  return { mode: "content", matches: collector.matches, ...ran };
}

/** What cannot be read is no text either. */
function isBinary(root: string, key: string): boolean {
  try {
    return looksBinary(fileStart(root, key, BINARY_PROBE_BYTES));
  } catch {
    return true;
  }
}

/** Records are `PATH NUL` or `PATH NUL COUNT newline`. */
async function searchFiles(
  place: SearchPlace,
  query: SearchQuery,
  args: readonly string[],
  wants: (path: string) => boolean,
  signal: AbortSignal,
): Promise<SearchHits> {
  const found: { path: string; count: number }[] = [];
  let rest = Buffer.alloc(0);
  const ran = await runRipgrep({ cwd: place.root, args, signal }, (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (let nul = rest.indexOf(0); nul >= 0; nul = rest.indexOf(0)) {
      const end = query.mode === "count" ? rest.indexOf(10, nul) : nul;
      if (end < 0) return undefined;
      const path = keyOf(rest.subarray(0, nul));
      const count = Number(rest.toString("latin1", nul + 1, end)) || 0;
      rest = rest.subarray(end + 1);
      if (wants(path) && found.push({ path, count }) >= query.maxResults) return "stop";
    }
    return undefined;
  });
  if (query.mode === "count") return { mode: "count", counts: found, ...ran };
  return { mode: "files_with_matches", paths: found.map(({ path }) => path), ...ran };
}

interface RipgrepRun {
  /** Where the paths of its arguments begin; nowhere for what comes by its standard input. */
  cwd?: string;
  args: readonly string[];
  input?: AsyncIterable<Buffer>;
  signal: AbortSignal;
}

/** Runs ripgrep; `limited` when it was stopped before its end. Exit code 1 means "nothing found". */
export async function runRipgrep(
  { cwd = "/", args, input, signal }: RipgrepRun,
  onStdout: (chunk: Buffer) => "stop" | undefined,
): Promise<Pick<SearchHits, "limited" | "program">> {
  if (args.some((argument) => argument.includes("\0"))) {
    throw new AppError("usage", "A search cannot hold the character NUL");
  }
  const end = await runProcess({
    program: rgPath,
    args,
    cwd,
    env: ownerVariable,
    input,
    signal,
    timeoutMs: TIMEOUT_MS,
    onStdout,
  });
  const returnCode = end.stopped ? null : end.exitCode;
  const program = { command: ["rg", ...args].join(" "), returnCode, stderr: end.stderr };
  if (end.stopped || end.exitCode === 0 || end.exitCode === 1) return { limited: end.stopped, program };
  const message = end.stderr.replace(/^rg: /, "").trim();
  // Files that cannot be read end with the same code, but are silent; what was found then still counts.
  if (end.exitCode === 2 && message === "") return { limited: false, program };
  if (end.exitCode === 2) throw new AppError("usage", message);
  throw new AppError("git_failed", message || "ripgrep ended unexpectedly", { retryable: true });
}
