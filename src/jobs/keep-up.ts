import type { ClaimedJob, JobOutcome, PurgeTask, ReconcileTask } from "../queue/job.ts";
import type { JobTools } from "../queue/run-job.ts";
import type { JobDependencies } from "./job-dependencies.ts";
import { purge } from "./purge.ts";
import { reconcileApp } from "./reconcile/reconcile-app.ts";
import { reconcileInstallation } from "./reconcile/reconcile-installation.ts";

export type UpkeepJob = ClaimedJob & { task: ReconcileTask | PurgeTask };

/** Looks for what was missed, or deletes what is kept of whoever has taken the App off. */
export async function keepUp(
  { task }: UpkeepJob,
  { signal }: Pick<JobTools, "signal">,
  { upkeep, now, log }: Pick<JobDependencies, "upkeep" | "now" | "log">,
): Promise<JobOutcome> {
  if (!upkeep) return { kind: "skipped", reason: "nothing but reviews is done here" };
  if (task.kind === "purge") return purge(task, { upkeep, signal });
  const options = { upkeep, signal, log, now };
  return task.installation === null
    ? reconcileApp(options)
    : reconcileInstallation(task.installation, options);
}
