import type { ClaimedJob, Outcome, Task } from "../queue/job.ts";
import type { JobTools } from "../queue/run-job.ts";
import { concludeAtOnce, failedConclusion, passedConclusion } from "../reporters/check-run.ts";
import { closeEarlierChecks } from "./attempts.ts";
import type { JobDependencies } from "./job-dependencies.ts";
import { reviewPull } from "./review-pull.ts";

/** What a worker needs of us: the handler, and what tells people when a job failed for good. */
export interface JobHandler {
  handle(job: ClaimedJob, tools: JobTools): Promise<Outcome>;
  giveUp(job: ClaimedJob, reason: string, tools: JobTools): Promise<void>;
}

export function createJobHandler(deps: JobDependencies): JobHandler {
  return {
    handle: (job, tools) =>
      job.task.kind === "review"
        ? reviewPull({ ...job, task: job.task }, tools, deps)
        : passCheck(job.task, tools, deps),
    giveUp: (job, reason, tools) => giveUp(job.task, reason, tools, deps),
  };
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
  task: Task,
  reason: string,
  tools: JobTools,
  { github }: JobDependencies,
): Promise<void> {
  if (task.kind === "pass_check") return;
  const api = await github.pull(task.repository, task.pull, tools.signal);
  const pull = await api.pull();
  await closeEarlierChecks(await tools.recorded(), pull, api);
  if (pull.state === "open") await concludeAtOnce(api, pull.headSha, task.trigger, failedConclusion(reason));
}
