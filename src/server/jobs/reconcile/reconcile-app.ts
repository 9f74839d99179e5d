import { z } from "zod";
import { AppError, errorLine } from "../../../core/errors.ts";
import { type AppApi, type DeliveryAttempt, wholeList } from "../../../pull/github/app-client.ts";
import { sleepUnlessAborted } from "../../queue/database.ts";
import { type JobOutcome, type NewJob, purgeJob, reconcileJob } from "../../queue/job.ts";
import type { Queue } from "../../queue/queue.ts";
import type { JobLog } from "../../queue/run-job.ts";
import type { Notes } from "../../queue/stores.ts";
import { isRefusal, isUnanswered } from "../attempts.ts";
import type { Upkeep } from "../job-dependencies.ts";

/* What one run keeps for the next, so that it asks only for what is new. Losing it costs only requests. Times are milliseconds since 1970. */

const AppMemory = z.object({
  /** Time of the first run with this database. */
  since: z.int(),
  installations: z.array(z.object({ id: z.int() })),
  deliveries: z.object({
    /** Everything older is processed; null before the first delivery. */
    seenAt: z.int().nullable(),
    /** The time of sending, by guid, of failed deliveries that were processed since shortly before `seenAt`. */
    done: z.record(z.string(), z.int()),
  }),
});
type AppMemory = z.infer<typeof AppMemory>;

const SeenPull = z.object({
  headSha: z.string(),
  baseRef: z.string(),
  updatedAt: z.int(),
  /** This head has a review. */
  isReviewed: z.boolean(),
  /** Number of review requests since `updatedAt`. */
  tries: z.int(),
});
export type SeenPull = z.infer<typeof SeenPull>;

const Look = z.object({
  /** When the App could first see the repository, if known. */
  firstSeen: z.int(),
  /** Start of the last complete look; null before that. */
  lookedAt: z.int().nullable(),
  /** Start of the last look, whatever its result; 0 before that. */
  triedAt: z.int(),
  /** The pull requests that the last look listed, by number. */
  pulls: z.record(z.string(), SeenPull),
});
export type Look = z.infer<typeof Look>;

const InstallationMemory = z.object({
  /** Number of pull requests taken up without any activity since the App was installed. */
  early: z.int(),
  repositories: z.array(z.object({ id: z.int(), owner: z.string(), name: z.string() })),
  looks: z.record(z.string(), Look),
});
export type InstallationMemory = z.infer<typeof InstallationMemory>;

/** Start of the last run for the App as a whole. */
export const lastRunNote = "reconciled";
const appNote = "reconcile";
export const installationNote = (installation: number) => `reconcile ${installation}`;

async function readAppMemory(notes: Notes, now: number): Promise<AppMemory> {
  const known = await readAs(AppMemory, notes, appNote);
  if (known) return known;
  const first: AppMemory = { since: now, installations: [], deliveries: { seenAt: null, done: {} } };
  // At once: a later run must know what is older than this database.
  await writeAppMemory(notes, first);
  return first;
}

const writeAppMemory = (notes: Notes, memory: AppMemory) => notes.write(appNote, JSON.stringify(memory));

/** Null if nothing is known of the installation. */
export const readInstallationMemory = (notes: Notes, installation: number) =>
  readAs(InstallationMemory, notes, installationNote(installation));

export const writeInstallationMemory = (notes: Notes, installation: number, memory: InstallationMemory) =>
  notes.write(installationNote(installation), JSON.stringify(memory));

async function readAs<T>(shape: z.ZodType<T>, notes: Notes, name: string): Promise<T | null> {
  const text = await notes.read(name);
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

interface DeliveryOptions {
  api: AppApi;
  upkeep: Upkeep;
  signal: AbortSignal;
  log: JobLog;
  /** Stores the memory after each delivery. */
  keep: (memory: AppMemory["deliveries"]) => Promise<void>;
}

/** The next run takes up the rest. */
const mostInARun = 100;
/** 10,000 deliveries. */
const mostPages = 100;
/** Then the rest waits for the next run. */
const mostUnanswered = 3;
/** A delivery is listed when it ends, possibly after one that began later. */
const overlapMs = 10 * 60_000;

/**
 * Takes up the deliveries that failed since the last one seen, oldest first. Each is handled like a webhook under its own id, so a repeated
 * one has no further effect. Resolves to the number that started something.
 */
async function takeUpDeliveries(
  { since, deliveries }: Pick<AppMemory, "since" | "deliveries">,
  options: DeliveryOptions,
): Promise<number> {
  const attempts = await readAttempts(deliveries.seenAt, options.api);
  const failed = failedOf(attempts).filter(
    ({ guid, event, action }) => !(guid in deliveries.done) && options.upkeep.handles(event, action),
  );
  const memory = { ...deliveries };
  let [taken, unanswered] = [0, 0];
  for (const attempt of failed.slice(0, mostInARun)) {
    const how = await takeUp(attempt, since, options);
    if (how === "unanswered" && ++unanswered === mostUnanswered) break;
    if (how === "unanswered") continue;
    if (how === "taken") taken++;
    if (unanswered === 0) memory.seenAt = Math.max(memory.seenAt ?? 0, attempt.at);
    memory.done[attempt.guid] = attempt.at;
    await options.keep(memory);
  }
  // Moves past deliveries without an effect, but not past those left for the next run.
  const newest = attempts.reduce((latest, { at }) => Math.max(latest, at), memory.seenAt ?? 0);
  if (failed.length <= mostInARun && unanswered === 0 && newest > 0) memory.seenAt = newest;
  memory.done = Object.fromEntries(
    Object.entries(memory.done).filter(([, at]) => at >= (memory.seenAt ?? 0) - overlapMs),
  );
  await options.keep(memory);
  return taken;
}

async function readAttempts(seenAt: number | null, api: AppApi): Promise<DeliveryAttempt[]> {
  const since = seenAt === null ? 0 : seenAt - overlapMs;
  const attempts: DeliveryAttempt[] = [];
  let pages = 0;
  for await (const page of api.deliveries()) {
    const news = page.filter(({ at }) => at >= since);
    attempts.push(...news);
    if (news.length < page.length || ++pages === mostPages) break;
  }
  return attempts;
}

/** The newest attempt of each delivery that never got a success response, the oldest delivery first. */
function failedOf(attempts: readonly DeliveryAttempt[]): DeliveryAttempt[] {
  const delivered = new Set(attempts.filter((one) => one.isDelivered).map(({ guid }) => guid));
  const newest = new Map<string, DeliveryAttempt>();
  for (const attempt of attempts) {
    if (!delivered.has(attempt.guid) && !newest.has(attempt.guid)) newest.set(attempt.guid, attempt);
  }
  return [...newest.values()].sort((a, b) => a.at - b.at || a.id - b.id);
}

/** A delivery that GitHub does not show any more is lost. */
async function takeUp(
  attempt: DeliveryAttempt,
  since: number,
  options: DeliveryOptions,
): Promise<"taken" | "nothing" | "unanswered"> {
  const { api, upkeep, log } = options;
  const { guid, event, action } = attempt;
  const fields = { delivery: guid, event, action };
  try {
    const payload = await api.payload(attempt.id);
    const jobs = await upkeep.jobsOf(event, payload);
    const wanted = attempt.at < since ? await withoutReplays(jobs, options) : jobs;
    if (wanted.length === 0) return "nothing";
    const isNew = await upkeep.queue.accept({ id: guid, event, action }, wanted);
    if (isNew) log.info(fields, "A failed delivery was processed");
    return isNew ? "taken" : "nothing";
  } catch (error) {
    const isRefused = isRefusal(error);
    if (!isRefused && !isUnanswered(error)) throw error;
    const what = isRefused ? "is lost" : "cannot be processed yet";
    log.warn({ ...fields, err: error }, `A failed delivery ${what}: ${errorLine(error)}`);
    return isRefused ? "nothing" : "unanswered";
  }
}

/**
 * A failed delivery older than the database may have been taken up before the database was lost. Reviews of events find their check run; a
 * person's request is left out if we have shown that we saw it. So is a re-run, which leaves no sign.
 */
async function withoutReplays(
  jobs: readonly NewJob[],
  { upkeep, signal }: DeliveryOptions,
): Promise<NewJob[]> {
  const wanted: NewJob[] = [];
  for (const job of jobs) {
    const { task } = job;
    const isRerun = task.kind === "review" && task.again;
    const isSeen = "commentId" in task && (await wasSeen(task, upkeep, signal));
    if (!isRerun && !isSeen) wanted.push(job);
  }
  return wanted;
}

type InComment = Extract<NewJob["task"], { commentId: unknown }>;

async function wasSeen(task: InComment, { access }: Upkeep, signal: AbortSignal): Promise<boolean> {
  const { repository, commentId: id, thread } = task;
  if (id === null) return false;
  const api = await access.installation(repository.installation, signal);
  try {
    return await api.wasSeen(repository, { id, thread });
  } catch (error) {
    // If we may not see it, the job recognises its own answer below it.
    if (error instanceof AppError && error.code === "github_forbidden") return false;
    throw error;
  }
}

export interface ReconcileOptions {
  upkeep: Upkeep;
  signal: AbortSignal;
  log: JobLog;
  now: () => number;
}

/** Takes up what the App as a whole missed: first failed deliveries, then its installations, each in its own job. Purges those that are gone. */
export async function reconcileApp({ upkeep, signal, log, now }: ReconcileOptions): Promise<JobOutcome> {
  const { notes, queue } = upkeep;
  await notes.write(lastRunNote, String(now()));
  const memory = await readAppMemory(notes, now());
  const api = upkeep.access.app(signal);
  const keep = (deliveries: AppMemory["deliveries"]) => {
    memory.deliveries = deliveries;
    return writeAppMemory(notes, memory);
  };
  const taken = await ifShown("failed deliveries", log, () =>
    takeUpDeliveries(memory, { api, upkeep, signal, log, keep }),
  );
  const installations = await wholeList(api.installations());
  const present = installations.filter(({ isSuspended }) => !isSuspended);
  const gone = await goneAmong(memory.installations, installations, api);
  for (const id of gone) await queue.enqueue(purgeJob(id, null));
  // Before the installations' jobs, which read it there.
  await writeAppMemory(notes, { ...memory, installations });
  for (const { id } of present) await queue.enqueue(reconcileJob(id));
  const reason = `${taken ?? 0} failed deliveries processed, ${present.length} installations to check`;
  return { kind: "done", reason };
}

async function lastRun(notes: Notes): Promise<number | null> {
  const text = await notes.read(lastRunNote);
  return text === null ? null : Number(text);
}

/** The installations that GitHub says are gone: absence from the list is not enough. */
async function goneAmong(
  known: AppMemory["installations"],
  listed: AppMemory["installations"],
  api: AppApi,
): Promise<number[]> {
  const gone: number[] = [];
  for (const { id } of known) {
    if (!listed.some((one) => one.id === id) && (await api.installation(id)) === null) gone.push(id);
  }
  return gone;
}

/** An App with a disabled webhook has no deliveries but still has pull requests. */
async function ifShown<T>(what: string, log: JobLog, look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (!isRefusal(error) && !isUnanswered(error)) throw error;
    log.warn({ err: error }, `GitHub does not show ${what}: ${errorLine(error)}`);
    return undefined;
  }
}

interface RhythmOptions {
  queue: Pick<Queue, "enqueue">;
  notes: Notes;
  everyMs: number;
  /** Called when there is something to do. */
  onEnqueued: () => void;
  log: JobLog;
  /** Resolves after this many milliseconds, or when the signal fires. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  now?: () => number;
}

/**
 * Reconciles the App at the start of this process, and then `everyMs` after the last run of any process. Resolves when the signal fires.
 */
export async function keepReconciling(options: RhythmOptions, signal: AbortSignal): Promise<void> {
  const { queue, notes, everyMs, onEnqueued, log } = options;
  const { sleep = sleepUnlessAborted, now = Date.now } = options;
  if (everyMs <= 0) return;
  let isStart = true;
  while (!signal.aborted) {
    let wait = everyMs;
    try {
      const last = isStart ? null : await lastRun(notes);
      const left = last === null ? 0 : last + everyMs - now();
      // A much later time means that the clock of the process that recorded it was wrong.
      if (left > 0 && left <= 2 * everyMs) wait = Math.min(left, everyMs);
      else {
        await queue.enqueue(reconcileJob());
        onEnqueued();
      }
      isStart = false;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, `The check for missed events is postponed: ${errorLine(error)}`);
      wait = Math.min(everyMs, 60_000);
    }
    await sleep(wait, signal);
  }
}
