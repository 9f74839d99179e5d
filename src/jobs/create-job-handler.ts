import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";
import type { ClaimedJob, Outcome, Task } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import { concludeAtOnce } from "../reporters/check-run.ts";
import { failedConclusion, passedConclusion } from "../reporters/conclusions.ts";
import { closeEarlierChecks, isRefusal, type Met, triggerOf } from "./attempts.ts";
import type { JobDependencies } from "./job-dependencies.ts";
import { reviewPull } from "./review-pull.ts";

/** What a worker needs of us: the handler, and what tells people when a job failed for good. */
export interface JobHandler {
  handle(job: ClaimedJob, tools: JobTools): Promise<Outcome>;
  giveUp(job: ClaimedJob, reason: string, tools: JobTools): Promise<void>;
}

export function createJobHandler(deps: JobDependencies): JobHandler {
  return {
    handle: (job, tools) => handle(job, tools, deps),
    giveUp: (job, reason, tools) => giveUp(job, reason, tools, deps),
  };
}

async function handle(job: ClaimedJob, tools: JobTools, deps: JobDependencies): Promise<Outcome> {
  const { task } = job;
  switch (task.kind) {
    case "review":
      return reviewPull({ ...job, task }, tools, deps);
    case "pass_check":
      return passCheck(task, tools, deps);
    case "command":
    case "reply":
      return { kind: "skipped", reason: "nobody knows yet what to do with it" };
  }
}

async function passCheck(
  { repository, headSha, reason }: Extract<Task, { kind: "pass_check" }>,
  { signal }: JobTools,
  { github }: JobDependencies,
): Promise<Outcome> {
  const api = await github.repository(repository, signal);
  const problem = await concludeAtOnce(api, headSha, "merge_group", passedConclusion(reason));
  return problem === undefined ? { kind: "done", reason } : { kind: "failed", reason: problem };
}

/** The check run must not stay open: a required one would block the pull request for ever. */
async function giveUp(
  job: ClaimedJob,
  reason: string,
  tools: JobTools,
  { github, log }: JobDependencies,
): Promise<void> {
  const { task } = job;
  if (task.kind === "pass_check") return;
  const warn = (notice: string) => log.warn(jobFields(job), notice);
  const recorded = await tools.recorded();
  const opened = recorded.findLast((entry) => entry.kind === "check_opened");
  // What is no review has a check run only where it came to one in the end.
  if (task.kind !== "review" && opened === undefined) return;
  const api = await github.pull(task.repository, task.pull, tools.signal);
  const met = await meet(task, opened, api);
  await closeEarlierChecks(recorded, met, api, warn);
  if (met.state === "closed") return;
  const problem = await concludeAtOnce(api, met.headSha, met.trigger, failedConclusion(reason));
  if (problem) warn(problem);
}

type Opened = Extract<TrajectoryEntry, { kind: "check_opened" }> | undefined;

/** Where GitHub refuses to show the pull request, people are told on the head that the job was about. */
async function meet(
  task: Exclude<Task, { kind: "pass_check" }>,
  opened: Opened,
  api: PullRequestApi,
): Promise<Met> {
  const asked = task.kind === "review" ? task.trigger : "";
  try {
    const pull = await api.pull();
    const trigger = task.kind === "review" ? triggerOf(task, pull) : (opened?.trigger ?? asked);
    return { ...pull, trigger };
  } catch (error) {
    const headSha = task.headSha ?? opened?.head ?? null;
    if (!isRefusal(error) || headSha === null) throw error;
    const trigger = opened?.head === headSha ? opened.trigger : asked;
    return { headSha, trigger, state: "open" };
  }
}
