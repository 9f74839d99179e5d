import type { GitHubDouble } from "../github-double.ts";
import type {
  App,
  CheckAnnotation,
  CheckRun,
  CommitStatus,
  Issue,
  Repository,
  WorkflowRun,
} from "./model.ts";
import { nextNumber } from "./model.ts";

/** What people and other Apps add around a pull request. */

export function openIssue(
  { state }: GitHubDouble,
  repository: Repository,
  wanted: { title: string; body?: string | null; author?: string },
): Issue {
  const issue: Issue = {
    id: state.nextId(),
    number: nextNumber(repository),
    repository,
    title: wanted.title,
    body: wanted.body ?? null,
    author: state.account(wanted.author ?? "octocat"),
    state: "open",
    createdAt: state.now(),
  };
  repository.issues.set(issue.number, issue);
  return issue;
}

/** Another App, such as one that runs tests. */
export function otherApp({ state }: GitHubDouble, slug = "ci"): App {
  const known = [...state.apps.values()].find((app) => app.slug === slug);
  return known ?? state.addApp({ slug, owner: "ci-makers", publicKey: "", permissions: { checks: "write" } });
}

export interface EndedCheck {
  name: string;
  conclusion: string;
  app: App;
  title?: string;
  summary?: string;
  annotations?: Pick<CheckAnnotation, "path" | "startLine" | "endLine" | "message">[];
}

/** Adds a completed check of a commit. */
export function endCheck(
  { state }: GitHubDouble,
  repository: Repository,
  sha: string,
  ended: EndedCheck,
): void {
  const { title = null, summary = null, annotations = [] } = ended;
  const plain = { startColumn: null, endColumn: null, level: "failure", title: null, rawDetails: null };
  const run: CheckRun = {
    id: state.nextId(),
    repository,
    app: ended.app,
    name: ended.name,
    headSha: sha,
    externalId: "",
    detailsUrl: null,
    status: "completed",
    conclusion: ended.conclusion,
    startedAt: state.now(),
    completedAt: state.now(),
    output: { title, summary, text: null },
    annotations: annotations.map((one) => ({ ...plain, ...one })),
  };
  repository.checkRuns.push(run);
}

export function setStatus(
  { state }: GitHubDouble,
  repository: Repository,
  sha: string,
  status: Pick<CommitStatus, "context" | "state" | "description">,
): void {
  repository.statuses.push({ id: state.nextId(), sha, createdAt: state.now(), ...status });
}

/** A run of a workflow that has ended, or not. */
export function addRun(
  { state }: GitHubDouble,
  repository: Repository,
  wanted: { workflow: string; headSha: string; event?: string; status?: WorkflowRun["status"] },
): WorkflowRun {
  const { workflow, headSha, event = "pull_request", status = "completed" } = wanted;
  const run: WorkflowRun = {
    ...{ id: state.nextId(), workflow, headSha, event, status, artifacts: [], createdAt: state.now() },
    conclusion: status === "completed" ? "success" : null,
  };
  repository.workflowRuns.push(run);
  return run;
}

export function upload(
  { state }: GitHubDouble,
  run: WorkflowRun,
  {
    name,
    storedAt,
    size = 1_000,
    expired = false,
  }: { name: string; storedAt: string; size?: number; expired?: boolean },
): void {
  run.artifacts.push({ id: state.nextId(), name, storedAt, size, expired });
}
