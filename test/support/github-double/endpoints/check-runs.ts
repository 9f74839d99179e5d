import { findCommit } from "../bare-repository.ts";
import {
  type Answer,
  created,
  type Endpoints,
  inRepository,
  listed,
  ok,
  type RepositoryCall,
} from "../endpoint.ts";
import { GitHubRefusal, notFound, validationFailed } from "../errors.ts";
import { annotationJson, checkRunJson } from "../json/check-run.ts";
import type { CheckAnnotation, CheckRun } from "../model.ts";

interface NewAnnotation {
  path: string;
  start_line: number;
  end_line: number;
  start_column?: number;
  end_column?: number;
  annotation_level: string;
  title?: string;
  message: string;
  raw_details?: string;
}

interface CheckRunUpdate {
  name?: string;
  external_id?: string;
  details_url?: string;
  started_at?: string;
  completed_at?: string;
  status?: "queued" | "in_progress" | "completed";
  conclusion?: string;
  output?: {
    title?: string;
    summary: string;
    text?: string;
    annotations?: NewAnnotation[];
  };
}

/** Applies the fields of a request; others do not change. A conclusion completes the run. */
function apply(call: RepositoryCall, run: CheckRun, asked: CheckRunUpdate): void {
  // Validates the whole request before it applies any part.
  const added = (asked.output?.annotations ?? []).map(annotation);
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
  const { title, summary, text } = asked.output;
  run.output = { title: title ?? run.output.title, summary, text: text ?? null };
  // An update adds annotations; GitHub never removes them.
  run.annotations.push(...added);
}

const mostAnnotationBytes = 64 * 1024;

/** The limits that GitHub's description states only in prose: 64 KB, 255 characters, columns only on a single line. */
function annotation(asked: NewAnnotation): CheckAnnotation {
  const { path, message, title = null, raw_details: rawDetails = null } = asked;
  const { start_line: startLine, end_line: endLine, start_column, end_column } = asked;
  const refuse = (field: string, code = "invalid") =>
    validationFailed({ resource: "CheckAnnotation", code, field });
  if (path === "") throw refuse("path", "missing_field");
  if (message === "") throw refuse("message", "missing_field");
  if (startLine < 1) throw refuse("start_line");
  if (endLine < startLine) throw refuse("end_line");
  const hasColumns = start_column !== undefined || end_column !== undefined;
  if (hasColumns && startLine !== endLine) throw refuse("start_column");
  if ([...(title ?? "")].length > 255) throw refuse("title");
  if (Buffer.byteLength(message) > mostAnnotationBytes) throw refuse("message");
  if (Buffer.byteLength(rawDetails ?? "") > mostAnnotationBytes) throw refuse("raw_details");
  return {
    ...{ path, startLine, endLine, title, message, rawDetails, level: asked.annotation_level },
    ...{ startColumn: start_column ?? null, endColumn: end_column ?? null },
  };
}

async function create(call: RepositoryCall): Promise<Answer> {
  const asked = call.body as CheckRunUpdate & { name: string; head_sha: string };
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

function checkRunOf(call: RepositoryCall): CheckRun {
  const run = call.repository.checkRuns.find((one) => one.id === Number(call.path.check_run_id));
  if (!run) throw notFound();
  return run;
}

function update(call: RepositoryCall): Answer {
  const run = checkRunOf(call);
  if (run.app !== call.token.installation.app) {
    throw new GitHubRefusal(
      403,
      `Invalid app_id \`${call.token.installation.app.id}\` - check run can only be modified by the GitHub App that created it.`,
    );
  }
  apply(call, run, call.body as CheckRunUpdate);
  return ok(checkRunJson(call.state, run));
}

/** `filter=latest`, the default, shows the newest run of each name and App. */
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
  "checks/list-annotations": inRepository([["checks", "read"]], (call) =>
    listed(checkRunOf(call).annotations, annotationJson),
  ),
  "checks/list-for-ref": inRepository([["checks", "read"]], list),
};
