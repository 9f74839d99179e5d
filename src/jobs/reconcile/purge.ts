import { AppError } from "../../errors.ts";
import type { JobOutcome, PurgeTask } from "../../queue/job.ts";
import type { Upkeep } from "../job-dependencies.ts";
import { installationNote, readInstallationMemory, writeInstallationMemory } from "./memory.ts";

type Named = NonNullable<PurgeTask["repositories"]>;

interface PurgeOptions {
  upkeep: Upkeep;
  signal: AbortSignal;
}

/**
 * Deletes all stored data of an installation, or of some of its repositories: waiting and finished jobs with their records, spending,
 * memory, mirrors and checkouts. Skips what GitHub says the App can see (again). Lets a running job finish; the purge runs again for it.
 */
export async function purge(task: PurgeTask, options: PurgeOptions): Promise<JobOutcome> {
  const { upkeep } = options;
  const { installation } = task;
  const doomed = await doomedOf(task, options);
  if (doomed === null) return { kind: "skipped", reason: "the App has access to it again" };
  const { running } = await upkeep.queue.forget(
    installation,
    task.repositories && doomed.map(({ id }) => id),
  );
  const inUse: string[] = [];
  for (const { id, owner, name } of doomed) {
    if (!(await upkeep.removeRepository({ id }))) inUse.push(`${owner}/${name}`);
  }
  if (running > 0 || inUse.length > 0) throw stillInUse(running, inUse);
  await forgetNotes(task, doomed, upkeep);
  return { kind: "done", reason: `${doomed.length} repositories of installation ${installation} purged` };
}

/** The repositories to purge, if their names are known; null if there is nothing to purge. */
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

/** Comes last: only these notes have the names of what is left to delete. */
async function forgetNotes({ installation, repositories }: PurgeTask, doomed: Named, { notes }: Upkeep) {
  const known = repositories === null ? null : await readInstallationMemory(notes, installation);
  if (known === null) {
    return notes.remove(installationNote(installation));
  }
  const isDoomed = (id: number) => doomed.some((one) => one.id === id);
  const looks = Object.entries(known.looks).filter(([id]) => !isDoomed(Number(id)));
  // Without its ETag: the list has changed.
  const pages = known.repositories.map((page) => ({
    ...page,
    etag: null,
    items: page.items.filter(({ id }) => !isDoomed(id)),
  }));
  const left = { ...known, repositories: pages, looks: Object.fromEntries(looks) };
  await writeInstallationMemory(notes, installation, left);
}

/** Retries every minute. An error of the data folder does not count as an attempt for a day, and the longest review ends before that. */
function stillInUse(running: number, inUse: readonly string[]): AppError {
  const what = inUse.length > 0 ? inUse.join(", ") : `${running} running jobs`;
  return new AppError(
    "data_folder_unusable",
    `Some data is not deleted yet, because it is still in use: ${what}`,
    {
      retryable: true,
      retryAfterMs: 60_000,
    },
  );
}
