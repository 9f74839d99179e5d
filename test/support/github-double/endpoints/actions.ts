import { type Answer, type Endpoints, inRepository, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal, notFound } from "../errors.ts";
import { repositoryJson, repositoryPage, repositoryUrl } from "../json/repository.ts";
import { nodeId, timestamp, type WorkflowArtifact, type WorkflowRun } from "../model.ts";

function runJson({ state, repository }: RepositoryCall, run: WorkflowRun) {
  const url = `${repositoryUrl(state, repository)}/actions/runs/${run.id}`;
  const of = (name: string) => `${url}/${name}`;
  return {
    ...{ id: run.id, node_id: nodeId("WFR", run.id), name: run.workflow, workflow_id: 1 },
    ...{ head_branch: "topic", head_sha: run.headSha, head_commit: null, display_title: "Change it" },
    // GitHub documents a ref behind some of these.
    path: `.github/workflows/${run.workflow}@main`,
    ...{ run_number: 1, run_attempt: 1, event: run.event, pull_requests: [] },
    ...{ status: run.status, conclusion: run.conclusion },
    ...{ created_at: timestamp(run.createdAt), updated_at: timestamp(run.createdAt) },
    ...{ repository: repositoryJson(state, repository), head_repository: repositoryJson(state, repository) },
    ...{ url, html_url: `${repositoryPage(state, repository)}/actions/runs/${run.id}` },
    ...{ jobs_url: of("jobs"), logs_url: of("logs"), check_suite_url: of("suite"), cancel_url: of("cancel") },
    ...{ rerun_url: of("rerun"), artifacts_url: of("artifacts"), workflow_url: of("workflow") },
  };
}

/** Newest first. */
function runs(call: RepositoryCall): Answer {
  const { repository, path, query } = call;
  const ofWorkflow = repository.workflowRuns.filter(({ workflow }) => workflow === path.workflow_id);
  if (ofWorkflow.length === 0) throw notFound();
  const found = ofWorkflow.filter(
    ({ headSha, event }) =>
      (query.head_sha === undefined || headSha === query.head_sha) &&
      (query.event === undefined || event === query.event),
  );
  return {
    status: 200,
    list: found.toReversed().map((run) => runJson(call, run)),
    wrap: (page, total) => ({ total_count: total, workflow_runs: page }),
  };
}

function artifactJson({ state, repository }: RepositoryCall, run: WorkflowRun, artifact: WorkflowArtifact) {
  const url = `${repositoryUrl(state, repository)}/actions/artifacts/${artifact.id}`;
  const at = timestamp(run.createdAt);
  return {
    ...{ id: artifact.id, node_id: nodeId("A", artifact.id), name: artifact.name, url },
    ...{ size_in_bytes: artifact.size, archive_download_url: `${url}/zip`, expired: artifact.expired },
    ...{
      created_at: at,
      expires_at: at,
      updated_at: at,
      workflow_run: { id: run.id, head_sha: run.headSha },
    },
  };
}

function artifacts(call: RepositoryCall): Answer {
  const run = call.repository.workflowRuns.find(({ id }) => id === Number(call.path.run_id));
  if (!run) throw notFound();
  const found = run.artifacts.filter(({ name }) => call.query.name === undefined || name === call.query.name);
  return {
    status: 200,
    list: found.toReversed().map((one) => artifactJson(call, run, one)),
    wrap: (page, total) => ({ total_count: total, artifacts: page }),
  };
}

/** A redirect to a store elsewhere, whose address is signed. */
function download({ repository, path }: RepositoryCall): Answer {
  const all = repository.workflowRuns.flatMap((run) => run.artifacts);
  const found = all.find(({ id }) => id === Number(path.artifact_id));
  if (!found) throw notFound();
  if (found.expired) throw new GitHubRefusal(410, "Artifact has expired");
  return { status: 302, headers: { location: found.storedAt } };
}

export const actions: Endpoints = {
  "actions/list-workflow-runs": inRepository([["actions", "read"]], runs),
  "actions/list-workflow-run-artifacts": inRepository([["actions", "read"]], artifacts),
  "actions/download-artifact": inRepository([["actions", "read"]], download),
};
