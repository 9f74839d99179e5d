import { findCommit } from "../bare-repository.ts";
import { type Answer, created, type Endpoints, inRepository, ok, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal, notFound, validationFailed } from "../errors.ts";
import { checkRunJson } from "../json/check-run.ts";
import type { CheckRun } from "../model.ts";
import type { CheckRunUpdate, NewCheckRun } from "../requests.ts";

/** Takes over what a request says; what it does not mention stays. A conclusion completes the run by itself. */
function apply(call: RepositoryCall, run: CheckRun, asked: CheckRunUpdate): void {
  if (asked.status === "completed" && !asked.conclusion) {
    throw validationFailed({ resource: "CheckRun", code: "missing_field", field: "conclusion" });
  }
  if (asked.name) run.name = asked.name;
  if (asked.external_id !== undefined) run.externalId = asked.external_id;
  if (asked.details_url !== undefined) run.detailsUrl = asked.details_url;
  if (asked.started_at) run.startedAt = new Date(asked.started_at);
  if (asked.status) run.status = asked.status;
  if (asked.conclusion) Object.assign(run, { status: "completed", conclusion: asked.conclusion });
  if (run.status === "completed") {
    run.completedAt = asked.completed_at
      ? new Date(asked.completed_at)
      : (run.completedAt ?? call.state.now());
  } else Object.assign(run, { conclusion: null, completedAt: null });
  if (!asked.output) return;
  const { title, summary, text, annotations = [] } = asked.output;
  run.output = { title: title ?? run.output.title, summary, text: text ?? null };
  for (const one of annotations) {
    const { path, message } = one;
    const [startLine, endLine, level] = [one.start_line, one.end_line, one.annotation_level];
    run.annotations.push({ path, startLine, endLine, level, message });
  }
}

async function create(call: RepositoryCall): Promise<Answer> {
  const asked = call.body as NewCheckRun;
  const headSha = /^[0-9a-f]{40}$/.test(asked.head_sha)
    ? await findCommit(call.repository.gitDir, asked.head_sha)
    : undefined;
  if (!headSha) throw new GitHubRefusal(422, `No commit found for SHA: ${asked.head_sha}`);
  const run: CheckRun = {
    id: call.state.nextId(),
    repository: call.repository,
    app: call.token.installation.app,
    name: asked.name,
    headSha,
    externalId: "",
    detailsUrl: null,
    status: "queued",
    conclusion: null,
    startedAt: call.state.now(),
    completedAt: null,
    output: { title: null, summary: null, text: null },
    annotations: [],
  };
  apply(call, run, asked);
  call.repository.checkRuns.push(run);
  return created(checkRunJson(call.state, run));
}

function update(call: RepositoryCall): Answer {
  const run = call.repository.checkRuns.find((one) => one.id === Number(call.path.check_run_id));
  if (!run) throw notFound();
  if (run.app !== call.token.installation.app) {
    throw new GitHubRefusal(
      403,
      `Invalid app_id \`${call.token.installation.app.id}\` - check run can only be modified by the GitHub App that created it.`,
    );
  }
  apply(call, run, call.body as CheckRunUpdate);
  return ok(checkRunJson(call.state, run));
}

/** `filter=latest`, the default, shows the newest run of a name and App. */
async function list(call: RepositoryCall): Promise<Answer> {
  const { query, repository, path } = call;
  const sha = await findCommit(repository.gitDir, path.ref ?? "");
  if (!sha) throw new GitHubRefusal(422, `No commit found for SHA: ${path.ref}`);
  const newestFirst = repository.checkRuns.filter((run) => run.headSha === sha).toReversed();
  const seen = new Set<string>();
  const runs = newestFirst.filter((run) => {
    const key = `${run.app.id} ${run.name}`;
    if (query.filter !== "all" && seen.has(key)) return false;
    seen.add(key);
    return (
      (query.check_name === undefined || run.name === query.check_name) &&
      (query.status === undefined || run.status === query.status) &&
      (query.app_id === undefined || run.app.id === query.app_id)
    );
  });
  return {
    status: 200,
    list: runs.map((run) => checkRunJson(call.state, run)),
    wrap: (page, total) => ({ total_count: total, check_runs: page }),
  };
}

export const checkRuns: Endpoints = {
  "checks/create": inRepository([["checks", "write"]], create),
  "checks/update": inRepository([["checks", "write"]], update),
  "checks/list-for-ref": inRepository([["checks", "read"]], list),
};
