import type { Issue, Pull } from "../model.ts";
import { nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { accountJson } from "./account.ts";
import { associationOf } from "./association.ts";
import { labelsJson, pullPage, pullUrl } from "./pull.ts";
import { repositoryPage, repositoryUrl } from "./repository.ts";

/** An issue, or a pull request in its form as an issue. */
export function issueJson(state: GitHubState, issue: Issue | Pull) {
  const { repository, author, number } = issue;
  const url = `${repositoryUrl(state, repository)}/issues/${number}`;
  const isPull = "headRef" in issue;
  return {
    id: issue.id,
    node_id: nodeId("I", issue.id),
    url,
    repository_url: repositoryUrl(state, repository),
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    html_url: isPull ? pullPage(state, issue) : `${repositoryPage(state, repository)}/issues/${number}`,
    number,
    state: issue.state,
    state_reason: null,
    title: issue.title,
    body: issue.body,
    user: accountJson(state, author),
    labels: isPull ? labelsJson(state, issue) : [],
    assignee: null,
    assignees: [],
    milestone: null,
    locked: isPull && issue.locked,
    active_lock_reason: null,
    comments: isPull ? issue.comments.length : 0,
    closed_at: null,
    created_at: timestamp(issue.createdAt),
    updated_at: timestamp(isPull ? issue.updatedAt : issue.createdAt),
    author_association: associationOf(repository, author),
    ...(isPull ? { draft: issue.draft, pull_request: links(state, issue) } : {}),
  };
}

function links(state: GitHubState, pull: Pull) {
  const html = pullPage(state, pull);
  return {
    url: pullUrl(state, pull),
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    merged_at: null,
  };
}
