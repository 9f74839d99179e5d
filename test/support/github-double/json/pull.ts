import { git, mergeBase } from "../bare-repository.ts";
import type { Pull, Repository } from "../model.ts";
import { headOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { accountJson, associationOf } from "./account.ts";
import { filled } from "./filled.ts";
import { repositoryJson, repositoryPage, repositoryUrl } from "./repository.ts";

export const pullUrl = (state: GitHubState, pull: Pull) =>
  `${repositoryUrl(state, pull.repository)}/pulls/${pull.number}`;
export const issueUrl = (state: GitHubState, pull: Pull) =>
  `${repositoryUrl(state, pull.repository)}/issues/${pull.number}`;
export const pullPage = (state: GitHubState, pull: Pull) =>
  `${repositoryPage(state, pull.repository)}/pull/${pull.number}`;

/** The merge base of a head with the current target branch, from which GitHub shows the changes. */
export async function mergeBaseOf({ repository, baseRef }: Pull, head: string): Promise<string> {
  return mergeBase(repository.gitDir, repository.git.sha(`refs/heads/${baseRef}`), head);
}

function branchJson(
  state: GitHubState,
  repository: Repository | null,
  owner: Repository,
  ref: string,
  sha: string,
) {
  const user = (repository ?? owner).owner;
  return {
    label: repository ? `${user.login}:${ref}` : `unknown repository`,
    ref,
    sha,
    user: accountJson(state, user),
    repo: repository ? repositoryJson(state, repository) : null,
  };
}

export function labelsJson(state: GitHubState, pull: Pull) {
  return pull.labels.map((name, index) => ({
    id: pull.id + index + 1,
    node_id: nodeId("LA", pull.id + index + 1),
    url: `${repositoryUrl(state, pull.repository)}/labels/${encodeURIComponent(name)}`,
    name,
    description: "",
    color: "ededed",
    default: false,
  }));
}

/** The fields of a pull request in lists. */
function pullFields(state: GitHubState, pull: Pull) {
  return {
    url: pullUrl(state, pull),
    id: pull.id,
    node_id: nodeId("PR", pull.id),
    html_url: pullPage(state, pull),
    number: pull.number,
    state: pull.state,
    locked: pull.locked,
    title: pull.title,
    user: accountJson(state, pull.author),
    body: pull.body,
    created_at: timestamp(pull.createdAt),
    updated_at: timestamp(pull.updatedAt),
    closed_at: pull.closedAt && timestamp(pull.closedAt),
    merged_at: pull.merged && pull.closedAt ? timestamp(pull.closedAt) : null,
    labels: labelsJson(state, pull),
    draft: pull.draft,
    ...{ assignees: [], requested_reviewers: [], requested_teams: [] },
    head: branchJson(state, pull.headRepository, pull.repository, pull.headRef, headOf(pull)),
    base: branchJson(state, pull.repository, pull.repository, pull.baseRef, pull.baseSha),
    author_association: associationOf(pull.repository, pull.author),
  };
}

/** A pull request in lists. */
export const pullJson = (state: GitHubState, pull: Pull) =>
  filled("pull-request-simple", pullFields(state, pull));

/** A pull request in its own endpoint and in webhook payloads. */
export async function fullPullJson(state: GitHubState, pull: Pull) {
  const { gitDir } = pull.repository;
  const base = await mergeBaseOf(pull, headOf(pull));
  const head = headOf(pull);
  const [numbers, commits] = await Promise.all([
    pull.hasEndlessDiff ? "" : git(gitDir, "diff", "--numstat", "-M", base, head),
    git(gitDir, "rev-list", "--count", `${base}..${head}`),
  ]);
  const rows = numbers.split("\n").filter(Boolean);
  const sum = (column: number) => rows.reduce((all, row) => all + (Number(row.split("\t")[column]) || 0), 0);
  return filled("pull-request", {
    ...pullFields(state, pull),
    merged: pull.merged,
    mergeable: pull.state === "open" ? true : null,
    rebaseable: pull.state === "open" ? true : null,
    mergeable_state: pull.draft ? "draft" : "clean",
    comments: pull.comments.length,
    review_comments: pull.reviewComments.length,
    maintainer_can_modify: pull.maintainersMayPush ?? false,
    commits: Number(commits),
    additions: sum(0),
    deletions: sum(1),
    changed_files: rows.length,
  });
}
