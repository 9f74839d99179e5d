import { errorLine } from "../../errors.ts";
import type { AppApi, Installation, KnownPage } from "../../github/app-client.ts";
import type { JobOutcome } from "../../queue/job.ts";
import type { Notes } from "../../queue/notes.ts";
import { isRefusal, isUnanswered } from "../attempts.ts";
import type { JobLog } from "../job-dependencies.ts";
import { purgeJob, reconcileJob } from "../new-jobs.ts";
import type { Upkeep } from "../upkeep.ts";
import { takeUpDeliveries } from "./failed-deliveries.ts";
import { type AppMemory, lastRunNote, readAppMemory, writeAppMemory } from "./memory.ts";

export interface ReconcileOptions {
  upkeep: Upkeep;
  signal: AbortSignal;
  log: JobLog;
  /** Milliseconds since 1970. */
  now: () => number;
}

/**
 * Looks for what the App as a whole has missed: deliveries that failed first, for what they tell needs not be found out again;
 * then its installations, each of which is looked at by a job of its own. One that is gone is purged.
 */
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
  const { pages, gone } = await readInstallations(memory.installations, api);
  const present = pages.flatMap(({ items }) => items).filter(({ isSuspended }) => !isSuspended);
  for (const id of gone) await queue.enqueue(purgeJob(id, null));
  // Before their jobs, which read it there; after those that are gone, or nobody would know of them any more.
  await writeAppMemory(notes, { ...memory, installations: pages });
  for (const { id } of present) await queue.enqueue(reconcileJob(id));
  const reason = `${taken ?? 0} failed deliveries taken up, ${present.length} installations to be looked at`;
  return { kind: "done", reason };
}

/** When a run for the App began last; null where none has. */
export async function lastRun(notes: Notes): Promise<number | null> {
  const text = await notes.read(lastRunNote);
  return text === null ? null : Number(text);
}

/** All installations, and those that GitHub says are gone: a list alone is not believed. */
async function readInstallations(known: readonly KnownPage<Installation>[], api: AppApi) {
  const pages: KnownPage<Installation>[] = [];
  for await (const { etag, next, items } of api.installations(known)) pages.push({ etag, next, items });
  const listed = new Set(pages.flatMap(({ items }) => items.map(({ id }) => id)));
  const gone: number[] = [];
  for (const { id } of known.flatMap(({ items }) => items)) {
    if (!listed.has(id) && (await api.installation(id)) === null) gone.push(id);
  }
  return { pages, gone };
}

/** An App whose webhook is switched off has no deliveries, and still has pull requests; so has one whose list is out of order. */
async function ifShown<T>(what: string, log: JobLog, look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (!isRefusal(error) && !isUnanswered(error)) throw error;
    log.warn({ err: error }, `GitHub does not show ${what}: ${errorLine(error)}`);
    return undefined;
  }
}
