import type { Repository } from "../model.ts";
import { fullName, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { accountJson } from "./account.ts";

/** Address fields below a repository. */
const addresses: Record<string, string> = {
  archive_url: "/{archive_format}{/ref}",
  assignees_url: "/assignees{/user}",
  blobs_url: "/git/blobs{/sha}",
  branches_url: "/branches{/branch}",
  collaborators_url: "/collaborators{/collaborator}",
  comments_url: "/comments{/number}",
  commits_url: "/commits{/sha}",
  compare_url: "/compare/{base}...{head}",
  contents_url: "/contents/{+path}",
  contributors_url: "/contributors",
  deployments_url: "/deployments",
  downloads_url: "/downloads",
  events_url: "/events",
  forks_url: "/forks",
  git_commits_url: "/git/commits{/sha}",
  git_refs_url: "/git/refs{/sha}",
  git_tags_url: "/git/tags{/sha}",
  hooks_url: "/hooks",
  issue_comment_url: "/issues/comments{/number}",
  issue_events_url: "/issues/events{/number}",
  issues_url: "/issues{/number}",
  keys_url: "/keys{/key_id}",
  labels_url: "/labels{/name}",
  languages_url: "/languages",
  merges_url: "/merges",
  milestones_url: "/milestones{/number}",
  notifications_url: "/notifications{?since,all,participating}",
  pulls_url: "/pulls{/number}",
  releases_url: "/releases{/id}",
  stargazers_url: "/stargazers",
  statuses_url: "/statuses/{sha}",
  subscribers_url: "/subscribers",
  subscription_url: "/subscription",
  tags_url: "/tags",
  teams_url: "/teams",
  trees_url: "/git/trees{/sha}",
};

export const repositoryUrl = (state: GitHubState, repository: Repository) =>
  `${state.apiUrl}/repos/${fullName(repository)}`;
export const repositoryPage = (state: GitHubState, repository: Repository) =>
  `${state.origin}/${fullName(repository)}`;

/** Fields with the same value for every repository here. */
const constants = {
  homepage: null,
  size: 1,
  stargazers_count: 0,
  watchers_count: 0,
  language: null,
  has_issues: true,
  has_projects: true,
  has_downloads: true,
  has_wiki: true,
  has_pages: false,
  has_discussions: false,
  mirror_url: null,
  license: null,
  allow_forking: true,
  is_template: false,
  web_commit_signoff_required: false,
  topics: [],
  watchers: 0,
};

/** A repository inside other answers and in webhook payloads. */
export function repositoryJson(state: GitHubState, repository: Repository) {
  const url = repositoryUrl(state, repository);
  const page = repositoryPage(state, repository);
  const host = new URL(state.origin).host;
  const open = [...repository.pulls.values()].filter((pull) => pull.state === "open").length;
  const forks = [...state.repositories.values()].filter((one) => one.parent === repository).length;
  return {
    id: repository.id,
    node_id: nodeId("R", repository.id),
    name: repository.name,
    full_name: fullName(repository),
    private: repository.private,
    owner: accountJson(state, repository.owner),
    html_url: page,
    description: null,
    fork: repository.parent !== null,
    url,
    ...Object.fromEntries(Object.entries(addresses).map(([field, path]) => [field, url + path])),
    ...constants,
    archived: repository.archived,
    disabled: repository.disabled,
    created_at: timestamp(repository.createdAt),
    updated_at: timestamp(repository.createdAt),
    pushed_at: timestamp(repository.createdAt),
    git_url: `git://${host}/${fullName(repository)}.git`,
    ssh_url: `git@${host}:${fullName(repository)}.git`,
    clone_url: `${page}.git`,
    svn_url: page,
    forks_count: forks,
    open_issues_count: open,
    visibility: repository.private ? "private" : "public",
    forks,
    open_issues: open,
    default_branch: repository.defaultBranch,
  };
}

/** A repository in its own endpoint. */
export function fullRepositoryJson(state: GitHubState, repository: Repository): Record<string, unknown> {
  const parent = repository.parent && repositoryJson(state, repository.parent);
  return {
    ...repositoryJson(state, repository),
    ...(parent ? { parent, source: parent } : {}),
    network_count: 0,
    subscribers_count: 1,
  };
}
