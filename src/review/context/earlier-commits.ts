import { shownBytes } from "../../diff/file-diff.ts";
import { cutLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import type { EarlierCommit } from "../known-graph.ts";
import type { ContextParts } from "./parts.ts";

/** Commits of one file: what is older seldom says why the code is as it is. */
const OF_A_FILE = 3;
const MAX_COMMITS = 12;
const MAX_LINE_BYTES = 160;
/** Paths that are named of a commit. */
const MAX_PATHS = 3;
/** A commit that changed more was about none of them. */
const MAX_CHANGED = 30;

/**
 * Which commits changed the files of this unit last, before the pull request, as far as there is room; empty where the graph
 * knows none. Merges say nothing.
 */
export function earlierCommitsSection(
  { graph, files }: Pick<ContextParts, "graph" | "files">,
  maxBytes: number,
): string {
  // What is withheld is not reviewable.
  const read = files.filter(({ reviewable }) => reviewable);
  const paths = read.map(({ change }) => change.oldPath ?? change.path);
  const commits = lastOf(paths, graph?.commits ?? []);
  if (commits.length === 0) return "";
  const wanted = new Set(paths);
  const lines = commits.map((commit) => lineOf(commit, wanted));
  const intro =
    "They may say why the code was as it was, newest first; get_commit_messages has the change's own.";
  const section = (shown: readonly string[]) =>
    `# Earlier commits on these files\n${intro}\n${wrapUntrusted("commit messages", shown.join("\n"))}`;
  let left = lines.length;
  while (left > 0 && shownBytes(section(lines.slice(0, left))) > maxBytes) left--;
  return left > 0 ? section(lines.slice(0, left)) : "";
}

/** The last few of each path, each once, in their order. */
function lastOf(paths: readonly string[], all: readonly EarlierCommit[]): EarlierCommit[] {
  const left = new Map(paths.map((path) => [path, OF_A_FILE]));
  const taken = all.filter((commit) => {
    if (commit.paths.length > MAX_CHANGED) return false;
    const own = commit.paths.filter((path) => (left.get(path) ?? 0) > 0);
    for (const path of own) left.set(path, (left.get(path) ?? 0) - 1);
    return own.length > 0;
  });
  return taken.slice(0, MAX_COMMITS);
}

function lineOf({ sha, date, message, paths }: EarlierCommit, wanted: ReadonlySet<string>): string {
  const [subject = ""] = message.split("\n");
  const own = paths.filter((path) => wanted.has(path));
  const more = own.length > MAX_PATHS ? ", …" : "";
  const where = wanted.size > 1 ? ` (${own.slice(0, MAX_PATHS).map(showPath).join(", ")}${more})` : "";
  return `${sha.slice(0, 12)} ${date.slice(0, 10)} ${cutLine(subject.trim(), MAX_LINE_BYTES)}${where}`;
}
