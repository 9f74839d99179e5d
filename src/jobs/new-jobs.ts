import type { NewJob, PurgeTask, RepositoryRef } from "../queue/job.ts";

/*
 * Jobs that more than one cause starts: a webhook, and reconciling, which makes up for one that never came.
 */

/** Jobs of one pull request never run at the same time. */
export const keyOf = (repository: RepositoryRef, pull: number) => `${repository.id}#${pull}`;

/** A review of whatever the pull request is now, as an event asks for it. */
export function eventReview(
  repository: RepositoryRef,
  pull: number,
  headSha: string,
  how: Partial<Pick<NewJob, "priority" | "debounceMs">> = {},
): NewJob {
  const task = {
    ...{ kind: "review" as const, mode: "new" as const, again: false },
    ...{ repository, pull, headSha, trigger: `event#${pull}` },
    ...{ thread: null, commentId: null, requestedBy: null },
  };
  return { task, concurrencyKey: keyOf(repository, pull), coalesce: true, priority: 0, ...how };
}

/** What was missed is looked for in idle moments: everything that somebody waits for comes first. */
const reconcilePriority = -2;
/** A review that nobody was seen to ask for, before further looking. */
export const missedPriority = -1;

/** Looks for what was missed: of an installation, or of the App as a whole. */
export function reconcileJob(installation: number | null = null): NewJob {
  return {
    task: { kind: "reconcile", installation, headSha: null },
    concurrencyKey: installation === null ? "reconcile" : keyOfInstallation(installation),
    coalesce: true,
    priority: reconcilePriority,
  };
}

/** Deletes all that is kept of an installation, or of these repositories of it. */
export function purgeJob(installation: number, repositories: PurgeTask["repositories"]): NewJob {
  return {
    task: { kind: "purge", installation, repositories, headSha: null },
    concurrencyKey: keyOfInstallation(installation),
    coalesce: false,
    priority: 0,
  };
}

/** Both read and write what is remembered of an installation. */
const keyOfInstallation = (installation: number) => `installation#${installation}`;
