import { AppError, errorLine } from "../../core/errors.ts";
import type { AfterWrite, Written } from "../../pull/github/client.ts";
import type { CheckRunUpdate, RepositoryApi } from "../../pull/github/pull-request-api.ts";
import { closeDoubledChecks } from "../../pull/publish/check-run.ts";
import { removeDoubles } from "../../pull/publish/existing.ts";
import type { ClaimedJob } from "../queue/job.ts";
import { type JobLog, type JobTools, jobFields } from "../queue/run-job.ts";
import type {
  DiskPort,
  GitHubAccess,
  JobDependencies,
  OpenJob,
  UnopenedDependencies,
} from "./job-dependencies.ts";

/**
 * Runs a job with a GitHub API that asks the queue before each write whether this worker still has the job, and records each write. If the
 * worker froze between that check and the write, the duplicate that it may have written is removed at the end.
 */
export async function withFence<T>(
  job: ClaimedJob,
  tools: JobTools,
  { openJob, ...deps }: UnopenedDependencies,
  work: (fenced: JobDependencies) => Promise<T>,
): Promise<T> {
  const record = (written: Written) =>
    tools.record({ kind: "wrote", ...written }).catch((err: unknown) => {
      // Another worker finds the write by its marker: the job must not fail because of the record.
      const fields = { ...jobFields(job), err, ...written };
      deps.log.warn(fields, `A write to GitHub is not on record: ${errorLine(err)}`);
    });
  const { signal } = tools;
  let hasWritten = false;
  const checks: CreatedCheck[] = [];
  // Right before each write, after any wait for a rate limit.
  const github = openJob(async () => {
    const hasLease = await tools.hasLease().catch((error: unknown) => {
      throw unknownHolder(error);
    });
    if (!hasLease)
      throw signal.reason instanceof AppError
        ? signal.reason
        : new AppError("lease_lost", "another worker has this job now");
    hasWritten = true;
    return record;
  });
  try {
    const disk = { ...deps.disk, push: recordedPush(deps, record) };
    return await work({ ...deps, disk, github: noting(github, checks) });
  } finally {
    // The last write may have happened after another worker took the job.
    const isLost = hasWritten && !(await tools.hasLease().catch(() => false));
    if (isLost && signal.reason instanceof AppError && signal.reason.code === "lease_lost")
      await takeBack(checks, job, openJob(), deps.log);
    await github.end();
  }
}

/** A check run that the job tried to create. */
interface CreatedCheck {
  head: string;
  externalId: string;
}

/** The client would treat any other error as a lost response from GitHub. */
const unknownHolder = (cause: unknown) =>
  cause instanceof AppError
    ? cause
    : new AppError("database_unreachable", "It is not known whether this worker still holds the job", {
        retryable: true,
        cause,
      });

/** The lease is checked when the token for the push is requested. */
function recordedPush(
  { disk, app }: Pick<JobDependencies, "disk" | "app">,
  record: AfterWrite,
): DiskPort["push"] {
  return async (request) => {
    const end = await disk.push(request);
    const { owner, name, branch, to } = request;
    if (end.kind === "pushed") {
      const url = `${app.webUrl}/${owner}/${name}/commit/${to}`;
      await record({ request: `push ${owner}/${name} ${branch}`, id: null, url });
    }
    return end;
  };
}

/** Check runs can be found again only by their key; everything else on a pull request by its markers. */
function noting(github: GitHubAccess, checks: CreatedCheck[]): GitHubAccess {
  const noted = <Api extends RepositoryApi>(api: Api): Api => ({
    ...api,
    createCheckRun(head: string, externalId: string, update: CheckRunUpdate) {
      checks.push({ head, externalId });
      return api.createCheckRun(head, externalId, update);
    },
  });
  return {
    ...github,
    repository: async (repository, signal) => noted(await github.repository(repository, signal)),
    pull: async (repository, pull, signal) => noted(await github.pull(repository, pull, signal)),
  };
}

/** A canceled request may still take effect after that long. */
const looksAfterMs = [1_000, 4_000];
/** Longer than the cleanup takes; a worker that is about to stop does not wait for it. */
const patienceMs = 120_000;

/** Never rejects: the next review removes the remaining duplicates. */
async function takeBack(
  checks: readonly CreatedCheck[],
  job: ClaimedJob,
  github: ReturnType<OpenJob>,
  log: JobLog,
): Promise<void> {
  const { task } = job;
  if (!("repository" in task)) return;
  // The job's own signal has fired.
  const signal = AbortSignal.timeout(patienceMs);
  try {
    for (const wait of looksAfterMs) {
      const api = await github.repository(task.repository, signal);
      await api.pause(wait);
      if ("pull" in task) await removeDoubles(await github.pull(task.repository, task.pull, signal));
      for (const { head, externalId } of checks) await closeDoubledChecks(api, head, externalId);
    }
    log.warn(jobFields(job), "Another worker had the job while this one wrote: duplicates were removed");
  } catch (err) {
    log.warn({ ...jobFields(job), err }, `Duplicates may remain: ${errorLine(err)}`);
  } finally {
    await github.end();
  }
}
