import { AppError, errorLine, publicLine } from "../errors.ts";
import { openWorkspace } from "../git/object-workspace.ts";
import type { RevisionPlace } from "../git/workspace.ts";
import type { PullRequest } from "../github/pull-request-api.ts";
import { readArtifact } from "../process/read-artifact.ts";
import type { ClaimedJob, RepositoryRef, ReviewTask } from "../queue/job.ts";
import { jobFields } from "../queue/run-job.ts";
import { fairShare, type ToolResult } from "../review/tool-results/tool-result.ts";
import type { JobDependencies } from "./job-dependencies.ts";
import type { ReviewConfig } from "./load-config.ts";

/*
 * Results of other tools that workflows of the repository upload as artifacts. Only the configuration of the base names workflows, so
 * without it GitHub is asked for nothing.
 */

interface Reviewed {
  job: ClaimedJob & { task: ReviewTask };
  pull: Pick<PullRequest, "headSha">;
  loaded: ReviewConfig;
}

type Dependencies = Pick<JobDependencies, "github" | "now" | "log">;

/** Most results of one review, on changed files; they are part of its record. */
const MOST_RESULTS = 5_000;
/** How long a workflow may take to begin. One whose filters leave out a change never begins. */
const beginsWithinMs = 60_000;
/** A job looks again after half of the time that it has waited, so that it waits at most half as long again as the workflow takes. */
const [soonestMs, latestMs] = [10_000, 120_000];

/**
 * Rejects with `results_pending` if a named workflow has not ended and the review waits for it. The queue then runs the job again: no worker
 * and no checkout waits. An event would come sooner, but a subscription to it has to be added to every existing App, and it can be lost.
 * A review that a person asked for does not wait.
 */
export async function awaitWorkflows(
  { job, pull, loaded }: Reviewed,
  { github, now }: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const { workflows, wait_minutes } = loaded.config.findings;
  const waited = Math.max(0, now() - job.startedAt);
  const left = wait_minutes * 60_000 - waited;
  const isEvent = job.task.requestedBy === null;
  if (workflows.length === 0 || loaded.refused !== null || !isEvent || left <= 0) return;
  const api = github.artifacts(job.task.repository, signal);
  if (api === null) return;
  for (const workflow of new Set(workflows.map((one) => one.workflow))) {
    // Told when the results are read.
    const run = await api.latestRun(workflow, pull.headSha).catch((error: unknown) => {
      rethrowEnd(error, signal);
      return null;
    });
    const isPending = run === undefined ? waited < beginsWithinMs : run?.isCompleted === false;
    if (!isPending) continue;
    const retryAfterMs = Math.min(left, latestMs, Math.max(soonestMs, waited / 2));
    throw new AppError("results_pending", `the review waits for the workflow ${workflow}`, {
      retryable: true,
      retryAfterMs: Math.ceil(retryAfterMs),
    });
  }
}

/** Results, and one line for people on each workflow without. */
interface WorkflowResults {
  results: ToolResult[];
  warnings: string[];
}

/** The results of the named workflows for the head. Rejects only if the job ends, or has to wait for GitHub. */
export async function workflowResults(
  place: RevisionPlace,
  { job, pull, loaded }: Reviewed,
  { github, log }: Dependencies,
  signal: AbortSignal,
): Promise<WorkflowResults> {
  const { workflows } = loaded.config.findings;
  const api =
    workflows.length > 0 && loaded.refused === null && github.artifacts(job.task.repository, signal);
  if (!api) return { results: [], warnings: [] };
  await using workspace = openWorkspace(place);
  const changed = (await workspace.changes()).map(({ path }) => path);
  const results: ToolResult[] = [];
  const warnings = new Set<string>();
  for (const [file, { workflow, artifact }] of workflows.entries()) {
    const name = `${workflow}: ${artifact}`;
    try {
      const run = await api.latestRun(workflow, pull.headSha);
      if (run === undefined) throw new AppError("usage", "it has not run for this commit");
      if (!run.isCompleted)
        throw new AppError("usage", "it has not ended yet. Comment /review full when it has");
      const bytes = await api.artifact(run.id, artifact);
      if (bytes === undefined)
        throw new AppError(
          "usage",
          `it ended (${run.conclusion ?? "unknown"}) without the artifact ${JSON.stringify(artifact)}`,
        );
      const task = { bytes, name, file, roots: rootsOf(job.task.repository), changed, most: MOST_RESULTS };
      results.push(...(await readArtifact(task, signal)));
    } catch (error) {
      rethrowEnd(error, signal);
      log.warn({ ...jobFields(job), err: error }, `No results of ${name}: ${errorLine(error)}`);
      warnings.add(`The review has no results of the workflow ${workflow}: ${publicLine(error)}.`);
    }
  }
  return { results: fairShare(results, MOST_RESULTS, (one) => one), warnings: [...warnings] };
}

/** GitHub's runners, then those in a container. A tool may write absolute paths. */
const rootsOf = ({ name }: RepositoryRef): string[] => [
  ...[`/home/runner/work/${name}/${name}`, `/Users/runner/work/${name}/${name}`, `/D:/a/${name}/${name}`],
  ...["/github/workspace", `/__w/${name}/${name}`],
];

/** The review goes on without results, unless its job ends. */
function rethrowEnd(error: unknown, signal: AbortSignal): void {
  const mustWait = error instanceof AppError && error.code === "github_rate_limited";
  if (signal.aborted || mustWait || !(error instanceof AppError)) throw error;
}
