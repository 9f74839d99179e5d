import { AppError } from "../../errors.ts";
import type { Outcome, PurgeTask } from "../../queue/job.ts";
import type { Upkeep } from "../job-dependencies.ts";
import { trafficNotes } from "../pacings.ts";
import { installationNote, readInstallationMemory, writeInstallationMemory } from "./memory.ts";

type Named = NonNullable<PurgeTask["repositories"]>;

export interface PurgeOptions {
  upkeep: Upkeep;
  signal: AbortSignal;
}

/**
 * Deletes all that is kept of an installation, or of some of its repositories: waiting and ended jobs with what they recorded,
 * what was spent, what is remembered, mirrors and checkouts. What GitHub says the App can see (again) is left alone. A job that
 * runs is left to end; the purge comes back for it.
 */
export async function purge(task: PurgeTask, options: PurgeOptions): Promise<Outcome> {
  const { upkeep } = options;
  const { installation } = task;
  const doomed = await doomedOf(task, options);
  if (doomed === null) return { kind: "skipped", reason: "the App can see it again" };
  const { running } = await upkeep.queue.forget(
    installation,
    task.repositories && doomed.map(({ id }) => id),
  );
  const inUse: string[] = [];
  for (const { owner, name } of doomed) {
    if (!(await upkeep.removeRepository({ owner, name }))) inUse.push(`${owner}/${name}`);
  }
  if (running > 0 || inUse.length > 0) throw stillInUse(running, inUse);
  await forgetNotes(task, doomed, upkeep);
  return { kind: "done", reason: `${doomed.length} repositories of installation ${installation} purged` };
}

/** The repositories to be purged, as far as they are known by name; null where nothing is to be. */
async function doomedOf(
  { installation, repositories }: PurgeTask,
  { upkeep, signal }: PurgeOptions,
): Promise<Named | null> {
  const present = await upkeep.access.app(signal).installation(installation);
  if (repositories === null) {
    if (present !== null) return null;
    const known = await readInstallationMemory(upkeep.notes, installation);
    return (known?.repositories ?? []).flatMap(({ items }) => items);
  }
  if (present === null || present.isSuspended) return repositories;
  const api = await upkeep.access.installation(installation, signal);
  const visible = new Set<number>();
  for await (const { items } of api.repositories([])) for (const { id } of items) visible.add(id);
  const doomed = repositories.filter(({ id }) => !visible.has(id));
  return doomed.length > 0 ? doomed : null;
}

/** After everything else: the names of what is left to delete stand there alone. */
async function forgetNotes({ installation, repositories }: PurgeTask, doomed: Named, { notes }: Upkeep) {
  const known = repositories === null ? null : await readInstallationMemory(notes, installation);
  if (known === null) {
    const names = [installationNote(installation), ...Object.values(trafficNotes(installation))];
    for (const name of names) await notes.remove(name);
    return;
  }
  const isDoomed = (id: number) => doomed.some((one) => one.id === id);
  const looks = Object.entries(known.looks).filter(([id]) => !isDoomed(Number(id)));
  // Without its ETag: the list is not what it was any more.
  const pages = known.repositories.map((page) => ({
    ...page,
    etag: null,
    items: page.items.filter(({ id }) => !isDoomed(id)),
  }));
  const left = { ...known, repositories: pages, looks: Object.fromEntries(looks) };
  await writeInstallationMemory(notes, installation, left);
}

/** Comes back every minute; what is of the data folder counts no attempt for a day, and the longest review ends before. */
function stillInUse(running: number, inUse: readonly string[]): AppError {
  const what = inUse.length > 0 ? inUse.join(", ") : `${running} running jobs`;
  return new AppError("data_folder_unusable", `Not all is deleted yet, still in use: ${what}`, {
    retryable: true,
    retryAfterMs: 60_000,
  });
}
