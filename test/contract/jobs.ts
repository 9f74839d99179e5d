import type { NewJob } from "../../src/server/queue/job.ts";
import type { Delivery } from "../../src/server/queue/queue.ts";

export const leaseMs = 30_000;

/** A review job of a pull request, as an event creates it. */
export function reviewJob(pull: number, changes: Partial<NewJob> & { headSha?: string } = {}): NewJob {
  const { headSha = "a".repeat(40), ...rest } = changes;
  return {
    task: {
      kind: "review",
      mode: "new",
      again: false,
      repository: { installation: 1, id: 7, owner: "octo", name: "shop" },
      pull,
      headSha,
      trigger: "event",
      thread: null,
      commentId: null,
      requestedBy: null,
    },
    concurrencyKey: `7#${pull}`,
    coalesce: true,
    priority: 0,
    ...rest,
  };
}

/** A job as a comment creates it. */
export function commandJob(pull: number, commentId: number): NewJob {
  const job = reviewJob(pull, { coalesce: false, priority: 10 });
  const asked = { headSha: null, trigger: `comment:${commentId}`, commentId, requestedBy: "ada" };
  return { ...job, task: { ...job.task, ...asked } as NewJob["task"] };
}

export const delivery = (id: string): Delivery => ({ id, event: "pull_request", action: "opened" });
