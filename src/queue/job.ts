import { z } from "zod";

/** A repository on GitHub; `installation` is the App installation that may act on it. */
export const RepositoryRef = z.strictObject({
  installation: z.int(),
  id: z.int(),
  owner: z.string(),
  name: z.string(),
});
export type RepositoryRef = z.infer<typeof RepositoryRef>;

/** What a person can ask for in a comment beside a review. */
export const Command = z.discriminatedUnion("name", [
  z.strictObject({ name: z.literal("ask"), question: z.string() }),
  z.strictObject({ name: z.literal("resolve") }),
  z.strictObject({ name: z.literal("pause") }),
  z.strictObject({ name: z.literal("resume") }),
  z.strictObject({ name: z.literal("remember"), rule: z.string() }),
  /** The finding in whose thread it stands, or all. */
  z.strictObject({ name: z.literal("fix"), all: z.boolean() }),
  z.strictObject({ name: z.literal("help") }),
]);
export type Command = z.infer<typeof Command>;

/** Where a comment stands: the id of the one that opens its review thread, null in the conversation. */
const comment = { thread: z.int().nullable().default(null) };

/**
 * What there is to do. `trigger` names why, so that a review is made once for each head and trigger: "event#<pull>" for any
 * number of pull_request events (the job adds the base branch), "comment:<id>" for a command. Check runs belong to a commit,
 * which may be the head of several pull requests: hence the number.
 */
export const Task = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("review"),
    /** new: what no review has read yet. full: everything. dry_run: everything, and nothing but one comment is posted. */
    mode: z.enum(["new", "full", "dry_run"]).default("new"),
    /** A check run was asked for again: it is taken up although it says how a review ended. */
    again: z.boolean().default(false),
    repository: RepositoryRef,
    pull: z.int(),
    /** The head that the event spoke of. The worker re-reads the newest; this one is for the log. */
    headSha: z.string().nullable(),
    trigger: z.string(),
    ...comment,
    /** Id of the comment that asked, to react to. */
    commentId: z.int().nullable(),
    /** Who asked; the worker asks GitHub whether they may. */
    requestedBy: z.string().nullable(),
  }),
  z.strictObject({
    /** What a person asked for in a comment, other than a review. */
    kind: z.literal("command"),
    command: Command,
    repository: RepositoryRef,
    pull: z.int(),
    ...comment,
    commentId: z.int(),
    requestedBy: z.string(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** What a person answered in a review thread, with the text as it was when it was written. */
    kind: z.literal("reply"),
    repository: RepositoryRef,
    pull: z.int(),
    commentId: z.int(),
    /** The comment that opens the thread; the worker asks GitHub whether it is ours. */
    thread: z.int(),
    author: z.string(),
    body: z.string(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** A check run that is concluded at once: merge queues wait for it. */
    kind: z.literal("pass_check"),
    repository: RepositoryRef,
    headSha: z.string(),
    reason: z.string(),
  }),
  z.strictObject({
    /**
     * Looks for what was lost on the way: of an installation, its open pull requests whose head was not reviewed; of the App
     * as a whole (null), deliveries that failed, and which installations there are.
     */
    kind: z.literal("reconcile"),
    installation: z.int().nullable(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** Everything that is kept of an installation, or of some of its repositories, is deleted: the App was taken off them. */
    kind: z.literal("purge"),
    installation: z.int(),
    /** Null: all of them. */
    repositories: z.array(z.strictObject({ id: z.int(), owner: z.string(), name: z.string() })).nullable(),
    headSha: z.null(),
  }),
]);
export type Task = z.infer<typeof Task>;
export type ReviewTask = Extract<Task, { kind: "review" }>;
export type CommandTask = Extract<Task, { kind: "command" }>;
export type ReplyTask = Extract<Task, { kind: "reply" }>;
export type ReconcileTask = Extract<Task, { kind: "reconcile" }>;
export type PurgeTask = Extract<Task, { kind: "purge" }>;

/** The installation that a task is done for; 0 for the App as a whole. Jobs are shared out fairly between them. */
export const installationOf = (task: Task): number =>
  "repository" in task ? task.repository.installation : (task.installation ?? 0);

/**
 * How often a job is tried; an outage does not count (`next-try.ts`). A claim with a higher `attempt` is there to say that the
 * job failed, not to try it again: its last worker died and told nobody.
 */
export const maxAttempts = 5;

/** So many quiet times after the first of the jobs that became one, it runs although they keep coming. */
export const maxDebounces = 6;

/**
 * Jobs with the same serial key never run at the same time; a job with `coalesce` replaces a waiting one of its key, so at
 * most one runs and one waits. The replaced job keeps its id and trajectory and gets the newer task, so what it created
 * on GitHub can still be found and closed. Keys: "<repository id>#<pull>" for pull requests.
 */
export interface NewJob {
  task: Task;
  concurrencyKey: string;
  coalesce: boolean;
  /** Higher runs first; a person's command is 10, an event 0. */
  priority: number;
  /**
   * A coalescing job waits until no newer one of its key has come for so long, so that pushes within a short window are one
   * review; at most `longestQuiet` times that after the first. Left out: it runs at once, with what it replaces.
   */
  debounceMs?: number;
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
  /** When its present task was first begun, by this claim or an earlier one; what is an outage goes by that. */
  startedAt: number;
}

/** A head that came for a job's key after the job was claimed. */
export interface NewerHead {
  head: string;
  /** When the job that brings it may run, in milliseconds from now. */
  dueInMs: number;
}

export type JobState = "waiting" | "active" | "done" | "failed";

/** How a job ended. `skipped` and `superseded` are good ends. */
export interface JobOutcome {
  kind: "done" | "skipped" | "superseded" | "failed";
  reason: string;
}
