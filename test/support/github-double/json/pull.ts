import { git, mergeBase } from "../bare-repository.ts";
import type { Pull, Repository } from "../model.ts";
import { headOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { accountJson } from "./account.ts";
import { associationOf } from "./association.ts";
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

function linksOf(state: GitHubState, pull: Pull) {
  const [url, issue] = [pullUrl(state, pull), issueUrl(state, pull)];
  return {
    self: url,
    html: pullPage(state, pull),
    issue,
    comments: `${issue}/comments`,
    review_comments: `${url}/comments`,
    review_comment: `${repositoryUrl(state, pull.repository)}/pulls/comments{/number}`,
    commits: `${url}/commits`,
    statuses: `${repositoryUrl(state, pull.repository)}/statuses/${headOf(pull)}`,
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

/** A pull request in lists. */
export function pullJson(state: GitHubState, pull: Pull) {
  const links = linksOf(state, pull);
  return {
    url: links.self,
    id: pull.id,
    node_id: nodeId("PR", pull.id),
    html_url: links.html,
    diff_url: `${links.html}.diff`,
    patch_url: `${links.html}.patch`,
    issue_url: links.issue,
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
    merge_commit_sha: null,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    labels: labelsJson(state, pull),
    milestone: null,
    draft: pull.draft,
    commits_url: links.commits,
    review_comments_url: links.review_comments,
    review_comment_url: links.review_comment,
    comments_url: links.comments,
    statuses_url: links.statuses,
    head: branchJson(state, pull.headRepository, pull.repository, pull.headRef, headOf(pull)),
    base: branchJson(state, pull.repository, pull.repository, pull.baseRef, pull.baseSha),
    _links: Object.fromEntries(Object.entries(links).map(([name, href]) => [name, { href }])),
    author_association: associationOf(pull.repository, pull.author),
    auto_merge: null,
    active_lock_reason: null,
  };
}

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
  return {
    ...pullJson(state, pull),
    merged: pull.merged,
    mergeable: pull.state === "open" ? true : null,
    rebaseable: pull.state === "open" ? true : null,
    mergeable_state: pull.draft ? "draft" : "clean",
    merged_by: null,
    comments: pull.comments.length,
    review_comments: pull.reviewComments.length,
    maintainer_can_modify: pull.maintainersMayPush ?? false,
    commits: Number(commits),
    additions: sum(0),
    deletions: sum(1),
    changed_files: rows.length,
  };
}
