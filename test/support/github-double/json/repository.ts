import type { Repository } from "../model.ts";
import { fullName, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { accountJson } from "./account.ts";
import { filled } from "./filled.ts";

export const repositoryUrl = (state: GitHubState, repository: Repository) =>
  `${state.apiUrl}/repos/${fullName(repository)}`;
export const repositoryPage = (state: GitHubState, repository: Repository) =>
  `${state.origin}/${fullName(repository)}`;

export function repositoryJson(state: GitHubState, repository: Repository) {
  const page = repositoryPage(state, repository);
  const at = timestamp(repository.createdAt);
  return filled("repository", {
    id: repository.id,
    node_id: nodeId("R", repository.id),
    name: repository.name,
    full_name: fullName(repository),
    private: repository.private,
    visibility: repository.private ? "private" : "public",
    owner: accountJson(state, repository.owner),
    url: repositoryUrl(state, repository),
    html_url: page,
    clone_url: `${page}.git`,
    fork: repository.parent !== null,
    default_branch: repository.defaultBranch,
    archived: repository.archived,
    disabled: repository.disabled,
    size: 1,
    open_issues_count: [...repository.pulls.values()].filter(({ state }) => state === "open").length,
    ...{ created_at: at, updated_at: at, pushed_at: at },
  });
}
