import type { Issue, Pull } from "../model.ts";
import { nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { accountJson, associationOf } from "./account.ts";
import { filled } from "./filled.ts";
import { labelsJson, pullPage, pullUrl } from "./pull.ts";
import { repositoryPage, repositoryUrl } from "./repository.ts";

/** An issue, or a pull request in its form as an issue. */
export function issueJson(state: GitHubState, issue: Issue | Pull) {
  const { repository, author, number } = issue;
  const isPull = "headRef" in issue;
  return filled("issue", {
    id: issue.id,
    node_id: nodeId("I", issue.id),
    url: `${repositoryUrl(state, repository)}/issues/${number}`,
    html_url: isPull ? pullPage(state, issue) : `${repositoryPage(state, repository)}/issues/${number}`,
    number,
    state: issue.state,
    title: issue.title,
    body: issue.body,
    user: accountJson(state, author),
    assignees: [],
    labels: isPull ? labelsJson(state, issue) : [],
    locked: isPull && issue.locked,
    comments: isPull ? issue.comments.length : 0,
    created_at: timestamp(issue.createdAt),
    updated_at: timestamp(isPull ? issue.updatedAt : issue.createdAt),
    author_association: associationOf(repository, author),
    ...(isPull && { draft: issue.draft, pull_request: links(state, issue) }),
  });
}

function links(state: GitHubState, pull: Pull) {
  const html = pullPage(state, pull);
  const merged_at = pull.merged && pull.closedAt ? timestamp(pull.closedAt) : null;
  const [diff_url, patch_url] = [`${html}.diff`, `${html}.patch`];
  return { url: pullUrl(state, pull), html_url: html, diff_url, patch_url, merged_at };
}
