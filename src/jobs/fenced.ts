import { setTimeout } from "node:timers/promises";
import { AppError, errorLine } from "../errors.ts";
import type { PullRequestApi, RepositoryApi } from "../github/pull-request-api.ts";
import type { ClaimedJob } from "../queue/job.ts";
import { type JobTools, jobFields } from "../queue/run-job.ts";
import { closeDoubledChecks } from "../reporters/check-run.ts";
import { removeDoubles } from "../reporters/remove-doubles.ts";
import type { GitHubAccess, JobDependencies } from "./job-dependencies.ts";

type Fenced = Pick<JobDependencies, "github" | "log">;

/**
 * Does a job's work with a GitHub on which nothing is written before the queue has said that the job is still this worker's. A
 * worker that was frozen meanwhile writes nothing more; where it was frozen between that answer and the write, GitHub gets
 * the write when it wakes, after another worker has written the same. It finds that out in the end, and takes its own away.
 */
export async function withFence<Deps extends Fenced, T>(
  job: ClaimedJob,
  tools: JobTools,
  deps: Deps,
  work: (fenced: Deps) => Promise<T>,
  pause: (milliseconds: number) => Promise<unknown> = setTimeout,
): Promise<T> {
  const fence = new Fence(tools);
  try {
    return await work({ ...deps, github: fencedGitHub(deps.github, fence) });
  } finally {
    const late = await fence.late();
    if (late.length > 0) await takeBack(late, job, deps, pause);
  }
}

interface Write {
  call: keyof PullRequestApi | "propose";
  sent: readonly unknown[];
  hasEnded: boolean;
}

/** Asks before each write. Every yes also tells that the writes before it were no other worker's to make. */
class Fence {
  readonly #tools: Pick<JobTools, "isHeld" | "signal">;
  #unsure: Write[] = [];

  constructor(tools: Pick<JobTools, "isHeld" | "signal">) {
    this.#tools = tools;
  }

  async write<T>(call: Write["call"], sent: readonly unknown[], send: () => Promise<T>): Promise<T> {
    if (!(await this.#isHeld())) throw this.#whyNot();
    const write: Write = { call, sent, hasEnded: false };
    this.#unsure.push(write);
    try {
      return await send();
    } finally {
      write.hasEnded = true;
    }
  }

  /** What was written when the job was another worker's already, as far as anybody can tell. Never rejects. */
  async late(): Promise<readonly Write[]> {
    if (this.#unsure.length === 0 || (await this.#isHeld().catch(() => false))) return [];
    return isLeaseLost(this.#tools.signal.reason) ? this.#unsure : [];
  }

  async #isHeld(): Promise<boolean> {
    const ended = this.#unsure.filter(({ hasEnded }) => hasEnded);
    const isHeld = await this.#tools.isHeld();
    if (isHeld) this.#unsure = this.#unsure.filter((write) => !ended.includes(write));
    return isHeld;
  }

  #whyNot(): AppError {
    const { reason } = this.#tools.signal;
    return reason instanceof AppError
      ? reason
      : new AppError("lease_lost", "another worker has this job now");
  }
}

const isLeaseLost = (why: unknown) => why instanceof AppError && why.code === "lease_lost";

function fencedGitHub(github: GitHubAccess, fence: Fence): GitHubAccess {
  return {
    organization: (repository, signal) => github.organization(repository, signal),
    repository: async (repository, signal) => fenced(await github.repository(repository, signal), fence),
    pull: async (repository, pull, signal) => fenced(await github.pull(repository, pull, signal), fence),
    async writer(repository, signal) {
      const writer = await github.writer(repository, signal);
      return { propose: (proposal) => fence.write("propose", [proposal], () => writer.propose(proposal)) };
    },
  };
}

/** Whether somebody can see that it was called. */
const writes: Readonly<Record<keyof PullRequestApi, boolean>> = {
  ...{ pull: false, permissionOf: false, fileAt: false, commitPulls: false, issue: false },
  ...{ failedChecks: false, findCheckRun: false, ownAnnotations: false, ownReviews: false },
  ...{ ownReviewComments: false, ownComments: false, ownThreads: false, isOwnReviewComment: false },
  ...{ react: true, createCheckRun: true, updateCheckRun: true, reply: true, resolveThread: true },
  ...{ createReview: true, createFileComment: true, createComment: true, updateComment: true },
  ...{ editReview: true, deleteComment: true, deleteReviewComment: true },
  // Seen by nobody, but in the way of every review of ours.
  ...{ acceptsReview: true, discardPendingReviews: true },
};

function fenced<Api extends RepositoryApi>(api: Api, fence: Fence): Api {
  const asked = Object.entries(api).map(([call, method]) => {
    if (typeof method !== "function" || !writes[call as keyof PullRequestApi]) return [call, method];
    const write = (...sent: unknown[]) =>
      fence.write(call as keyof PullRequestApi, sent, () => method(...sent));
    return [call, write];
  });
  return Object.fromEntries(asked) as Api;
}

/** How long a request that was called off may take to have its effect, before each look. */
const looksAfterMs = [1_000, 4_000];
/** Longer than it takes; a worker that is about to stop does not wait for it. */
const patienceMs = 120_000;

/** Never rejects: what cannot be taken back now is taken away by the next review that meets it. */
async function takeBack(
  late: readonly Write[],
  job: ClaimedJob,
  { github, log }: Fenced,
  pause: (milliseconds: number) => Promise<unknown>,
): Promise<void> {
  const { task } = job;
  if (!("repository" in task)) return;
  // The job's own signal has fired.
  const signal = AbortSignal.timeout(patienceMs);
  try {
    for (const wait of looksAfterMs) {
      await pause(wait);
      if ("pull" in task) await removeDoubles(await github.pull(task.repository, task.pull, signal));
      const api = await github.repository(task.repository, signal);
      for (const { call, sent } of late) {
        const [head, externalId] = sent;
        if (call === "createCheckRun") await closeDoubledChecks(api, String(head), String(externalId));
      }
    }
    log.warn(jobFields(job), "Another worker had the job while this one wrote: doubles were taken back");
  } catch (err) {
    log.warn({ ...jobFields(job), err }, `Doubles may stand: ${errorLine(err)}`);
  }
}
