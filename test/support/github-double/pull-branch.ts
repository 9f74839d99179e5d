import type { Activity, Pull, Repository } from "./model.ts";
import { headOf, nextNumber } from "./model.ts";
import type { GitHubState } from "./state.ts";

export interface OpenedPull {
  title: string;
  body?: string | null;
  author: string;
  branch: string;
  draft?: boolean;
  labels?: string[];
  /** Default: the default branch. */
  base?: string;
}

/** Adds a pull request for an existing branch. */
export function addPull(
  state: GitHubState,
  repository: Repository,
  head: Repository,
  wanted: OpenedPull,
): Pull {
  const now = state.now();
  const pull: Pull = {
    id: state.nextId(),
    number: nextNumber(repository),
    repository,
    title: wanted.title,
    body: wanted.body ?? null,
    author: state.account(wanted.author),
    state: "open",
    merged: false,
    draft: wanted.draft ?? false,
    locked: false,
    labels: wanted.labels ?? [],
    baseRef: wanted.base ?? repository.defaultBranch,
    baseSha: "",
    headRef: wanted.branch,
    headRepository: head,
    heads: [],
    reviews: [],
    reviewComments: [],
    comments: [],
    createdAt: now,
    updatedAt: now,
    closedAt: null,
  };
  repository.pulls.set(pull.number, pull);
  syncHead(state, pull, { by: wanted.author, kind: "branch_creation" });
  return pull;
}

/** Who changed a branch, and how. */
export interface Pushed {
  by: string;
  kind: Activity["kind"];
}

/** Copies the head branch to `refs/pull/N/head` of the base repository. Returns the new head. */
export function syncHead(state: GitHubState, pull: Pull, { by, kind }: Pushed): string {
  const source = sourceOf(pull);
  const sha = source.git.sha(`refs/heads/${pull.headRef}`);
  const ref = `refs/pull/${pull.number}/head`;
  if (source === pull.repository) source.git.git("update-ref", ref, sha);
  else pull.repository.git.git("fetch", "--quiet", source.gitDir, `+refs/heads/${pull.headRef}:${ref}`);
  if (headOf(pull) !== sha) {
    const before = kind === "branch_creation" ? "0".repeat(40) : headOf(pull);
    const [id, actor, at] = [state.nextId(), state.account(by), state.now()];
    source.activities.push({ id, ref: `refs/heads/${pull.headRef}`, before, after: sha, kind, actor, at });
    pull.heads.push(sha);
  }
  pull.baseSha = pull.repository.git.sha(`refs/heads/${pull.baseRef}`);
  pull.updatedAt = state.now();
  return sha;
}

export function sourceOf(pull: Pull): Repository {
  if (pull.headRepository) return pull.headRepository;
  throw new Error(`The head repository of #${pull.number} is gone`);
}
