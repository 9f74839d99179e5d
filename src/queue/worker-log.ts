import type { ClaimedJob } from "./job.ts";

/** The part of a logger that a worker needs. */
export interface WorkerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The fields that every log line about a job carries. */
export function jobFields({ id, task, deliveryId }: ClaimedJob): Record<string, unknown> {
  const repo = "repository" in task ? `${task.repository.owner}/${task.repository.name}` : undefined;
  const pull = "pull" in task ? task.pull : undefined;
  return { job: id, delivery: deliveryId ?? undefined, repo, pull, head: task.headSha ?? undefined };
}
