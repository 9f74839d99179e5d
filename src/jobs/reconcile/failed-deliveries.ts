import { AppError, errorLine } from "../../errors.ts";
import type { AppApi, DeliveryAttempt, KnownPage } from "../../github/app-client.ts";
import type { NewJob, RepositoryRef } from "../../queue/job.ts";
import { isRefusal, isUnanswered } from "../attempts.ts";
import type { JobLog } from "../job-dependencies.ts";
import type { Upkeep } from "../upkeep.ts";
import type { AppMemory, DeliveryMemory } from "./memory.ts";

export interface DeliveryOptions {
  api: AppApi;
  upkeep: Upkeep;
  signal: AbortSignal;
  log: JobLog;
  /** Stores what is remembered, after each delivery. */
  keep: (memory: DeliveryMemory) => Promise<void>;
}

/** The rest is taken up by the next run, so that an hour of downtime is not worked off in one go. */
const mostInARun = 100;
/** 10,000 deliveries. */
const mostPages = 100;
/** GitHub has something worse than deliveries it cannot show: the rest waits for the next run. */
const mostUnanswered = 3;
/** A delivery is listed when it has ended, which may be after one that began later. */
const overlapMs = 10 * 60_000;

/**
 * Takes up the deliveries that failed since the last one seen, oldest first: each goes the way of a webhook, under its own id,
 * so that it does no more when it comes once more. One for which GitHub has no answer is asked for again by the next run.
 * Resolves to how many started something.
 */
export async function takeUpDeliveries(
  { since, deliveries }: Pick<AppMemory, "since" | "deliveries">,
  options: DeliveryOptions,
): Promise<number> {
  const { attempts, firstPage } = await readAttempts(deliveries, options.api);
  const failed = failedOf(attempts).filter(
    ({ guid, event, action }) => !(guid in deliveries.done) && options.upkeep.handles(event, action),
  );
  const memory: DeliveryMemory = { ...deliveries, pages: firstPage };
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
  // Past what follows from nothing, too; but past nothing that is left for the next run.
  const newest = attempts.reduce((latest, { at }) => Math.max(latest, at), memory.seenAt ?? 0);
  if (failed.length <= mostInARun && unanswered === 0 && newest > 0) memory.seenAt = newest;
  memory.done = Object.fromEntries(
    Object.entries(memory.done).filter(([, at]) => at >= (memory.seenAt ?? 0) - overlapMs),
  );
  await options.keep(memory);
  return taken;
}

/** All attempts since the last one seen, and the newest page of them to be remembered. */
async function readAttempts({ seenAt, pages: known }: DeliveryMemory, api: AppApi) {
  const since = seenAt === null ? 0 : seenAt - overlapMs;
  const attempts: DeliveryAttempt[] = [];
  const pages: KnownPage<DeliveryAttempt>[] = [];
  for await (const { etag, next, items: listed } of api.deliveries(known)) {
    const items = listed.filter(({ at }) => at >= since);
    const isLast = items.length < listed.length;
    attempts.push(...items);
    pages.push({ etag, next: isLast ? null : next, items });
    if (isLast || pages.length === mostPages) break;
  }
  return { attempts, firstPage: pages.slice(0, 1) };
}

/** The newest attempt at each delivery that nobody answered with a success, the oldest delivery first. */
function failedOf(attempts: readonly DeliveryAttempt[]): DeliveryAttempt[] {
  const delivered = new Set(attempts.filter((one) => one.isDelivered).map(({ guid }) => guid));
  const newest = new Map<string, DeliveryAttempt>();
  for (const attempt of attempts) {
    if (!delivered.has(attempt.guid) && !newest.has(attempt.guid)) newest.set(attempt.guid, attempt);
  }
  return [...newest.values()].sort((a, b) => a.at - b.at || a.id - b.id);
}

/** What GitHub does not show any more is gone for good. */
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
    if (isNew) log.info(fields, "A delivery that failed was taken up");
    return isNew ? "taken" : "nothing";
  } catch (error) {
    const isRefused = isRefusal(error);
    if (!isRefused && !isUnanswered(error)) throw error;
    const what = isRefused ? "is lost" : "cannot be taken up yet";
    log.warn({ ...fields, err: error }, `A delivery that failed ${what}: ${errorLine(error)}`);
    return isRefused ? "nothing" : "unanswered";
  }
}

/**
 * Older than the database, a failed delivery may have been taken up before, and the database lost since. Reviews of events find
 * their check run. What a person asked for in a comment is left out where we have shown that we saw it: its review would be made
 * once more for a head that was pushed later. So is a re-run, which leaves no sign.
 */
async function withoutReplays(
  jobs: readonly NewJob[],
  { upkeep, signal }: DeliveryOptions,
): Promise<NewJob[]> {
  const wanted: NewJob[] = [];
  for (const job of jobs) {
    const { task } = job;
    const isRerun = task.kind === "review" && task.again;
    const isSeen = "commentId" in task && task.commentId !== null && (await wasSeen(task, upkeep, signal));
    if (!isRerun && !isSeen) wanted.push(job);
  }
  return wanted;
}

interface InComment {
  repository: RepositoryRef;
  commentId: number | null;
  thread: number | null;
}

async function wasSeen(
  { repository, commentId: id, thread }: InComment,
  { access }: Upkeep,
  signal: AbortSignal,
): Promise<boolean> {
  if (id === null) return false;
  const api = await access.installation(repository.installation, signal);
  try {
    return await api.wasSeen(repository, { id, thread });
  } catch (error) {
    // Where we may not see it, the answer that stands below it tells whoever does the job.
    if (error instanceof AppError && error.code === "github_forbidden") return false;
    throw error;
  }
}
