import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { programPath } from "../config/env.ts";
import { AppError } from "../errors.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import { requireGit } from "../git/git-version.ts";
import { openWorkspace } from "../git/git-workspace.ts";
import { type LocalRange, openLocalRange } from "../git/local-range.ts";
import type { Workspace } from "../git/workspace.ts";
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
}

export interface RangeOptions {
  repo: string;
  /** Undefined: what a change in this repository is usually merged into. */
  base: string | undefined;
  head: string;
  signal: AbortSignal;
}

/** Where a change is usually merged into, best guess first. */
export const usualBases = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];

/**
 * Finds git, resolves both revisions and makes a checkout of the head. Rejects with `git_missing`, `git_too_old`,
 * `repository_unavailable` or `revision_unknown`.
 */
export async function openRange({ repo, base, head, signal }: RangeOptions): Promise<OpenRange> {
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const open = (against: string) => openLocalRange({ repo, base: against, head, gitPath, signal });
  const range = base === undefined ? await openUsual(open, head) : await open(base);
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

async function openUsual(open: (base: string) => Promise<LocalRange>, head: string): Promise<LocalRange> {
  for (const base of usualBases) {
    try {
      return await open(base);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "revision_unknown") throw error;
    }
  }
  // If the head is what is unknown, this says so.
  const range = await open(head);
  await range.dispose();
  throw noUsualBase();
}

/** What is wrong where no base is named and none can be guessed. */
export function noUsualBase(): AppError {
  return new AppError("usage", `no --base given, and there is none of ${usualBases.join(", ")}`, {
    remedy: "Name what the change is to be merged into with --base.",
  });
}
