import { isUtf8 } from "node:buffer";
import { closeSync } from "node:fs";
import { rgPath } from "@vscode/ripgrep";
import { AppError } from "../errors.ts";
import { openConfined } from "./confined-file.ts";
import { BINARY_PROBE_BYTES, looksBinary } from "./decode.ts";
import { fileStart } from "./file-start.ts";
import { LineSplitter } from "./line-splitter.ts";
import { decodeName, nameBytes } from "./names.ts";
import { ownerVariable } from "./orphans.ts";
import { ripgrepArguments } from "./ripgrep-arguments.ts";
import { keyOf, MatchCollector, type RipgrepEvent } from "./ripgrep-json.ts";
import { runProcess } from "./run-process.ts";
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
  const wants = (path: string) => target.covers(path) && isRegular(place.tree, path) && allows(path);
  if (query.mode === "content") return await searchLines(place, query, args, wants, signal);
  return await searchFiles(place, query, args, wants, signal);
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

const folderOf = (key: string) => key.slice(0, Math.max(key.lastIndexOf("/"), 0));

/**
 * Where ripgrep is sent, and which of the files there are meant. A file named outright would escape the glob and the type,
 * so its folder is searched instead.
 */
function targetOf(tree: ReadonlyMap<string, TreeEntry>, query: SearchQuery): Target {
  const key = (query.path ?? "").replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
  if (key === "" || key === ".") return { start: undefined, covers: () => true, flat: false };
  if (tree.has(key)) {
    const isFiltered = query.filePattern !== undefined || query.fileType !== undefined;
    const start = reachable(isFiltered ? folderOf(key) : key);
    const flat = start !== key && start === folderOf(key);
    return { ...sentTo(start), covers: (one) => one === key, flat };
  }
  const prefix = `${key}/`;
  for (const one of tree.keys()) {
    if (!one.startsWith(prefix)) continue;
    return { ...sentTo(reachable(key)), covers: (other) => other.startsWith(prefix), flat: false };
  }
  throw new AppError("usage", `There is no file or folder '${key}' at head`);
}

/** The file or folder itself, or else the nearest folder around it, that has a name in UTF-8: arguments have no other. */
function reachable(key: string): string {
  let near = key;
  while (!isUtf8(nameBytes(near))) near = folderOf(near);
  return near;
}

const sentTo = (key: string) => ({ start: key === "" ? undefined : nameBytes(key).toString("utf8") });

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
  const ran = await ripgrep(place, args, signal, (chunk) => lines.push(chunk));
  const matches = collector.matches;
  const [first] = collector.unfinished;
  if (first && !isBinary(place.root, first.path))
    for (const match of collector.unfinished) matches.push(match);
  return { mode: "content", matches, ...ran };
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
  const ran = await ripgrep(place, args, signal, (chunk) => {
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

/** Runs ripgrep; `limited` when it was stopped before its end. Exit code 1 means "nothing found". */
async function ripgrep(
  place: SearchPlace,
  args: readonly string[],
  signal: AbortSignal,
  onStdout: (chunk: Buffer) => "stop" | undefined,
): Promise<Pick<SearchHits, "limited" | "program">> {
  if (args.some((argument) => argument.includes("\0"))) {
    throw new AppError("usage", "A search cannot hold the character NUL");
  }
  const end = await runProcess({
    program: rgPath,
    args,
    cwd: place.root,
    env: ownerVariable,
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
