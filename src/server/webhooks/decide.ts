import { z } from "zod";
import { cutBytes } from "../../core/text/cut.ts";
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
} from "../../pull/github/payload.ts";
import { asks, dismisses } from "../../pull/ledger/reply-words.ts";
import { askedJob, eventReview, type NewJob, purgeJob, reconcileJob, reviewOf } from "../queue/job.ts";
import { type AskedFor, parseCommand, speaksToAnother } from "./commands.ts";

type Decision = { jobs: [NewJob, ...NewJob[]] } | { ignored: string };

export interface DecideOptions {
  /** The App's name in mentions; null if not known yet. */
  appSlug: string | null;
  /** Only the App's own checks are run again; null if not known. */
  appId: number | null;
  /** A push is reviewed after this time without a further push, in milliseconds. */
  pushWindowMs: number;
}

const ignore = (ignored: string): Decision => ({ ignored });
const start = (job: NewJob): Decision => ({ jobs: [job] });

/** Decides on what is read from a payload; a payload that lacks it starts nothing. */
const on =
  <Event>(
    read: (payload: unknown) => Parsed<Event>,
    decideOn: (event: Event, options: DecideOptions) => Decision,
  ) =>
  (payload: unknown, options: DecideOptions): Decision => {
    const parsed = read(payload);
    return "lacks" in parsed
      ? ignore(`the payload has no usable ${parsed.lacks}`)
      : decideOn(parsed.event, options);
  };

/** Limit for the part of a reply that its job stores; GitHub accepts 65,536 characters. */
const mostReplyBytes = 20_000;

/**
 * A plain reply in a thread only counts if it asks or dismisses something. Checks the author before the text: bots that answer each other would
 * never stop. The job checks whether the person has permission.
 */
function decideOnComment(event: CommentEvent, { appSlug }: DecideOptions): Decision {
  if (!event.isPull) return ignore("a comment on an issue");
  if (!event.byPerson) return ignore("a comment that was not written by a person");
  const command = parseCommand(event.comment.body, appSlug);
  if (command) return start(commandJob(event, command));
  if (!event.isReply) return ignore("a comment without a command");
  return decideOnReply(event, appSlug);
}

function commandJob(event: CommentEvent, command: AskedFor): NewJob {
  const { repository, issue: pull, comment, thread } = event;
  const asked = { repository, pull, thread, commentId: comment.id, requestedBy: comment.author };
  const writtenAt = comment.createdAt;
  if (command.name !== "review")
    return askedJob({ kind: "command", command, ...asked, writtenAt, headSha: null });
  // Ids of the two kinds of comments may be equal.
  const place = thread === null ? "comment" : "review-comment";
  return askedJob(reviewOf({ ...asked, mode: command.mode, trigger: `${place}:${comment.id}` }));
}

function decideOnReply(
  { repository, issue: pull, thread, comment }: CommentEvent,
  appSlug: string | null,
): Decision {
  const body = cutBytes(comment.body, mostReplyBytes);
  const wantsAnswer = asks(body) && !speaksToAnother(body, appSlug);
  if (thread === null || !(wantsAnswer || dismisses(body))) {
    return ignore("a reply that asks nothing and dismisses nothing");
  }
  const { id: commentId, author } = comment;
  return start(askedJob({ kind: "reply", repository, pull, commentId, thread, author, body, headSha: null }));
}

/** A suspension deletes nothing; when it ends, missed events are looked up. A new installation starts nothing. */
const decideOnInstallation = on(parseInstallationEvent, ({ action, installation, repositories }) => {
  if (action === "unsuspend") return start(reconcileJob(installation));
  // The stored data of the installation may not name all of its repositories.
  const all = purgeJob(installation, null);
  return { jobs: repositories.length > 0 ? [purgeJob(installation, repositories), all] : [all] };
});

const decideOnRepositories = on(parseRepositoriesRemovedEvent, ({ installation, repositories }) =>
  repositories.length > 0 ? start(purgeJob(installation, repositories)) : ignore("no repository was removed"),
);

/** "Re-run" of one check run: GitHub sends this only to the App that owns it. */
const decideOnCheckRun = on(parseCheckRunEvent, (event, { appId }) => {
  const refusal = whyNotAgain(event, appId);
  if (refusal) return ignore(refusal);
  const review = namedBy(event);
  if (!review) return ignore("a check run that is not about a review");
  const [another] = event.pulls.slice(1);
  const pull = review.pull ?? (another === undefined ? event.pulls[0] : undefined);
  if (pull === undefined) return ignore("a check run that does not name its pull request");
  const { repository, sender } = event;
  const { trigger } = review;
  return start(askedJob(reviewOf({ repository, pull, trigger, again: true, requestedBy: sender })));
});

/** "Re-run all checks" of a commit: reviews its pull requests again, as for their events. */
const decideOnCheckSuite = on(parseCheckSuiteEvent, (event, { appId }) => {
  const refusal = whyNotAgain(event, appId);
  if (refusal) return ignore(refusal);
  const { repository, sender, pulls } = event;
  const [first, ...others] = pulls.map((pull) =>
    askedJob(reviewOf({ repository, pull, trigger: `event#${pull}`, again: true, requestedBy: sender })),
  );
  return first ? { jobs: [first, ...others] } : ignore("a check suite that names no pull request");
});

function whyNotAgain({ app, byPerson }: RerunEvent, appId: number | null): string | undefined {
  if (appId !== null && app !== appId) return "a check of another App";
  return byPerson ? undefined : "a re-run that was not requested by a person";
}

const nameOfReview =
  /^([0-9a-f]+):(event#([1-9]\d{0,8})@.{1,255}|(?:review-)?comment:[1-9]\d{0,15}|page:[\w-]{22})$/;

/** The review of a check run of ours: its trigger, and its pull request if the external id contains one. */
function namedBy({ externalId, headSha }: RerunEvent) {
  const [, head, trigger, pull] = nameOfReview.exec(externalId ?? "") ?? [];
  if (trigger === undefined || head !== headSha) return undefined;
  return { trigger, pull: pull === undefined ? undefined : Number(pull) };
}

/** An edit or a label may have removed the reason why a pull request was skipped. The job reviews no head twice. */
const decideOnPullRequest = on(parsePullRequestEvent, ({ repository, pull, headSha }) =>
  start(eventReview(repository, pull, headSha)),
);

const decideOnPush = on(parsePullRequestEvent, ({ repository, pull, headSha }, { pushWindowMs }) =>
  start(eventReview(repository, pull, headSha, { debounceMs: pushWindowMs })),
);

const decideOnMergeGroup = on(parseMergeGroupEvent, ({ repository, headSha }) => {
  const reason = "merge queue: its pull requests were reviewed before they were queued";
  const task = { kind: "pass_check" as const, repository, headSha, reason };
  return start({ task, concurrencyKey: `${repository.id}@${headSha}`, coalesce: false, priority: 10 });
});

/** GitHub sends events about installations to every App (https://docs.github.com/en/webhooks/webhook-events-and-payloads#installation). */
const decisions = {
  "pull_request.opened": decideOnPullRequest,
  "pull_request.reopened": decideOnPullRequest,
  "pull_request.ready_for_review": decideOnPullRequest,
  "pull_request.synchronize": decideOnPush,
  "pull_request.closed": decideOnPullRequest,
  "pull_request.edited": (payload, options) =>
    changesReviewability(payload)
      ? decideOnPullRequest(payload, options)
      : ignore("neither the title nor the base branch changed"),
  "pull_request.labeled": decideOnPullRequest,
  "pull_request.unlabeled": decideOnPullRequest,
  "pull_request_review_comment.created": on(parseReviewCommentEvent, decideOnComment),
  "issue_comment.created": on(parseIssueCommentEvent, decideOnComment),
  "check_run.rerequested": decideOnCheckRun,
  "check_suite.rerequested": decideOnCheckSuite,
  "merge_group.checks_requested": decideOnMergeGroup,
  "installation.deleted": decideOnInstallation,
  "installation.unsuspend": decideOnInstallation,
  "installation_repositories.removed": decideOnRepositories,
} as const satisfies Record<string, (payload: unknown, options: DecideOptions) => Decision>;

/** The events and actions that may start a job, as `event.action`. */
export const handledEvents = Object.keys(decisions) as readonly (keyof typeof decisions)[];

/** Whether a delivery of this kind may start a job. */
export const handlesEvent = (event: string, action: string | null): boolean =>
  Object.hasOwn(decisions, `${event}.${action}`);

const WithAction = z.object({ action: z.string() });

/** The jobs that a delivery starts. Handles every payload: GitHub sends `null` for deleted accounts. */
export function decide(event: string, payload: unknown, options: DecideOptions): Decision {
  const name = `${event}.${WithAction.safeParse(payload).data?.action}`;
  if (!Object.hasOwn(decisions, name)) return ignore("this event starts nothing");
  return decisions[name as keyof typeof decisions](payload, options);
}
