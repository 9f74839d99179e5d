import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import { checkPolicy } from "../../config/named-rules.ts";
import { errorLine, publicLine } from "../../core/errors.ts";
import { openFindings } from "../../core/ledger/entry.ts";
import type { PullRequestApi } from "../../pull/github/pull-request-api.ts";
import { concludeAtOnce, concludeQueued } from "../../pull/publish/check-run.ts";
import { failedConclusion, type Held, passedConclusion } from "../../pull/publish/conclusions.ts";
import { currentLedger } from "../../pull/publish/existing.ts";
import type { ClaimedJob, JobOutcome, Task } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import { closeEarlierChecks, type FoundPull, isRefusal, triggerFor } from "./attempts.ts";
import { answerFailure, dryRun, runAct, runCommand, runReply } from "./commands/dispatch.ts";
import { announceEnd } from "./events.ts";
import { withFence } from "./fenced.ts";
import type { JobDependencies, UnopenedDependencies } from "./job-dependencies.ts";
import { reviewConfig } from "./load-config.ts";
import { maintain } from "./reconcile/keep-up.ts";
import { reviewPull } from "./review-pull.ts";

export type JobHandler = ReturnType<typeof createJobHandler>;

export const createJobHandler = (deps: UnopenedDependencies) => ({
  handle: (job: ClaimedJob, tools: JobTools) =>
    withFence(job, tools, deps, (fenced) => handle(job, tools, fenced)),
  giveUp: (job: ClaimedJob, error: unknown, tools: JobTools) =>
    withFence(job, tools, deps, (fenced) => giveUp(job, error, tools, fenced)),
});

async function handle(job: ClaimedJob, tools: JobTools, deps: JobDependencies): Promise<JobOutcome> {
  const { task } = job;
  // Before any request to GitHub: a person who floods us must not use up our rate limit.
  if (!(await deps.limits.usage.mayAsk(job)))
    return { kind: "skipped", reason: "its author has reached the limit of commands for this hour" };
  switch (task.kind) {
    case "review":
      return task.mode === "dry_run"
        ? dryRun({ ...job, task }, tools, deps)
        : reviewPull({ ...job, task }, tools, deps);
    case "pass_check":
      return passCheck(task, tools, deps);
    case "command":
      return runCommand({ ...job, task }, tools, deps);
    case "act":
      return runAct({ ...job, task }, tools, deps);
    case "reply":
      return runReply({ ...job, task }, tools, deps);
    case "notify":
      return deps.record.events
        ? deps.record.events.send({ ...job, task }, tools.signal)
        : { kind: "skipped", reason: "HUNKWISE_EVENTS_URL is not set here" };
    case "reconcile":
    case "purge":
    case "recount":
      return maintain(task, tools, deps);
  }
}

async function passCheck(
  { repository, headSha, reason }: Extract<Task, { kind: "pass_check" }>,
  { signal }: JobTools,
  { github }: JobDependencies,
): Promise<JobOutcome> {
  const api = await github.repository(repository, signal);
  const problem = await concludeQueued(api, headSha, passedConclusion(reason));
  return problem === undefined ? { kind: "done", reason } : { kind: "failed", reason: problem };
}

/** The check run must not stay open: a required one would block the pull request forever. */
async function giveUp(
  job: ClaimedJob,
  error: unknown,
  tools: JobTools,
  deps: JobDependencies,
): Promise<void> {
  const { task } = job;
  if (!("pull" in task)) return;
  const warn = (notice: string) => deps.log.warn(jobFields(job), notice);
  const reason = publicLine(error);
  const recorded = await tools.recorded();
  const opened = recorded.findLast((entry) => entry.kind === "check_opened");
  // A job that is not a review has a check run only if it ended in a review.
  const isReview = task.kind === "review" && task.mode !== "dry_run";
  // Before GitHub is asked, which may be what fails.
  if (isReview || opened !== undefined)
    await announceEnd("review.failed", { job, head: opened?.head ?? task.headSha, reason }, deps);
  if (!isReview && opened === undefined) {
    // A reply does not need an answer, and the pages show how an act ended.
    if (task.kind === "command" || task.kind === "review")
      await answerFailure({ ...job, task }, reason, tools, deps);
    return;
  }
  const api = await deps.github.pull(task.repository, task.pull, tools.signal);
  const found = await findPull(task, opened, api);
  await closeEarlierChecks(recorded, found, api, warn);
  if (found.pull.state === "closed") return;
  const update = failedConclusion(error, await heldOn(found, api, { task, tools, deps }));
  const problem = await concludeAtOnce(api, found.pull, found.trigger, update);
  if (problem) warn(problem);
}

interface GivenUp {
  task: Extract<Task, { pull: number }>;
  tools: JobTools;
  deps: JobDependencies;
}

/**
 * The open findings, and the policy for them. If the configuration cannot be read, the check is neutral. If the findings cannot be read, none
 * count, but a job that failed at a limit turns the check as red as a limit does: anyone can write enough comments to cause that.
 */
async function heldOn(
  { pull }: FoundPull,
  api: PullRequestApi,
  { task, tools, deps }: GivenUp,
): Promise<Held | undefined> {
  const { baseSha } = pull;
  if (baseSha === undefined) return undefined;
  const unless = <T>(err: unknown, otherwise: T) => {
    deps.log.warn({ err }, `The open findings could not be read: ${errorLine(err)}`);
    return otherwise;
  };
  try {
    const wanted = { api, pull: { baseSha }, repository: task.repository };
    const { config } = await reviewConfig(wanted, deps, tools.signal);
    const open = await currentLedger(api).then(openFindings, (err: unknown) => unless(err, []));
    return { open, policy: checkPolicy(config) };
  } catch (err) {
    return unless(err, undefined);
  }
}

type Opened = Extract<TrajectoryEntry, { kind: "check_opened" }> | undefined;

/** If GitHub refuses to show the pull request, the head that the job was about is used. */
async function findPull(
  task: Extract<Task, { pull: number }>,
  opened: Opened,
  api: PullRequestApi,
): Promise<FoundPull> {
  const context = task.kind === "review" ? task.trigger : "";
  try {
    const pull = await api.pull();
    const trigger = task.kind === "review" ? await triggerFor(task, pull, api) : (opened?.trigger ?? context);
    return { pull, trigger };
  } catch (error) {
    const headSha = task.headSha ?? opened?.head ?? null;
    if (!isRefusal(error) || headSha === null) throw error;
    const trigger = opened?.head === headSha ? opened.trigger : context;
    const baseRef = trigger.split("@")[1] ?? "";
    return { pull: { number: task.pull, state: "open", headSha, baseRef }, trigger };
  }
}
