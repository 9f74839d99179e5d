import { z } from "zod";
import { errorLine } from "../../../core/errors.ts";
import type {
  AppApi,
  DeliveryAttempt,
  InstallationApi,
  InstalledRepository,
  OpenPull,
} from "../../../pull/github/app-client.ts";
import { wholeList } from "../../../pull/github/client.ts";
import { isReview, ownOf } from "../../../pull/publish/check-run.ts";
import { isNoReview } from "../../../pull/publish/conclusions.ts";
import { checkRunKey } from "../../../pull/publish/existing.ts";
import { sleepUnlessAborted } from "../../queue/database.ts";
import {
  askedBy,
  eventReview,
  fromJson,
  type JobOutcome,
  keyOf,
  missedPriority,
  purgeJob,
  type RepositoryRef,
  reconcileJob,
} from "../../queue/job.ts";
import type { Queue } from "../../queue/queue.ts";
import type { JobLog } from "../../queue/run-job.ts";
import type { Notes } from "../../queue/stores.ts";
import { isRefusal, isUnanswered, triggerOf } from "../attempts.ts";
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
type SeenPull = z.infer<typeof SeenPull>;

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
type Look = z.infer<typeof Look>;

const InstallationMemory = z.object({
  /** Number of pull requests taken up without any activity since the App was installed. */
  early: z.int(),
  repositories: z.array(z.object({ id: z.int(), owner: z.string(), name: z.string() })),
  looks: z.record(z.string(), Look),
});
type InstallationMemory = z.infer<typeof InstallationMemory>;

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

const readAs = async <T>(shape: z.ZodType<T>, notes: Notes, name: string): Promise<T | null> =>
  fromJson(shape, (await notes.read(name)) ?? "") ?? null;

interface DeliveryOptions extends Omit<ReconcileOptions, "now"> {
  api: AppApi;
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
    // Before a lost database, a request may have been carried out; its author can ask again. A review of an event finds its check run.
    const wanted = attempt.at < since ? jobs.filter(({ task }) => askedBy(task) === null) : jobs;
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

interface ReconcileOptions {
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
  const options = { api, upkeep, signal, log, keep };
  const taken = await takeUpDeliveries(memory, options).catch((error: unknown) => {
    // An App with a disabled webhook has no deliveries but still has pull requests.
    if (!isRefusal(error) && !isUnanswered(error)) throw error;
    log.warn({ err: error }, `GitHub does not show failed deliveries: ${errorLine(error)}`);
    return 0;
  });
  const installations = await wholeList(api.installations());
  const present = installations.filter(({ isSuspended }) => !isSuspended);
  const isListed = (id: number) => installations.some((one) => one.id === id);
  // Those that GitHub says are gone: absence from the list is not enough.
  for (const { id } of memory.installations)
    if (!isListed(id) && (await api.installation(id)) === null) await queue.enqueue(purgeJob(id, null));
  // After the purge of those that are gone, which would be forgotten otherwise.
  await writeAppMemory(notes, { ...memory, installations });
  for (const { id } of present) await queue.enqueue(reconcileJob(id));
  const reason = `${taken} failed deliveries processed, ${present.length} installations to check`;
  return { kind: "done", reason };
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
      const last = isStart ? null : await notes.read(lastRunNote);
      const left = last === null ? 0 : Number(last) + everyMs - now();
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

/* The pull requests of one installation. */

interface LookOptions {
  api: InstallationApi;
  queue: Pick<Queue, "enqueue" | "knows">;
  /** What is left: requests, and pull requests without any activity since the App was installed. */
  allowance: { requests: number; early: number };
  /** When the run began. */
  now: number;
  onMissed: (pull: OpenPull) => void;
}

const hourMs = 3_600_000;
/** People are still looking at a pull request with activity this recent, however late the App was installed. */
const freshMs = 48 * hourMs;
/** How far a look reaches back before the last one: a review in progress then may have failed since. */
const lookBackMs = 2 * hourMs;
/** A head whose reviews fail again and again is skipped until something happens in its pull request. */
const mostTries = 2;

/**
 * Takes up the open pull requests of a repository with activity since the last look, if their head has no review and none is pending. The
 * first look reaches back to the App's installation, and at least two days. If the allowance ends, the next look reaches back as far.
 */
async function lookAtRepository(
  repository: RepositoryRef,
  before: Look,
  options: LookOptions,
): Promise<Look> {
  const { api, allowance, now } = options;
  const { lookedAt, firstSeen } = before;
  const since = lookedAt === null ? Math.min(firstSeen, now - freshMs) : lookedAt - lookBackMs;
  const pulls: Look["pulls"] = {};
  let isWhole = true;
  for await (const page of api.pulls(repository, "open")) {
    allowance.requests--;
    const news = page.filter(({ updatedAt }) => updatedAt >= since);
    for (const pull of news) {
      if (allowance.requests <= 0) isWhole = false;
      const known = before.pulls[pull.number];
      const seen = isWhole ? await lookAtPull(repository, pull, known, before.firstSeen, options) : known;
      if (seen) pulls[pull.number] = seen;
    }
    if (!isWhole || news.length < page.length) break;
  }
  return { ...before, pulls, lookedAt: isWhole ? now : before.lookedAt, triedAt: now };
}

async function lookAtPull(
  repository: RepositoryRef,
  pull: OpenPull,
  known: SeenPull | undefined,
  firstSeen: number,
  { api, queue, allowance, onMissed }: LookOptions,
): Promise<SeenPull | undefined> {
  const { number, headSha, baseRef, updatedAt } = pull;
  const before = known?.headSha === headSha && known.baseRef === baseRef ? known : undefined;
  if (before?.isReviewed || (await queue.knows(keyOf(repository, number), headSha))) return before;
  const isAsBefore = before?.updatedAt === updatedAt;
  if (isAsBefore && before.tries >= mostTries) return before;
  const isEarly = updatedAt < firstSeen;
  if (isEarly && allowance.early <= 0) return before;
  allowance.requests--;
  const check = await checkOf(repository, pull, api);
  const seen = { headSha, baseRef, updatedAt, isReviewed: false, tries: isAsBefore ? before.tries : 0 };
  const own = check === "hidden" ? undefined : check && ownOf(check);
  if (own && isReview(own)) return { ...seen, isReviewed: true };
  // A job has looked at it in this state, and recorded why it is skipped (a draft, a label).
  const isSettled = check === "hidden" || (own && !isNoReview(own.title));
  if (isAsBefore && isSettled) return { ...seen, tries: mostTries };
  if (isEarly) allowance.early--;
  await queue.enqueue(eventReview(repository, number, headSha, { priority: missedPriority }));
  onMissed(pull);
  return { ...seen, tries: seen.tries + 1 };
}

/** Our check run of the head for events; "hidden" if we may not see it. */
async function checkOf(repository: RepositoryRef, pull: OpenPull, api: InstallationApi) {
  const { number, headSha: head, baseRef } = pull;
  const trigger = triggerOf({ trigger: `event#${number}`, requestedBy: null }, { baseRef });
  try {
    const runs = await api.repository(repository).checkRuns(head);
    return runs.find(({ externalId }) => externalId === checkRunKey({ head, trigger }));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return "hidden";
  }
}

/** Of the 5,000 that GitHub grants an installation in an hour. */
const mostRequests = 200;
/** How many requests an unanswered one counts for. */
const unansweredCosts = 20;
/** At most this many pull requests of an installation without activity since it was made: the App does not review everything at once. */
const mostEarly = 20;

/** Looks for missed pull requests of an installation. Starts with the repository whose last attempt is oldest. */
export async function reconcileInstallation(id: number, options: ReconcileOptions): Promise<JobOutcome> {
  const { upkeep, signal, log } = options;
  // A run without news asks for the lists alone.
  const about = () => upkeep.access.app(signal).installation(id);
  try {
    const api = await upkeep.access.installation(id, signal);
    return await lookAround(api, id, about, options);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const installation = await about();
    if (installation === null) return { kind: "skipped", reason: "the App is no longer installed there" };
    if (installation.isSuspended) return { kind: "skipped", reason: "the installation is suspended" };
    log.warn({ installation: id, err: error }, `The installation was not checked: ${errorLine(error)}`);
    return { kind: "skipped", reason: "GitHub refuses access to the installation" };
  }
}

async function lookAround(
  api: InstallationApi,
  id: number,
  about: () => Promise<{ createdAt: number } | null>,
  options: ReconcileOptions,
): Promise<JobOutcome> {
  const { upkeep, log } = options;
  const now = options.now();
  const known = await readInstallationMemory(upkeep.notes, id);
  const before = known ?? { early: 0, repositories: [], looks: {} };
  const allowance = { requests: mostRequests, early: mostEarly - before.early };
  const repositories: InstalledRepository[] = [];
  for await (const page of api.repositories()) {
    allowance.requests--;
    repositories.push(...page);
  }
  // Repositories that are new to us were added now, unless nothing is known yet.
  const firstSeen = known === null ? ((await about())?.createdAt ?? now) : now;
  const unseen: Look = { firstSeen, lookedAt: null, triedAt: 0, pulls: {} };
  const gone = before.repositories.filter((one) => !repositories.some((present) => present.id === one.id));
  // The purge of a repository that is gone deletes its look.
  const memory = { ...before, repositories, looks: { ...before.looks } };
  if (gone.length > 0) await upkeep.queue.enqueue(purgeJob(id, gone));
  let missed = 0;
  try {
    const triedAt = ({ id }: InstalledRepository) => memory.looks[id]?.triedAt ?? 0;
    for (const repository of repositories.toSorted((a, b) => triedAt(a) - triedAt(b))) {
      if (allowance.requests <= 0) break;
      const look = memory.looks[repository.id] ?? unseen;
      memory.looks[repository.id] = repository.isBusy
        ? await lookIfShown(repository, look)
        : { ...look, lookedAt: now, triedAt: now, pulls: {} };
    }
  } finally {
    memory.early = mostEarly - allowance.early;
    await writeInstallationMemory(upkeep.notes, id, memory);
  }
  return { kind: "done", reason: `${missed} pull requests were missed` };

  async function lookIfShown(listed: InstalledRepository, look: Look): Promise<Look> {
    const { owner, name } = listed;
    const repository = { installation: id, id: listed.id, owner, name };
    const fields = { repo: `${owner}/${name}` };
    try {
      return await lookAtRepository(repository, look, {
        api,
        allowance,
        now,
        queue: upkeep.queue,
        onMissed: ({ number: pull, headSha: head }) => {
          missed++;
          log.info({ ...fields, pull, head }, "A pull request was missed");
        },
      });
    } catch (error) {
      if (!isRefusal(error) && !isUnanswered(error)) throw error;
      if (isUnanswered(error)) allowance.requests -= unansweredCosts;
      log.warn({ ...fields, err: error }, `Its pull requests could not be listed: ${errorLine(error)}`);
      // The next look reaches back as far.
      return { ...look, triedAt: now };
    }
  }
}
