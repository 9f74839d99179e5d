import { realpath } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { distance } from "fastest-levenshtein";
import { ciTargetBranch } from "../config/env.ts";
import { configText, loadRepoConfig, refuseIrregular, withNested } from "../config/load-config.ts";
import { programPath, userHome } from "../config/process-env.ts";
import { type EffectiveConfig, isNestedName, type RepoConfig } from "../config/repo-config.ts";
import { AppError } from "../core/errors.ts";
import { count } from "../core/text/count.ts";
import { SUBMODULE_EDITED } from "../repo/diff/filter.ts";
import { createPathMatcher } from "../repo/diff/paths.ts";
import { openWorkspace } from "../repo/git/object-workspace.ts";
import {
  type LocalRange,
  type LocalRangeOptions,
  openLocalRange,
  type Uncommitted,
} from "../repo/git/range.ts";
import { type BaseChoice, SHALLOW_REMEDY } from "../repo/git/repository.ts";
import { requireGit } from "../repo/git/run-git.ts";
import type { Workspace } from "../repo/git/workspace.ts";
import type { RangeNames } from "../report/terminal.ts";
import { plainLine } from "../report/terminal-style.ts";
import type { ReviewResult } from "../tasks/shapes/review-result.ts";

/** A local range. Its temporary folder is removed with it. */
export interface OpenRange extends Omit<LocalRange, "names" | "workTree" | "dispose"> {
  workspace: Workspace;
  names: RangeNames;
  /** Absolute paths of the work tree, with and without symbolic links. */
  roots: readonly string[];
}

export interface RangeOptions
  extends Pick<LocalRangeOptions, "repo" | "scope" | "head" | "indexFile" | "reports"> {
  /** Default: `usualBase`. */
  base?: string | undefined;
  signal: AbortSignal;
}

/** Usual targets of a change, best guess first. */
const usualBases = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];

/** A tag may have the same name. */
const asBranch = (name: string) => `refs/${name.startsWith("origin/") ? "remotes" : "heads"}/${name}`;

/** The default base. In CI only the target branch of the pull request: a review against another would cover other commits. */
export function usualBase(): BaseChoice {
  const target = ciTargetBranch();
  if (target === null) {
    const complaint = `--base is not set, and none of these exists: ${usualBases.join(", ")}`;
    return { names: usualBases.map(asBranch), complaint };
  }
  const name = `origin/${target.branch}`;
  const complaint = `--base is not set, and ${name}, the branch that ${target.variable} names, does not exist`;
  // Many systems clone one branch only, and then a fetch by name creates no other one.
  const fetched = `+refs/heads/${target.branch}:refs/remotes/${name}`;
  const remedy = `Fetch it (git fetch origin ${fetched}), or name the target branch with --base`;
  const names = [asBranch(name)];
  return { names, isCertain: true, complaint, ...(/^[\w./-]+$/.test(target.branch) && { remedy }) };
}

/** Resolves both revisions, without a checkout. Rejects with `git_missing`, `git_too_old`, `repository_unavailable` or `revision_unknown`. */
export async function openRange(options: RangeOptions): Promise<OpenRange> {
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const base = options.base ?? usualBase();
  const range = await openLocalRange({ ...options, base, gitPath, user: userHome() });
  const workspace = openWorkspace(range.place);
  const dispose = async () => {
    await workspace[Symbol.asyncDispose]();
    await range.dispose();
  };
  try {
    // Most commands read the configuration next. They await this listing and report its error.
    workspace.tree("base").catch(() => {});
    const { uncommitted } = range;
    const commits = commitCount((await workspace.commits(MOST_COMMITS + 1)).length);
    const names = {
      ...range.names,
      commits,
      repository: basename(range.place.root.replace(/\/\.git$/, "")),
      uncommitted: uncommitted && wordsOf(uncommitted, range.names.base, commits),
    };
    const roots = await rootsOf(range.workTree, options.repo);
    return { ...range, workspace, names, roots, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** git names the top folder without links; the given folder may lead there through one. */
async function rootsOf(workTree: string | null, repo: string): Promise<string[]> {
  if (workTree === null) return [];
  const named = resolve(repo);
  const isTop = (await realpath(named).catch(() => null)) === workTree;
  return isTop ? [...new Set([workTree, named])] : [workTree];
}

/** More are not counted: it takes too long. */
export const MOST_COMMITS = 1_000;

export function commitCount(found: number): string {
  return found > MOST_COMMITS ? `over ${count(MOST_COMMITS, "commit")}` : count(found, "commit");
}

/** What is read, in a few words. */
function wordsOf({ onlyStaged, hasCommits, branch }: Uncommitted, base: string, commits: string): string {
  const of = branch === null ? "" : ` of ${branch}`;
  if (onlyStaged) return `Staged changes${of}: from HEAD to the index`;
  if (!hasCommits) return `Uncommitted changes${of}: from HEAD to the working tree`;
  return `Working tree${of} against ${base}: ${commits} and the uncommitted changes`;
}

/** Most paths to name in one warning. */
const MOST_NAMED = 10;

/** Says which uncommitted files could not be read: none may be missing silently. */
export function leftOut({ uncommitted }: Pick<OpenRange, "uncommitted">): string[] {
  const left = uncommitted?.left ?? [];
  if (left.length === 0) return [];
  const named = left.slice(0, MOST_NAMED).map(({ path, reason }) => `${path} (${reason})`);
  const more = left.length > MOST_NAMED ? ` and ${left.length - MOST_NAMED} more` : "";
  return [`Not part of the review, although not committed: ${named.join(", ")}${more}.`];
}

/** The result, with the submodules that have uncommitted changes as not read: it is not complete. */
export function withEdited(
  { coverage, ...result }: ReviewResult,
  { uncommitted }: Pick<OpenRange, "uncommitted">,
  { paths: { ignore, only = ["**"] } }: EffectiveConfig,
): ReviewResult {
  const [isIgnored, isSelected] = [createPathMatcher(ignore), createPathMatcher(only, true)];
  const edited = (uncommitted?.left ?? []).filter(
    ({ path, reason }) => reason === SUBMODULE_EDITED && isSelected(path).matched && !isIgnored(path).matched,
  );
  const files_skipped = [
    ...coverage.files_skipped,
    ...edited.map((one) => ({ ...one, account: "neutral" as const })),
  ];
  const files_total = coverage.files_total + edited.length;
  return { ...result, coverage: { ...coverage, files_total, files_skipped } };
}

type NoticedRange = Pick<OpenRange, "place" | "names" | "dirty" | "behind" | "parent" | "uncommitted">;

/** Notices about a range, one line each: what is not part of it, or why it is empty. */
export function rangeNotices(
  range: NoticedRange,
  repo: string,
  done: "reviewed" | "read" = "reviewed",
): string[] {
  const empty = done === "reviewed" && isCutOff(range) ? null : emptyNotice(range);
  const tried = `${usualBases.slice(0, -1).join(", ")} or ${usualBases.at(-1)}`;
  const scope = range.uncommitted?.lacksBase
    ? `there is no ${tried}, so only uncommitted changes are ${done}, and no commits: name a branch to compare with --base`
    : range.dirty
      ? `uncommitted changes in ${repo} are not ${done}, only commits: to include them, leave out --committed and --head, and unset CI`
      : null;
  return [scope, empty].filter((notice) => notice !== null);
}

/** Why a range holds no commit; null if it holds some. */
export function emptyNotice(range: NoticedRange): string | null {
  const { names, behind, uncommitted } = range;
  if (uncommitted?.isClean) return `nothing is ${uncommitted.onlyStaged ? "staged" : "uncommitted"}`;
  const [base, head] = [plainLine(names.base), plainLine(names.head)];
  if (isOneCommit(range)) return `${noCommits(range)}. ${wayOn(range)}`;
  if (behind === 0) return null;
  return (
    `${base} has ${count(behind, "commit")} that ${head} lacks, and ${head} has no commits of its own. ` +
    "Did you swap --base and --head?"
  );
}

const isOneCommit = ({ place: { shas } }: NoticedRange) => shas.base === shas.head;

const isCutOff = (range: NoticedRange) => isOneCommit(range) && range.parent === "cut_off";

const noCommits = ({ place, names }: NoticedRange) =>
  `${plainLine(names.base)}...${plainLine(names.head)} contains no commits: both ends are ${place.shas.head.slice(0, 12)}`;

/** Why a review would say nothing about the change: the clone may lack it, or `only` has no file of either side. Null if it may begin. */
export async function whyNotReviewable(
  range: NoticedRange & Pick<OpenRange, "workspace">,
  { paths: { only } }: EffectiveConfig,
): Promise<AppError | null> {
  if (isCutOff(range)) return new AppError("revision_unknown", noCommits(range), { remedy: SHALLOW_REMEDY });
  if (only === undefined) return null;
  const sides = [await range.workspace.tree("head"), await range.workspace.tree("merge_base")];
  const paths = sides.flatMap((tree) => [...tree.keys()]);
  const isIdle = (patterns: readonly string[]) =>
    !paths.map(createPathMatcher(patterns, true)).some(({ matched }) => matched);
  // A slip in one pattern leaves out what it means, whatever others match.
  const idle = only.filter((pattern) => !pattern.startsWith("!") && isIdle([pattern]));
  if (paths.length === 0 || (idle.length === 0 && !isIdle(only))) return null;
  const named = idle.length === 0 ? only : idle;
  const what = `--only ${named.join(" --only ")} matches no file, neither before nor after the change`;
  return new AppError("usage", what, { remedy: `The nearest path is '${nearestPath(named, paths)}'` });
}

/** Of more files, the first are enough for a hint. */
const MOST_COMPARED = 20_000;

/** The file or folder that patterns of `--only` most likely mean. */
function nearestPath(only: readonly string[], paths: readonly string[]): string {
  const wanted = only
    .filter((pattern) => !pattern.startsWith("!"))
    .map((pattern) => pattern.slice(0, 200).toLowerCase().replaceAll("\\", "/"))
    .map((pattern) => pattern.replace(/^\//, "").replace(/\/\*{0,2}$/, ""));
  const partsOf = (path: string) => path.split("/").map((_, at, names) => names.slice(0, at + 1).join("/"));
  const near = [...new Set(paths.slice(0, MOST_COMPARED).flatMap(partsOf))].map((path) => {
    // A pattern without a slash matches a name in any folder.
    const shown = (meant: string) => (meant.includes("/") ? path : basename(path)).toLowerCase();
    return { path, edits: Math.min(...wanted.map((meant) => distance(meant, shown(meant)))) };
  });
  return near.reduce((best, one) => (one.edits < best.edits ? one : best)).path;
}

/** Names the previous commit only if it exists. */
function wayOn(range: NoticedRange): string {
  if (isCutOff(range)) return SHALLOW_REMEDY;
  const head = plainLine(range.names.head);
  if (range.parent === "none") return `It is the first commit; to review it: --commit ${head}`;
  return `To review the last commit: ${head === "HEAD" ? "--base HEAD~1" : `--base ${head}~1 --head ${head}`}`;
}

/**
 * The configuration of a local range, from the base, because the author of the change controls the head. `path` is the repository's file at
 * the base; null if there is none and the defaults hold. Rejects with `config_invalid` if a file is refused: then it is unknown which files
 * are private.
 * @param given takes the place of the repository's file; those of folders are read all the same
 */
export async function loadLocalConfig(
  workspace: Workspace,
  given?: RepoConfig,
): Promise<{ config: EffectiveConfig; path: string | null }> {
  const { config, path } = given
    ? { config: given, path: null }
    : await loadRepoConfig((file) => textAtBase(workspace, file));
  // Whoever names the file knows which one is read.
  return { config: await withNested(config, workspace, given && isNestedName), path };
}

/** A file of the repository at the base; undefined if there is none. Rejects with `config_invalid` for a link. */
export async function textAtBase(workspace: Workspace, path: string): Promise<string | undefined> {
  const entry = (await workspace.tree("base")).get(path);
  if (!entry) return undefined;
  if (!entry.mode.startsWith("100")) return refuseIrregular(path);
  return configText(await workspace.readBlob(entry.oid));
}
