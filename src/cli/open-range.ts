import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { ciTargetBranch, programPath } from "../config/env.ts";
import { openWorkspace } from "../git/object-workspace.ts";
import { type BaseChoice, openLocalRange, type ParentState } from "../git/range.ts";
import { requireGit } from "../git/run-git.ts";
import type { CheckoutPlace, Workspace } from "../git/workspace.ts";
import { plural } from "../reporters/outcome.ts";
import type { RangeNames } from "../reporters/terminal.ts";

/** A local range, checked out in a temporary folder that goes away with it. */
export interface OpenRange extends AsyncDisposable {
  place: CheckoutPlace;
  workspace: Workspace;
  names: RangeNames;
  /** Where the repository's own files lie, by all names that its owner may give them. */
  roots: readonly string[];
  /** The repository has changes that are not committed and therefore not part of the range. */
  dirty: boolean;
  /** How many commits of the base the head lacks, where the head has none of its own; else 0. */
  behind: number;
  /** Whether the commit before the head is there, if both ends are one commit. */
  parent: ParentState;
}

export interface RangeOptions {
  repo: string;
  /** Undefined: `usualBase`. */
  base: string | undefined;
  head: string;
  signal: AbortSignal;
}

/** Where a change is usually merged into, best guess first. */
const usualBases = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];

/**
 * What a change is compared with if nobody names a base. In CI that is the target branch of the pull request and nothing else: a
 * review against another branch would be one of other commits.
 */
export function usualBase(): BaseChoice {
  const target = ciTargetBranch();
  if (target === null) {
    const complaint = `no --base given, and there is none of ${usualBases.join(", ")}`;
    return { names: usualBases, complaint };
  }
  const name = `origin/${target.branch}`;
  const complaint = `no --base given, and there is no ${name}, which ${target.variable} names`;
  return { names: [name], complaint };
}

/**
 * Finds git, resolves both revisions and makes a checkout of the head. Rejects with `git_missing`, `git_too_old`,
 * `repository_unavailable` or `revision_unknown`.
 */
export async function openRange({ repo, base, head, signal }: RangeOptions): Promise<OpenRange> {
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const range = await openLocalRange({ repo, base: base ?? usualBase(), head, gitPath, signal });
  const workspace = openWorkspace(range.place);
  const dispose = async () => {
    await workspace[Symbol.asyncDispose]();
    await range.dispose();
  };
  try {
    const commits = await workspace.commits(MOST_COMMITS + 1);
    return {
      place: range.place,
      workspace,
      names: { ...range.names, commits: commitCount(commits.length) },
      roots: await rootsOf(range.workTree, repo),
      dirty: range.dirty,
      behind: range.behind,
      parent: range.parent,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** git names the top folder without links; the folder that was named may lead there by one. */
async function rootsOf(workTree: string | null, repo: string): Promise<string[]> {
  if (workTree === null) return [];
  const named = resolve(repo);
  const isTop = (await realpath(named).catch(() => null)) === workTree;
  return isTop ? [...new Set([workTree, named])] : [workTree];
}

/** More are not counted: reading them all would cost more than the number is worth. */
const MOST_COMMITS = 1_000;

function commitCount(found: number): string {
  return found > MOST_COMMITS ? `over ${plural(MOST_COMMITS, "commit")}` : plural(found, "commit");
}
