import {
  type CommentEvent,
  type Parsed,
  parseIssueCommentEvent,
  parseReviewCommentEvent,
} from "../github/payload.ts";
import { keyOf } from "../jobs/new-jobs.ts";
import { asks, dismisses } from "../ledger/words.ts";
import type { NewJob, Task } from "../queue/job.ts";
import { cutBytes } from "../text/cut.ts";
import { type AskedFor, parseCommand, type ReviewCommand, speaksToAnother } from "./commands.ts";
import { askedReview, type Decision, ignore, start, unusable } from "./decision.ts";

/** More of a reply is not kept with its job; GitHub takes 65,536 characters. */
const mostReplyBytes = 20_000;

/** What a comment in a pull request's conversation starts. */
export function decideOnIssueComment(payload: unknown, appSlug: string | null): Decision {
  return decideOnComment(parseIssueCommentEvent(payload), appSlug);
}

/** What a comment in a review thread starts: a command works in every thread, a mere reply where it wants something. */
export function decideOnReviewComment(payload: unknown, appSlug: string | null): Decision {
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
  return { task, concurrencyKey: keyOf(task.repository, task.pull), coalesce: false, priority: 10 };
}
