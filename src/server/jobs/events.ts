import { createHash, createHmac } from "node:crypto";
import { signingKeyOf } from "../../config/variables.ts";
import { createEgress } from "../../core/egress.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { bySeverity } from "../../core/finding.ts";
import type { Ledger, PostedFinding } from "../../core/ledger/entry.ts";
import { holdsLiveSecret } from "../../core/secrets/live-secrets.ts";
import { redactStrings } from "../../core/secrets/redact.ts";
import { escapeUnseen } from "../../core/text/escape-invisible.ts";
import type { PullRequest, PullRequestApi } from "../../pull/github/pull-request-api.ts";
import { checkRunKey, currentLedger } from "../../pull/publish/existing.ts";
import {
  type EventAbout,
  type EventOrigin,
  eventAt,
  eventFinding,
  findingsOf,
  isoTime,
} from "../../report/event.ts";
import { outcomeOf } from "../../report/outcome.ts";
import type { ReviewResult } from "../../tasks/shapes/review-result.ts";
import { type RetryOptions, retryWhileUnavailable } from "../queue/database.ts";
import {
  askedBy,
  type ClaimedJob,
  type JobOutcome,
  type NotifyTask,
  noticePriority,
  originOf,
  type ReviewTask,
} from "../queue/job.ts";
import type { Queue } from "../queue/queue.ts";
import { jobFields } from "../queue/run-job.ts";
import type { Announcement, EventPort, JobDependencies } from "./job-dependencies.ts";

type Deps = Pick<JobDependencies, "record" | "app" | "now" | "log">;
type PullJob = ClaimedJob & { task: Extract<ClaimedJob["task"], { pull: number }> };

interface Published {
  job: ClaimedJob & { task: ReviewTask };
  api: PullRequestApi;
  pull: Pick<PullRequest, "number" | "headSha" | "baseSha">;
  trigger: string;
}

/** Announces that a job ended without a review. */
export async function announceEnd(
  type: "review.skipped" | "review.failed",
  { job, head, reason }: { job: ClaimedJob; head: string | null; reason: string },
  deps: Deps,
): Promise<void> {
  const { task } = job;
  const { events } = deps.record;
  if (!events || !("pull" in task)) return;
  const about = { ...aboutOf({ ...job, task }, head, deps), ...requestOf(task) };
  const event = eventAt(type, deps.now(), { ...about, reason });
  await events.announce([{ repository: task.repository, key: `${type} ${job.id} ${head}`, event }]);
}

/**
 * Announces that a review was published, and what it noticed of earlier findings. Reads the pull request's comments and check run once more,
 * because an attempt may have died after it had published. Never rejects.
 */
export async function announceReview(published: Published, result: ReviewResult, deps: Deps): Promise<void> {
  const { events } = deps.record;
  if (!events) return;
  const { job, api, pull } = published;
  const { repository } = job.task;
  const unless = (what: string) => (err: unknown) => {
    deps.log.warn({ ...jobFields(job), err }, `An event has no ${what}: ${errorLine(err)}`);
    return null;
  };
  const ledger = await currentLedger(api).catch(unless("addresses of comments"));
  const conclusion = await conclusionOf(published).catch(unless("conclusion"));
  const at = deps.now();
  const about = aboutOf(job, pull.headSha, deps);
  const { hunks_total, hunks_served, files_total } = result.coverage;
  const completed = eventAt("review.completed", at, {
    ...about,
    ...requestOf(job.task),
    base_sha: pull.baseSha,
    mode: job.task.mode === "full" ? "full" : "new",
    outcome: outcomeOf(result),
    conclusion,
    coverage: { hunks_total, hunks_served, files_total },
    ...findingsOf({ findings: bySeverity(result.findings) }, entriesOf(result, ledger)),
    usage: result.usage,
    model: result.model,
    times: { stored_at: isoTime(job.createdAt), started_at: isoTime(job.startedAt), ended_at: isoTime(at) },
  });
  const settled = (ledger?.entries ?? []).flatMap((entry) => settledEvent(entry, about, at));
  await events.announce([
    { repository, key: `review.completed ${job.id} ${pull.headSha}`, event: completed },
    ...settled.map((one) => ({ repository, ...one })),
  ]);
}

/** Every finding that is fixed or dismissed: what was announced before is not stored again. */
function settledEvent(
  entry: PostedFinding,
  about: EventAbout,
  at: number,
): Omit<Announcement, "repository">[] {
  const place = `${about.repository.id}#${about.pull.number} ${entry.comment ?? entry.id}`;
  const finding = eventFinding(entry);
  const { state, dismissal } = entry;
  if (state === "fixed") {
    const event = eventAt("finding.fixed", at, { ...about, finding });
    return [{ key: `finding.fixed ${place}`, event }];
  }
  if (state !== "dismissed" || dismissal === null) return [];
  const { how, by, at: since } = dismissal;
  const event = eventAt("finding.dismissed", at, { ...about, finding, how, by, at: since });
  // Dismissed again after it was open again, it is announced again.
  return [{ key: `finding.dismissed ${place} ${how} ${since}`, event }];
}

async function conclusionOf({ api, pull, trigger }: Published) {
  const key = checkRunKey({ head: pull.headSha, trigger });
  const runs = await api.checkRuns(pull.headSha);
  return runs.findLast(({ externalId }) => externalId === key)?.conclusion ?? null;
}

/** The comment that reports a finding. */
function entriesOf({ ledger: update }: ReviewResult, ledger: Ledger | null) {
  const repeated = new Map(update?.repeats.map(({ finding, comment }) => [finding, comment]));
  return (id: string): PostedFinding | undefined => {
    const comment = repeated.get(id);
    const isIt = (entry: PostedFinding) => (comment ? entry.comment === comment : entry.id === id);
    return ledger?.entries.findLast(isIt);
  };
}

function aboutOf({ id, task }: PullJob, head: string | null, { app }: Deps): EventAbout {
  const { installation, id: repository, owner, name } = task.repository;
  return {
    job: id,
    repository: { id: repository, installation, owner, name },
    pull: { number: task.pull, url: `${app.webUrl}/${owner}/${name}/pull/${task.pull}` },
    head_sha: head,
  };
}

const requestOf = (task: PullJob["task"]): EventOrigin => ({
  origin: originOf(task),
  requested_by: askedBy(task),
});

/** Fields that stay as they are: what programs compare. */
const kept = new Set(
  "job id head_sha base_sha path url owner name type severity category rule source state model outcome conclusion mode origin requested_by by how timestamp".split(
    " ",
  ),
);

interface AnnouncerOptions extends Pick<RetryOptions, "signal" | "sleep" | "warn"> {
  queue: Pick<Queue, "accept" | "check">;
}

/** Stores events as jobs, each once by its id. Waits for an unavailable database, and never rejects: no review may fail by an event. */
export function createAnnouncer(options: AnnouncerOptions): EventPort["announce"] {
  const { queue, warn } = options;
  return async (events) => {
    for (const { repository, key, event } of events) {
      try {
        const id = `msg_${createHash("sha256").update(key).digest("base64url").slice(0, 27)}`;
        const body = escapeUnseen(JSON.stringify(await redactStrings(event, kept)));
        const task: NotifyTask = { kind: "notify", repository, id, body, headSha: null };
        const concurrencyKey = `notify#${repository.id}`;
        const job = { task, concurrencyKey, coalesce: false, priority: noticePriority };
        const delivery = { id, event: "notify", action: event.type };
        await retryWhileUnavailable(() => queue.accept(delivery, [job]), options);
      } catch (error) {
        warn("An event was not stored, so it is not sent", error);
      }
    }
  };
}

const hour = 3_600_000;
/** After this, the receiver has to look at GitHub. */
const patienceMs = 24 * hour;
/** The pause grows with the time since the first try, so that the time doubles with each. */
const [shortestPauseMs, longestPauseMs] = [5_000, hour];
const TIMEOUT_MS = 10_000;

interface SenderOptions {
  url: string;
  /** Of Standard Webhooks: "whsec_" and Base64. */
  secret: string;
  version: string;
  now(): number;
  timeoutMs?: number;
}

/**
 * Sends events to one address, signed as Standard Webhooks asks for (https://www.standardwebhooks.com, version 1). Rejects with
 * `receiver_failed`, which is retryable for a day after the first try.
 */
export function createSender(options: SenderOptions): EventPort["send"] {
  const { url, secret, version, now, timeoutMs = TIMEOUT_MS } = options;
  const key = signingKeyOf(secret);
  if (key === null)
    throw new AppError("config_invalid", "HUNKWISE_EVENTS_SECRET is no secret of Standard Webhooks");
  // The path may be a secret of the receiver's.
  const { origin, host } = new URL(url);
  const failed = (what: string) =>
    new AppError("receiver_failed", `The receiver of events, ${host}, ${what}`);
  const post = createEgress({
    origins: [origin],
    timeoutMs,
    mostRedirects: 0,
    answer: { bytes: 64_000 },
    holdsSecret: holdsLiveSecret,
    refuse: failed,
  });
  return async ({ task: { id, body }, startedAt }, signal): Promise<JobOutcome> => {
    const seconds = Math.floor(now() / 1_000);
    const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
    const headers = {
      "content-type": "application/json",
      "user-agent": `hunkwise/${version}`,
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1,${signature}`,
    };
    try {
      const { status, ok, body: unread } = await post(url, { method: "POST", headers, body, signal });
      await unread?.cancel().catch(() => {});
      if (!ok) throw failed(`answered with ${status}`);
      return { kind: "done", reason: `${host} took event ${id}` };
    } catch (error) {
      if (signal.aborted) throw error;
      const ageMs = Math.max(0, now() - startedAt);
      throw new AppError("receiver_failed", messageOf(error, host), {
        retryable: ageMs < patienceMs,
        retryAfterMs: Math.min(longestPauseMs, Math.max(shortestPauseMs, ageMs)),
        remedy: "Check HUNKWISE_EVENTS_URL and the program there.",
        cause: error,
      });
    }
  };
}

function messageOf(error: unknown, host: string): string {
  if (error instanceof AppError) return error.message;
  if (error instanceof Error && error.name === "TimeoutError") return `${host} did not answer in time`;
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  return `The receiver of events, ${host}, cannot be reached${code ? ` (${code})` : ""}`;
}
