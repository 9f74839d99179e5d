import { type Answer, type Endpoints, inRepository, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal, notFound } from "../errors.ts";
import { filled } from "../json/filled.ts";
import { repositoryJson, repositoryPage } from "../json/repository.ts";
import type { WorkflowArtifact, WorkflowRun } from "../model.ts";

function runJson({ state, repository }: RepositoryCall, run: WorkflowRun) {
  return filled("workflow-run", {
    id: run.id,
    head_sha: run.headSha,
    // GitHub documents a ref behind some of these.
    path: `.github/workflows/${run.workflow}@main`,
    event: run.event,
    status: run.status,
    conclusion: run.conclusion,
    repository: repositoryJson(state, repository),
    head_repository: repositoryJson(state, repository),
    html_url: `${repositoryPage(state, repository)}/actions/runs/${run.id}`,
  });
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

function artifactJson(run: WorkflowRun, artifact: WorkflowArtifact) {
  return filled("artifact", {
    ...{ id: artifact.id, name: artifact.name, size_in_bytes: artifact.size, expired: artifact.expired },
    workflow_run: { id: run.id, head_sha: run.headSha },
  });
}

function artifacts(call: RepositoryCall): Answer {
  const run = call.repository.workflowRuns.find(({ id }) => id === Number(call.path.run_id));
  if (!run) throw notFound();
  const found = run.artifacts.filter(({ name }) => call.query.name === undefined || name === call.query.name);
  return {
    status: 200,
    list: found.toReversed().map((one) => artifactJson(run, one)),
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
