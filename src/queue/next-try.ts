import { AppError, type ErrorCode } from "../errors.ts";
import { type ClaimedJob, maxAttempts } from "./job.ts";

export interface Clock {
  /** Milliseconds since 1970. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** When and how a failed job is tried again. */
export interface NextTry {
  delayMs: number;
  countAttempt: boolean;
}

const hour = 3_600_000;
/**
 * Faults that no attempt of ours can be blamed for, and for how long after a job was begun they count none: of GitHub
 * or the way to it, of a full disk or a database that is away for a day, then somebody has to look; of a model that is left
 * alone for an hour, for people wait for its word.
 */
const outagePatienceMs: Partial<Record<ErrorCode, number>> = {
  github_failed: 24 * hour,
  github_rate_limited: 24 * hour,
  repository_unavailable: 24 * hour,
  disk_full: 24 * hour,
  data_folder_unusable: 24 * hour,
  database_unreachable: 24 * hour,
  model_unavailable: hour,
};
/** Jobs that a model's pause sent away come back within so long: one of them finds out whether it is over. */
const spreadMs = 5_000;

/** When and how a failed job is tried again; undefined when it is not. */
export function nextTry(job: ClaimedJob, error: unknown, clock: Clock): NextTry | undefined {
  if (!(error instanceof AppError) || !error.retryable || job.attempt > maxAttempts) return undefined;
  const countAttempt = !isOutage(error, job, clock);
  if (countAttempt && job.attempt === maxAttempts) return undefined;
  const { code, retryAfterMs } = error;
  const spread = code === "model_unavailable" ? Math.round(clock.random() * spreadMs) : 0;
  if (retryAfterMs !== undefined) return { delayMs: retryAfterMs + spread, countAttempt };
  return { delayMs: countAttempt ? backOffMs(job.attempt, clock) : outageDelayMs(clock), countAttempt };
}

export function isOutage(error: unknown, job: ClaimedJob, { now }: Clock): boolean {
  if (!(error instanceof AppError) || !error.retryable) return false;
  const patienceMs = outagePatienceMs[error.code];
  // Another machine's clock may have set the beginning, and be ahead of this one.
  return patienceMs !== undefined && now() - job.startedAt < patienceMs;
}

/** About a minute: an outage ends some time, and nobody wants all jobs back in the same second. */
export const outageDelayMs = ({ random }: Clock) => Math.round(45_000 + random() * 30_000);

/** Doubles from 5 seconds up to 5 minutes; jitter of a quarter keeps jobs of one outage apart. */
function backOffMs(attempt: number, { random }: Clock): number {
  const full = Math.min(5_000 * 2 ** (attempt - 1), 300_000);
  return Math.round(full * (0.75 + random() / 4));
}
