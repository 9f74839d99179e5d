import type { StartEntry, TrajectoryEntry } from "../agent/trajectory.ts";
import type { JobTools } from "../queue/run-job.ts";

/** Puts on record what work for a model begins with: once for all attempts that begin in the same way. */
export async function recordStart(
  start: StartEntry,
  recorded: readonly TrajectoryEntry[],
  { record }: Pick<JobTools, "record">,
): Promise<void> {
  const written = JSON.stringify(start);
  if (!recorded.some((entry) => entry.kind === "run" && JSON.stringify(entry) === written))
    await record(start);
}
