import { z } from "zod";

/** A repository on GitHub; `installation` is the App installation that may act on it. */
export const RepositoryRef = z.strictObject({
  installation: z.int(),
  id: z.int(),
  owner: z.string(),
  name: z.string(),
});
export type RepositoryRef = z.infer<typeof RepositoryRef>;

/**
 * What there is to do. `trigger` names why, so that a review is made once for each head and trigger: "event#<pull>" for any
 * number of pull_request events (the job adds the base branch), "comment:<id>" for a command. Check runs belong to a commit,
 * which may be the head of several pull requests: hence the number.
 */
export const Task = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("review"),
    repository: RepositoryRef,
    pull: z.int(),
    /** The head that the event spoke of. The worker re-reads the newest; this one is for the log. */
    headSha: z.string().nullable(),
    trigger: z.string(),
    /** Id of the comment that asked, to react to. */
    commentId: z.int().nullable(),
    /** Who asked in a comment; the worker asks GitHub whether they may. */
    requestedBy: z.string().nullable(),
  }),
  z.strictObject({
    /** A check run that is concluded at once: merge queues wait for it. */
    kind: z.literal("pass_check"),
    repository: RepositoryRef,
    headSha: z.string(),
    reason: z.string(),
  }),
]);
export type Task = z.infer<typeof Task>;
export type ReviewTask = Extract<Task, { kind: "review" }>;

/**
 * How often a job is tried; an outage of GitHub does not count. A claim with a higher `attempt` is there to say that the job failed, not to try it again: its
 * last worker died and told nobody.
 */
export const maxAttempts = 5;

/**
 * Jobs with the same serial key never run at the same time; a job with `coalesce` replaces a waiting one of its key, so at
 * most one runs and one waits. The replaced job keeps its id and trajectory and gets the newer task, so what it created
 * on GitHub can still be found and closed. Keys: "<repository id>#<pull>" for pull requests.
 */
export interface NewJob {
  task: Task;
  serialKey: string;
  coalesce: boolean;
  /** Higher runs first; a person's command is 10, an event 0. */
  priority: number;
}

/** A job in the hands of a worker. `fence` grows with every claim: a late worker is told apart by it. */
export interface ClaimedJob {
  id: string;
  task: Task;
  /** 1 for the first try. */
  attempt: number;
  fence: number;
  deliveryId: string | null;
  /** When the job was stored, in milliseconds since 1970. */
  createdAt: number;
}

export type JobState = "waiting" | "active" | "done" | "failed";

/** How a job ended. `skipped` and `superseded` are good ends. */
export interface Outcome {
  kind: "done" | "skipped" | "superseded" | "failed";
  reason: string;
}
