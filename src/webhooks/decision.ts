import { keyOf } from "../jobs/new-jobs.ts";
import type { NewJob, ReviewTask } from "../queue/job.ts";

/** What follows from a delivery. */
export type Decision = { jobs: [NewJob, ...NewJob[]] } | { ignored: string };

/** What a decision depends on beside the delivery. */
export interface DecideOptions {
  /** By which name people speak to the App; null while it is not known, and nobody is understood who does. */
  appSlug: string | null;
  /** Id of the App, whose checks alone are made again; null where it is not known. GitHub tells others' Apps of theirs. */
  appId: number | null;
  /** For how long no further push must come before one is reviewed, in milliseconds. */
  pushWindowMs: number;
}

export const ignore = (ignored: string): Decision => ({ ignored });
export const start = (job: NewJob): Decision => ({ jobs: [job] });
export const unusable = (path: string) => ignore(`the payload has no usable ${path}`);

type Asked = Pick<ReviewTask, "repository" | "pull" | "trigger" | "requestedBy"> & Partial<ReviewTask>;

/** The job of a review that somebody asks for: it waits for nothing, and no other swallows it. */
export function askedReview(task: Asked): NewJob {
  return {
    task: {
      ...{ kind: "review", mode: "new", again: false, thread: null, commentId: null, headSha: null },
      ...task,
    },
    concurrencyKey: keyOf(task.repository, task.pull),
    coalesce: false,
    priority: 10,
  };
}
