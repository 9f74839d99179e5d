import { z } from "zod";

/** A repository on GitHub; `installation` is the App installation that may act on it. */
export const RepositoryRef = z.strictObject({
  installation: z.int(),
  id: z.int(),
  owner: z.string(),
  name: z.string(),
});
export type RepositoryRef = z.infer<typeof RepositoryRef>;

export const Command = z.discriminatedUnion("name", [
  z.strictObject({ name: z.literal("ask"), question: z.string() }),
  z.strictObject({ name: z.enum(["describe", "pause", "resume", "prove", "help"]) }),
  /** Numbers of findings and reports without a thread; omitted for the finding of the thread, or all findings with one. */
  z.strictObject({ name: z.literal("resolve"), numbers: z.array(z.int().min(1)).min(1).optional() }),
  z.strictObject({ name: z.literal("remember"), rule: z.string() }),
  /** All findings, or the one in whose thread the comment is. */
  z.strictObject({
    name: z.literal("fix"),
    all: z.boolean(),
    /** The findings' tests must pass, and are committed with the repair. */
    withTests: z.literal(true).optional(),
  }),
]);
export type Command = z.infer<typeof Command>;

/** Characters of the reason for which a person dismisses a finding on a page. */
export const mostReason = 500;

export const Act = z.discriminatedUnion("name", [
  z.strictObject({ name: z.literal("review"), mode: z.enum(["new", "full"]) }),
  z.strictObject({ name: z.enum(["pause", "resume"]) }),
  /** The finding whose comment opens the thread. */
  z.strictObject({ name: z.literal("dismiss"), comment: z.int(), reason: z.string().min(1).max(mostReason) }),
  /** Proposes a change of the configuration about findings of a rule of an analyzer, or of a category, because people dismissed them. */
  z.strictObject({
    name: z.literal("demote"),
    dimension: z.enum(["source", "category"]),
    value: z.string().min(1).max(200),
    /** Of how many findings in merged pull requests. */
    dismissed: z.int(),
    findings: z.int(),
  }),
]);
export type Act = z.infer<typeof Act>;

const aboutPull = { repository: RepositoryRef, pull: z.int() };
/** The id of the comment that opens the review thread; null in the conversation. */
const comment = { thread: z.int().nullable().default(null) };

/**
 * The work of a job. A review is made once for each head and `trigger`: "event#<pull>" for any number of pull_request events (the job adds
 * the base branch), "comment:<id>" or "review-comment:<id>" for a command, "page:<id>" for what was done on a page. The pull number is part
 * of it because a check run belongs to a commit, which may be the head of several pull requests.
 */
export const Task = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("review"),
    /** new: changes that no review has read yet. full: everything. dry_run: everything, and only one comment is posted. */
    mode: z.enum(["new", "full", "dry_run"]).default("new"),
    /** The check run was re-requested: it is reused although it is completed. */
    again: z.boolean().default(false),
    ...aboutPull,
    /** The head of the event. The worker reviews the newest one; this one tells whether GitHub's answer is older than the event. */
    headSha: z.string().nullable(),
    trigger: z.string(),
    ...comment,
    /** Id of the comment that requested it, to react to. */
    commentId: z.int().nullable(),
    /** Login of the requester; the worker checks the permission. */
    requestedBy: z.string().nullable(),
  }),
  z.strictObject({
    kind: z.literal("command"),
    command: Command,
    ...aboutPull,
    ...comment,
    commentId: z.int(),
    /** ISO 8601. Its author had not seen what was published later. */
    writtenAt: z.string(),
    requestedBy: z.string(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** A person did something on a page. There is no comment to react to or to answer. */
    kind: z.literal("act"),
    act: Act,
    ...aboutPull,
    /** The same for a form that is sent twice. */
    id: z.string().regex(/^[\w-]{22}$/),
    /** Who did it, as they logged in: the worker asks GitHub whether the login still is this account, and may write. */
    account: z.int(),
    requestedBy: z.string(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** A person's reply in a review thread, with its original text. */
    kind: z.literal("reply"),
    ...aboutPull,
    commentId: z.int(),
    /** The comment that opens the thread; the worker checks that it is ours. */
    thread: z.int(),
    author: z.string(),
    body: z.string(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** A check run that passes at once, for merge queues. */
    kind: z.literal("pass_check"),
    repository: RepositoryRef,
    headSha: z.string(),
    reason: z.string(),
  }),
  z.strictObject({
    /** Finds missed events of an installation, or failed deliveries and installations of the whole App (null). */
    kind: z.literal("reconcile"),
    installation: z.int().nullable(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** Sends an event to the operator's receiver. Has no pull number, because nobody asked for it on a pull request. */
    kind: z.literal("notify"),
    repository: RepositoryRef,
    /** The same for each try. */
    id: z.string(),
    body: z.string(),
    headSha: z.null(),
  }),
  z.strictObject({
    /** Deletes all data of an installation, or of some of its repositories. */
    kind: z.literal("purge"),
    installation: z.int(),
    /** Null: all of them. */
    repositories: z.array(z.strictObject({ id: z.int(), owner: z.string(), name: z.string() })).nullable(),
    headSha: z.null(),
  }),
  z.strictObject({
    kind: z.literal("recount"),
    /** Null: of the whole App. */
    installation: z.int().nullable(),
    /** Null: of all its repositories. */
    only: RepositoryRef.omit({ installation: true }).nullable(),
    /** Only pull requests with activity since then, in milliseconds since 1970. */
    since: z.int(),
    headSha: z.null(),
  }),
]);
export type Task = z.infer<typeof Task>;
export type ReviewTask = Extract<Task, { kind: "review" }>;
export type CommandTask = Extract<Task, { kind: "command" }>;
export type ActTask = Extract<Task, { kind: "act" }>;
export type ReplyTask = Extract<Task, { kind: "reply" }>;
export type ReconcileTask = Extract<Task, { kind: "reconcile" }>;
export type RecountTask = Extract<Task, { kind: "recount" }>;
export type PurgeTask = Extract<Task, { kind: "purge" }>;
export type NotifyTask = Extract<Task, { kind: "notify" }>;

/** What was stored as JSON; undefined if another version wrote it. */
export function fromJson<T>(shape: z.ZodType<T>, text: string): T | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The task of a job's row; undefined for one of another version. */
export const parseTask = (text: string): Task | undefined => fromJson(Task, text);

export const taskName = (task: Task): string => runKind(task).replaceAll("_", " ");

/** What a task is, as figures hold it: "review", "dry_run", "ask". */
export function runKind(task: Task): string {
  if (task.kind === "command") return task.command.name;
  if (task.kind === "act") return task.act.name;
  return task.kind === "review" && task.mode === "dry_run" ? "dry_run" : task.kind;
}

export const taskFields = (task: Task) => ({
  repo: "repository" in task ? `${task.repository.owner}/${task.repository.name}` : undefined,
  pull: "pull" in task ? task.pull : undefined,
  head: task.headSha ?? undefined,
});

/** The login of the person who requested a task; null for an event. */
export function askedBy(task: Task): string | null {
  if (task.kind === "reply") return task.author;
  return "requestedBy" in task ? task.requestedBy : null;
}

/** How a task was requested. */
export function originOf(task: Task): "event" | "rerun" | "comment" | "page" {
  if (task.kind === "act") return "page";
  if (task.kind === "review" && task.again) return "rerun";
  if (askedBy(task) === null) return "event";
  return task.kind === "review" && task.trigger.startsWith("page:") ? "page" : "comment";
}

/** The installation of a task; 0 for the whole App. Workers are shared fairly between installations. */
export const installationOf = (task: Task): number =>
  "repository" in task ? task.repository.installation : (task.installation ?? 0);

/** Attempts of a job, without outages. A claim with a higher `attempt` only reports the failure: its last worker died before it could. */
export const maxAttempts = 5;

/** A coalesced job waits at most this many times `debounceMs`, even if newer ones keep arriving. */
export const maxDebounces = 6;

/**
 * Jobs with the same concurrency key never run at the same time. A job with `coalesce` gives its task to a waiting one of its key, which keeps
 * its id and trajectory, so that what it created on GitHub can still be found and closed.
 */
export interface NewJob {
  task: Task;
  concurrencyKey: string;
  coalesce: boolean;
  /** Higher runs first; a person's command is 10, an event 0. */
  priority: number;
  /** A coalescing job runs when no newer one of its key has arrived for this long, at most `maxDebounces` times that. Default: 0. */
  debounceMs?: number;
}

/** The priority of jobs that tell other systems. No other job has it. */
export const noticePriority = -10;

/** Notices have workers of their own: a receiver that does not answer delays no review. */
export type Lane = "work" | "notices";

export const keyOf = ({ id }: Pick<RepositoryRef, "id">, pull: number): string => `${id}#${pull}`;

/** A job that a worker has claimed. `fence` is a fencing token: it grows with every claim and exposes a late worker. */
export interface ClaimedJob {
  id: string;
  task: Task;
  /** 1 for the first try. */
  attempt: number;
  fence: number;
  deliveryId: string | null;
  /** When the job was stored, in milliseconds since 1970. */
  createdAt: number;
  /** When its present task first started. An outage is measured from then. */
  startedAt: number;
}

export interface NewerHead {
  head: string;
  /** When its job may run, in milliseconds from now. */
  dueInMs: number;
}

export type JobState = "waiting" | "active" | "done" | "failed";

/** How a job ended. `skipped` and `superseded` are good ends. */
export interface JobOutcome {
  kind: "done" | "skipped" | "superseded" | "failed";
  reason: string;
  /** If it published a review. */
  figures?: ReviewFigures;
}

export interface ReviewFigures {
  /** The commit that was reviewed: a push may have followed the event. */
  head: string;
  hunksTotal: number;
  hunksServed: number;
  isComplete: boolean;
  /** All that it reported, also again. */
  findings: number;
  /** Those that it showed for the first time. */
  posted: number;
}

export function eventReview(
  repository: RepositoryRef,
  pull: number,
  headSha: string,
  how: Partial<Pick<NewJob, "priority" | "debounceMs">> = {},
): NewJob {
  const task = reviewOf({ repository, pull, headSha, trigger: `event#${pull}` });
  return { task, concurrencyKey: keyOf(repository, pull), coalesce: true, priority: 0, ...how };
}

/** A review of what is new, that nobody requested, unless the task says otherwise. */
export const reviewOf = (
  task: Pick<ReviewTask, "repository" | "pull" | "trigger"> & Partial<ReviewTask>,
): ReviewTask => ({
  kind: "review",
  mode: "new",
  again: false,
  headSha: null,
  thread: null,
  commentId: null,
  requestedBy: null,
  ...task,
});

/** The job of something that a person asked for: it does not wait, and is not merged into another job. */
export const askedJob = (task: ReviewTask | CommandTask | ReplyTask | ActTask): NewJob => ({
  task,
  concurrencyKey: keyOf(task.repository, task.pull),
  coalesce: false,
  priority: 10,
});

/** Looking for missed events is idle work: everything that people wait for comes first. */
const reconcilePriority = -2;
/** A review without a known request, before further looking. */
export const missedPriority = -1;

export function reconcileJob(installation: number | null = null): NewJob {
  return {
    task: { kind: "reconcile", installation, headSha: null },
    concurrencyKey: installation === null ? "reconcile" : keyOfInstallation(installation),
    coalesce: true,
    priority: reconcilePriority,
  };
}

export function purgeJob(installation: number, repositories: PurgeTask["repositories"]): NewJob {
  return {
    task: { kind: "purge", installation, repositories, headSha: null },
    concurrencyKey: keyOfInstallation(installation),
    coalesce: false,
    priority: 0,
  };
}

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
