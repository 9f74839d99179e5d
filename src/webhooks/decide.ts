import { z } from "zod";
import {
  type CommentEvent,
  changesReviewability,
  type Parsed,
  parseCheckRunEvent,
  parseCheckSuiteEvent,
  parseInstallationEvent,
  parseIssueCommentEvent,
  parseMergeGroupEvent,
  parsePullRequestEvent,
  parseRepositoriesRemovedEvent,
  parseReviewCommentEvent,
  type RerunEvent,
} from "../github/payload.ts";
import { eventReview, keyOf, purgeJob, reconcileJob } from "../jobs/new-jobs.ts";
import { asks, dismisses } from "../ledger/words.ts";
import type { NewJob, ReviewTask, Task } from "../queue/job.ts";
import { cutBytes } from "../text/cut.ts";
import { type AskedFor, parseCommand, type ReviewCommand, speaksToAnother } from "./commands.ts";

/** What follows from a delivery. */
type Decision = { jobs: [NewJob, ...NewJob[]] } | { ignored: string };

/** What a decision depends on beside the delivery. */
export interface DecideOptions {
  /** By which name people speak to the App; null while it is not known, and nobody is understood who does. */
  appSlug: string | null;
  /** Id of the App, whose checks alone are made again; null where it is not known. GitHub tells others' Apps of theirs. */
  appId: number | null;
  /** For how long no further push must come before one is reviewed, in milliseconds. */
  pushWindowMs: number;
}

const ignore = (ignored: string): Decision => ({ ignored });
const start = (job: NewJob): Decision => ({ jobs: [job] });
const unusable = (path: string) => ignore(`the payload has no usable ${path}`);

type Asked = Pick<ReviewTask, "repository" | "pull" | "trigger" | "requestedBy"> & Partial<ReviewTask>;

/** The job of a review that somebody asks for: it waits for nothing, and no other swallows it. */
function askedReview(task: Asked): NewJob {
  return {
    task: {
      ...{ kind: "review", mode: "new", again: false, thread: null, commentId: null, headSha: null },
      ...task,
    },
    serialKey: keyOf(task.repository, task.pull),
    coalesce: false,
    priority: 10,
  };
}

/** More of a reply is not kept with its job; GitHub takes 65,536 characters. */
const mostReplyBytes = 20_000;

/** What a comment in a pull request's conversation starts. */
function decideOnIssueComment(payload: unknown, { appSlug }: DecideOptions): Decision {
  return decideOnComment(parseIssueCommentEvent(payload), appSlug);
}

/** What a comment in a review thread starts: a command works in every thread, a mere reply where it wants something. */
function decideOnReviewComment(payload: unknown, { appSlug }: DecideOptions): Decision {
  return decideOnComment(parseReviewCommentEvent(payload), appSlug);
}

/**
 * Whose comment it is decides before what it says: bots that answer each other would never end. Whether the person may ask is
 * the job's business; GitHub's `author_association` says nothing about permission.
 */
function decideOnComment(parsed: Parsed<CommentEvent>, appSlug: string | null): Decision {
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { event } = parsed;
  if (!event.isPull) return ignore("a comment on an issue");
  if (!event.byPerson) return ignore("a comment that no person wrote themselves");
  const command = parseCommand(event.comment.body, appSlug);
  if (command) return start(commandJob(event, command));
  if (!event.isReply) return ignore("a comment without a command");
  return decideOnReply(event, appSlug);
}

function commandJob(event: CommentEvent, command: AskedFor): NewJob {
  const { repository, issue: pull, comment, thread } = event;
  const asked = { repository, pull, thread, commentId: comment.id, requestedBy: comment.author };
  if (command.name !== "review") return jobOf({ kind: "command", command, ...asked, headSha: null });
  // The ids of the two kinds of comments may coincide.
  const place = thread === null ? "comment" : "review-comment";
  return askedReview({ ...asked, mode: modeOf(command), trigger: `${place}:${comment.id}` });
}

function modeOf({ full, dryRun }: ReviewCommand): "new" | "full" | "dry_run" {
  if (dryRun) return "dry_run";
  return full ? "full" : "new";
}

function decideOnReply(
  { repository, issue: pull, thread, comment }: CommentEvent,
  appSlug: string | null,
): Decision {
  const body = cutBytes(comment.body, mostReplyBytes);
  const wantsAnswer = asks(body) && !speaksToAnother(body, appSlug);
  if (thread === null || !(wantsAnswer || dismisses(body))) {
    return ignore("a reply that neither asks nor dismisses");
  }
  const { id: commentId, author } = comment;
  return start(jobOf({ kind: "reply", repository, pull, commentId, thread, author, body, headSha: null }));
}

function jobOf(task: Extract<Task, { kind: "command" | "reply" }>): NewJob {
  return { task, serialKey: keyOf(task.repository, task.pull), coalesce: false, priority: 10 };
}

/**
 * The App was taken off an account: nothing of it is kept. A suspension deletes nothing; when it ends, what was missed meanwhile
 * is looked for. Of an account that has just installed the App nothing follows, or all of its pull requests would be reviewed.
 */
function decideOnInstallation(payload: unknown): Decision {
  const parsed = parseInstallationEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { action, installation, repositories } = parsed.event;
  if (action === "unsuspend") return start(reconcileJob(installation));
  // What GitHub names is deleted by name: what is remembered of the installation may not know all of them.
  const all = purgeJob(installation, null);
  return { jobs: repositories.length > 0 ? [purgeJob(installation, repositories), all] : [all] };
}

/** The App was taken off some repositories of an account. */
function decideOnRepositories(payload: unknown): Decision {
  const parsed = parseRepositoriesRemovedEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { installation, repositories } = parsed.event;
  return repositories.length > 0
    ? start(purgeJob(installation, repositories))
    : ignore("no repository was taken away");
}

/**
 * "Re-run" of one check run: the review is made again that it speaks of. GitHub sends this to the App alone whose check run it
 * is, and leaves the check run as it was.
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_run
 */
function decideOnCheckRun(payload: unknown, { appId }: DecideOptions): Decision {
  const parsed = parseCheckRunEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { event } = parsed;
  const refusal = whyNotAgain(event, appId);
  if (refusal) return ignore(refusal);
  const review = reviewOf(event);
  if (!review) return ignore("a check run that is about no review");
  const [another] = event.pulls.slice(1);
  const pull = review.pull ?? (another === undefined ? event.pulls[0] : undefined);
  if (pull === undefined) return ignore("a check run that does not tell its pull request");
  const { repository, sender } = event;
  return start(askedReview({ repository, pull, trigger: review.trigger, again: true, requestedBy: sender }));
}

/** "Re-run all checks" of a commit: its pull requests are reviewed again as their events would have it. */
function decideOnCheckSuite(payload: unknown, { appId }: DecideOptions): Decision {
  const parsed = parseCheckSuiteEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { event } = parsed;
  const refusal = whyNotAgain(event, appId);
  if (refusal) return ignore(refusal);
  const { repository, sender, pulls } = event;
  const [first, ...others] = pulls.map((pull) =>
    askedReview({ repository, pull, trigger: `event#${pull}`, again: true, requestedBy: sender }),
  );
  return first ? { jobs: [first, ...others] } : ignore("a check suite that names no pull request");
}

function whyNotAgain({ app, byPerson }: RerunEvent, appId: number | null): string | undefined {
  if (appId !== null && app !== appId) return "a check of another App";
  return byPerson ? undefined : "a re-run that no person asked for";
}

const nameOfReview = /^([0-9a-f]+):(event#([1-9]\d{0,8})@.{1,255}|(?:review-)?comment:[1-9]\d{0,15})$/;

/** What a check run of ours says of its review: why there was one, and of which pull request where that says so. */
function reviewOf({
  externalId,
  headSha,
}: RerunEvent): { trigger: string; pull: number | undefined } | undefined {
  const [, head, trigger, pull] = nameOfReview.exec(externalId ?? "") ?? [];
  if (trigger === undefined || head !== headSha) return undefined;
  return { trigger, pull: pull === undefined ? undefined : Number(pull) };
}

/**
 * What may follow from each event and action; the App acts on nothing else. GitHub sends the events about installations to every
 * App (https://docs.github.com/en/webhooks/webhook-events-and-payloads#installation).
 */
const decisions = {
  "pull_request.opened": decideOnPullRequest,
  "pull_request.reopened": decideOnPullRequest,
  "pull_request.ready_for_review": decideOnPullRequest,
  "pull_request.synchronize": (payload, { pushWindowMs }) => decideOnHead(payload, { quietMs: pushWindowMs }),
  "pull_request.closed": decideOnPullRequest,
  "pull_request.edited": (payload) =>
    changesReviewability(payload)
      ? decideOnPullRequest(payload)
      : ignore("neither the title nor the base branch changed"),
  "pull_request.labeled": decideOnPullRequest,
  "pull_request.unlabeled": decideOnPullRequest,
  "pull_request_review_comment.created": decideOnReviewComment,
  "issue_comment.created": decideOnIssueComment,
  "check_run.rerequested": decideOnCheckRun,
  "check_suite.rerequested": decideOnCheckSuite,
  "merge_group.checks_requested": decideOnMergeGroup,
  "installation.deleted": decideOnInstallation,
  "installation.unsuspend": decideOnInstallation,
  "installation_repositories.removed": decideOnRepositories,
} as const satisfies Record<string, (payload: unknown, options: DecideOptions) => Decision>;

/** The events and actions from which something may follow, as `event.action`. */
export const handledEvents = Object.keys(decisions) as readonly (keyof typeof decisions)[];

/** Whether something may follow from a delivery of this kind. */
export const handlesEvent = (event: string, action: string | null): boolean =>
  Object.hasOwn(decisions, `${event}.${action}`);

const WithAction = z.object({ action: z.string() });

/**
 * What a delivery starts. Pure, and answers every payload, also one without an installation or a user: GitHub sends `null`
 * for deleted accounts. Whether a draft is reviewed and whether the author of a command has permission is decided by the job,
 * which knows configuration and permissions.
 */
export function decide(event: string, payload: unknown, options: DecideOptions): Decision {
  const name = `${event}.${WithAction.safeParse(payload).data?.action}`;
  if (!Object.hasOwn(decisions, name)) return ignore("nothing follows from this event");
  return decisions[name as keyof typeof decisions](payload, options);
}

/**
 * Of the events alike, but that pushes wait for further ones: an edit or a label, come or gone, may have taken the reason away
 * why a pull request was skipped. A head that was reviewed is not reviewed again for it, and a closed pull request only leaves
 * its commit to the others; the job knows.
 */
function decideOnPullRequest(payload: unknown): Decision {
  return decideOnHead(payload);
}

function decideOnHead(payload: unknown, waiting: Pick<NewJob, "quietMs"> = {}): Decision {
  const parsed = parsePullRequestEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { repository, pull, headSha } = parsed.event;
  return start(eventReview(repository, pull, headSha, waiting));
}

function decideOnMergeGroup(payload: unknown): Decision {
  const parsed = parseMergeGroupEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { repository, headSha } = parsed.event;
  const reason = "its pull requests were reviewed before they were queued";
  const task = { kind: "pass_check" as const, repository, headSha, reason };
  return start({ task, serialKey: `${repository.id}@${headSha}`, coalesce: false, priority: 10 });
}
