import { distance } from "fastest-levenshtein";
import type { SimpleGit } from "simple-git";
import { AppError } from "../errors.ts";
import { createGit, type LocalRepository } from "./local-repository.ts";
import { type Git, isObjectName, runGit } from "./run-git.ts";
import type { Shas } from "./workspace.ts";

export interface Revision {
  sha: string;
  /** The branch or tag that was meant, without `refs/heads/`; else what was asked for. */
  name: string;
}

/** Bases to choose from when none was named: the first that exists counts. */
export interface BaseChoice {
  names: readonly string[];
  /** What to say if none of them exists. */
  complaint: string;
}

/** What to do about history that was cut off. */
export const SHALLOW_REMEDY =
  "The clone is shallow: run git fetch --unshallow, or in CI check out with fetch-depth: 0 (GitLab: GIT_DEPTH: 0)";

/**
 * Resolves whatever git takes for a commit. Rejects with `revision_unknown`, saying why there is none: branches that are spelt
 * alike, a range, history that was cut off, no commits at all.
 */
export async function resolveRevision(
  git: Git,
  repository: LocalRepository,
  text: string,
): Promise<Revision> {
  const client = clientOf(git, repository);
  const found = await find(client, text);
  if (found !== null) return found;
  const [message, remedy] = await whyUnknown(client, repository, text);
  throw new AppError("revision_unknown", message, { remedy });
}

/** The same for several to choose from, with the one that was chosen; null if there is none of them. */
export async function resolveFirst(
  git: Git,
  repository: LocalRepository,
  texts: readonly string[],
): Promise<(Revision & { asked: string }) | null> {
  const client = clientOf(git, repository);
  for (const asked of texts) {
    const found = await find(client, asked);
    if (found !== null) return { ...found, asked };
  }
  return null;
}

/** Both ends of a range. Rejects as `resolveRevision` does; an unknown head is reported before a missing base. */
export async function resolveEnds(
  git: Git,
  repository: LocalRepository,
  ends: { base: string | BaseChoice; head: string },
): Promise<{ base: Revision & { asked: string }; head: Revision }> {
  const named = ends.base;
  const [base, head] = await Promise.all([
    typeof named === "string"
      ? resolveRevision(git, repository, named).then((found) => ({ ...found, asked: named }))
      : resolveFirst(git, repository, named.names),
    resolveRevision(git, repository, ends.head),
  ]);
  if (base !== null) return { base, head };
  throw new AppError("revision_unknown", (named as BaseChoice).complaint, {
    remedy: repository.shallow
      ? SHALLOW_REMEDY
      : "Fetch it, or name what the change is to be merged into with --base",
  });
}

function clientOf(git: Git, { gitDir }: LocalRepository): SimpleGit {
  return createGit({ git, baseDir: gitDir, gitDir, config: [["safe.directory", "*"]] });
}

async function find(client: SimpleGit, text: string): Promise<Revision | null> {
  const verify = (one: string) => client.raw(["rev-parse", "--verify", "--quiet", one]).catch(() => "");
  // No ref begins with a dash, and what does is an option to git.
  const usable = text !== "" && !text.startsWith("-") && !text.includes("\0");
  const object = usable ? await verify(text) : "";
  // Only now comes the way from a tag to its commit: behind `:/words` it would be taken for more words.
  const sha = isObjectName(object) ? await verify(`${object}^{commit}`) : "";
  if (!isObjectName(sha)) return null;
  const full = await client.raw(["rev-parse", "--symbolic-full-name", text]).catch(() => "");
  return { sha, name: full.replace(/^refs\/(?:heads|tags|remotes)\//, "") || text };
}

/** What to say of a revision that is not there, and what to do about it. */
async function whyUnknown(
  client: SimpleGit,
  { shallow }: LocalRepository,
  text: string,
): Promise<[message: string, remedy: string]> {
  const refs = await client
    .raw(["for-each-ref", "--format=%(refname:short)", "--count=5000"])
    .catch(() => "");
  if (refs === "" && (await find(client, "HEAD")) === null) {
    return ["This repository has no commits yet", "Commit something first"];
  }
  if (text === "HEAD") {
    return ["The checked-out branch has no commits yet", "Commit something first, or name a --head"];
  }
  const message = `There is no commit '${text}' in this repository`;
  const near = nearest(text, refs.split("\n").filter(Boolean));
  const descendant = /^([^~^]+)[~^]/.exec(text)?.[1];
  const isBeyond = descendant !== undefined && (await find(client, descendant)) !== null;
  // A name that is right resembles itself.
  const isMisspelt = !isBeyond && near.length > 0;
  const remedy =
    rangeRemedy(text) ??
    (isMisspelt ? `Did you mean ${near.map((name) => `'${name}'`).join(" or ")}?` : null) ??
    (shallow ? SHALLOW_REMEDY : null) ??
    (isBeyond ? `The history of '${descendant}' does not go back that far` : "Fetch it first");
  return [message, remedy];
}

/** For `main..feature`, which git commands take: here its ends are two options. */
function rangeRemedy(text: string): string | null {
  const [, base, head] = /^(.*?)\.{2,3}(.*)$/.exec(text) ?? [];
  const options = [base && `--base ${base}`, head && `--head ${head}`].filter(Boolean);
  return options.length === 0 ? null : `Name the two ends of a range separately: ${options.join(" ")}`;
}

/** The names that need the fewest changes, at most two and only when they are really alike. */
function nearest(text: string, names: readonly string[]): string[] {
  const limit = Math.max(2, Math.floor(text.length / 3));
  return names
    .filter((name) => Math.abs(name.length - text.length) <= limit || name.endsWith(`/${text}`))
    .map((name) => ({ name, edits: name.endsWith(`/${text}`) ? 1 : distance(text, name) }))
    .filter(({ edits }) => edits <= limit)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 2)
    .map(({ name }) => name);
}

export interface MergeBaseOptions {
  git: Git;
  gitDir: string;
  base: string;
  head: string;
  /** Whether the history was cut, which is the usual reason for there being no common commit. */
  shallow?: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * The commit that a pull request is compared with, and how many others would do as well. Branches that were merged into each other
 * crosswise have several, of which git picks one; an author can have it pick the one since which nothing changed. Rejects with
 * `revision_unknown` if the histories share no commit.
 */
export async function findMergeBase(
  options: MergeBaseOptions,
): Promise<Pick<Shas, "mergeBase" | "mergeBases">> {
  const { git, gitDir, base, head, signal } = options;
  const { stdout, exitCode } = await runGit({
    git,
    gitDir,
    what: "merge-base",
    args: ["merge-base", "--all", "--end-of-options", base, head],
    expectedExits: [0, 1],
    signal,
  });
  const [mergeBase = "", ...others] = stdout.toString("latin1").trim().split("\n");
  if (exitCode === 0 && isObjectName(mergeBase))
    return { mergeBase, ...(others.length > 0 ? { mergeBases: 1 + others.length } : {}) };
  const remedy = options.shallow ? SHALLOW_REMEDY : "Name a base that the head was branched off from";
  throw new AppError(
    "revision_unknown",
    `${base.slice(0, 12)} and ${head.slice(0, 12)} have no common ancestor`,
    { remedy },
  );
}
