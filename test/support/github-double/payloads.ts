import { currentPlace } from "./current-line.ts";
import { accountJson, appJson, installationJson } from "./json/account.ts";
import { checkRunJson, pullsAt } from "./json/check-run.ts";
import { issueCommentJson, reviewCommentJson } from "./json/comment.ts";
import { issueJson } from "./json/issue.ts";
import { fullPullJson, labelsJson, pullJson } from "./json/pull.ts";
import { repositoryJson, repositoryUrl } from "./json/repository.ts";
import type {
  Account,
  App,
  CheckRun,
  Installation,
  IssueComment,
  Pull,
  Repository,
  ReviewComment,
} from "./model.ts";
import { fullName, nodeId, timestamp } from "./model.ts";
import type { GitHubState } from "./state.ts";

export type PullAction =
  | "opened"
  | "reopened"
  | "ready_for_review"
  | "synchronize"
  | "closed"
  | "edited"
  | "converted_to_draft"
  | "labeled"
  | "unlabeled";

/** Details of an event beyond the state of the pull request. */
export interface EventDetails {
  /** For `edited`: the previous values. */
  changes?: {
    title?: { from: string };
    body?: { from: string };
    base?: { ref: { from: string }; sha: { from: string } };
  };
  /** For `unlabeled`: the removed label. */
  label?: string;
}

export type Payload = Record<string, unknown> & { action: string };

/** The common end of every payload; the installation is the first one on the repository. */
function around(state: GitHubState, repository: Repository, sender: Account) {
  const { owner } = repository;
  const installation = [...state.installations.values()].find((one) => one.repositories.includes(repository));
  const organization = { login: owner.login, id: owner.id, node_id: nodeId("O", owner.id) };
  return {
    repository: repositoryJson(state, repository),
    ...(owner.type === "Organization" ? { organization } : {}),
    sender: accountJson(state, sender),
    ...(installation
      ? { installation: { id: installation.id, node_id: nodeId("MDIzOkludGVncmF0aW9u", installation.id) } }
      : {}),
  };
}

/** The payload of a `pull_request` event about the current pull request. */
export async function pullRequestPayload(
  state: GitHubState,
  action: PullAction,
  pull: Pull,
  sender: Account = pull.author,
  { changes = {}, label }: EventDetails = {},
): Promise<Payload> {
  const heads = { before: pull.heads.at(-2) ?? pull.heads[0], after: pull.heads.at(-1) };
  return {
    action,
    number: pull.number,
    pull_request: await fullPullJson(state, pull),
    ...(action === "synchronize" ? heads : {}),
    ...(action === "labeled" ? { label: labelsJson(state, pull).at(-1) } : {}),
    ...(action === "unlabeled" && label ? { label: labelsJson(state, { ...pull, labels: [label] })[0] } : {}),
    ...(action === "edited" ? { changes } : {}),
    ...around(state, pull.repository, sender),
  };
}

function commitJson(state: GitHubState, { git }: Repository, id: string) {
  const shown = git
    .git("show", "--no-patch", "--format=%T%x00%an%x00%ae%x00%cn%x00%ce%x00%B", id)
    .split("\0");
  const [tree_id = "", name = "", email = "", committer = "", committerEmail = "", message = ""] = shown;
  return {
    ...{ id, tree_id, message: message.trimEnd(), timestamp: timestamp(state.now()) },
    author: { name, email },
    committer: { name: committer, email: committerEmail },
  };
}

/** The payload of a `merge_group` event: a merge queue waits for the checks of this commit. */
export function mergeGroupPayload(state: GitHubState, pull: Pull, headSha: string): Payload {
  const { repository, baseRef, number } = pull;
  const baseSha = repository.git.sha(`refs/heads/${baseRef}`);
  return {
    action: "checks_requested",
    merge_group: {
      head_sha: headSha,
      head_ref: `refs/heads/gh-readonly-queue/${baseRef}/pr-${number}-${baseSha}`,
      base_sha: baseSha,
      base_ref: `refs/heads/${baseRef}`,
      head_commit: commitJson(state, repository, headSha),
    },
    ...around(state, repository, pull.author),
  };
}

export function issueCommentPayload(
  state: GitHubState,
  comment: IssueComment,
  action: "created" | "edited" | "deleted" = "created",
  sender: Account = comment.author,
): Payload {
  return {
    action,
    ...(action === "edited" ? { changes: { body: { from: "" } } } : {}),
    issue: issueJson(state, comment.pull),
    comment: issueCommentJson(state, comment),
    ...around(state, comment.pull.repository, sender),
  };
}

export async function reviewCommentPayload(
  state: GitHubState,
  comment: ReviewComment,
  action: "created" | "edited" | "deleted" = "created",
  sender: Account = comment.author,
): Promise<Payload> {
  return {
    action,
    ...(action === "edited" ? { changes: { body: { from: "" } } } : {}),
    comment: reviewCommentJson(state, comment, await currentPlace(comment)),
    pull_request: pullJson(state, comment.pull),
    ...around(state, comment.pull.repository, sender),
  };
}

/** All checks of an App on a commit, in payloads; omits the branch of a fork. */
function suiteJson(state: GitHubState, repository: Repository, headSha: string, app: App) {
  const pulls = pullsAt(state, repository, headSha);
  const url = `${repositoryUrl(state, repository)}/check-suites/${app.id}`;
  return {
    id: app.id,
    node_id: nodeId("CS", app.id),
    head_branch: pulls[0]?.head.ref ?? null,
    head_sha: headSha,
    status: "completed",
    conclusion: "neutral",
    url,
    before: headSha,
    after: headSha,
    pull_requests: pulls,
    app: appJson(state, app),
    created_at: timestamp(state.now()),
    updated_at: timestamp(state.now()),
  };
}

/** The payload of a `check_run` event; `rerequested` means that someone pressed "Re-run". The run itself does not change. */
export function checkRunPayload(
  state: GitHubState,
  run: CheckRun,
  action: "rerequested",
  sender: Account,
): Payload {
  const suite = suiteJson(state, run.repository, run.headSha, run.app);
  const check_run = { ...checkRunJson(state, run), check_suite: suite };
  return { action, check_run, ...around(state, run.repository, sender) };
}

/** The payload of a `check_suite` event; `rerequested` means that someone pressed "Re-run all checks". */
export function checkSuitePayload(
  state: GitHubState,
  of: { repository: Repository; headSha: string; app: App },
  action: "rerequested",
  sender: Account,
): Payload {
  const { repository, headSha, app } = of;
  const runs = repository.checkRuns.filter((run) => run.headSha === headSha && run.app === app);
  const suite = suiteJson(state, repository, headSha, app);
  const head_commit = commitJson(state, repository, headSha);
  const counted = { latest_check_runs_count: runs.length, check_runs_url: `${suite.url}/check-runs` };
  return { action, check_suite: { ...suite, ...counted, head_commit }, ...around(state, repository, sender) };
}

/** A repository in events about installations. */
const named = (repository: Repository) => ({
  id: repository.id,
  node_id: nodeId("R", repository.id),
  name: repository.name,
  full_name: fullName(repository),
  private: repository.private,
});

/** The payload of an `installation` event. */
export function installationPayload(
  state: GitHubState,
  installation: Installation,
  action: "created" | "deleted" | "suspend" | "unsuspend",
  sender: Account = installation.account,
): Payload {
  const repositories = installation.repositories.map(named);
  return {
    action,
    installation: installationJson(state, installation),
    repositories,
    sender: accountJson(state, sender),
  };
}
