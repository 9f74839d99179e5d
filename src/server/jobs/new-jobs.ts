import {
  keyOf,
  type NewJob,
  type PurgeTask,
  type RecountTask,
  type RepositoryRef,
  type ReviewTask,
} from "../queue/job.ts";

/*
 * Jobs that more than one cause starts: a webhook, and reconciling, which makes up for lost webhooks.
 */

/** A review of the pull request's present state, as an event asks for it. */
export function eventReview(
  repository: RepositoryRef,
  pull: number,
  headSha: string,
  how: Partial<Pick<NewJob, "priority" | "debounceMs">> = {},
): NewJob {
  const task: ReviewTask = {
    kind: "review",
    mode: "new",
    again: false,
    repository,
    pull,
    headSha,
    trigger: `event#${pull}`,
    thread: null,
    commentId: null,
    requestedBy: null,
  };
  return { task, concurrencyKey: keyOf(repository, pull), coalesce: true, priority: 0, ...how };
}

/** Looking for missed events is idle work: everything that people wait for comes first. */
const reconcilePriority = -2;
/** A review without a known request, before further looking. */
export const missedPriority = -1;

/** Looks for missed events of an installation, or of the App as a whole. */
export function reconcileJob(installation: number | null = null): NewJob {
  return {
    task: { kind: "reconcile", installation, headSha: null },
    concurrencyKey: installation === null ? "reconcile" : keyOfInstallation(installation),
    coalesce: true,
    priority: reconcilePriority,
  };
}

/** Deletes all stored data of an installation, or of these repositories of it. */
export function purgeJob(installation: number, repositories: PurgeTask["repositories"]): NewJob {
  return {
    task: { kind: "purge", installation, repositories, headSha: null },
    concurrencyKey: keyOfInstallation(installation),
    coalesce: false,
    priority: 0,
  };
}

/** Counts findings again; of the whole App, an installation or a repository. */
export function recountJob(task: Pick<RecountTask, "installation" | "only" | "since">): NewJob {
  const { installation, only } = task;
  return {
    task: { kind: "recount", ...task, headSha: null },
    concurrencyKey: `recount ${installation ?? "all"} ${only?.id ?? "all"}`,
    coalesce: true,
    priority: reconcilePriority,
  };
}

/** Both kinds of jobs read and write the memory of an installation. */
const keyOfInstallation = (installation: number) => `installation#${installation}`;
