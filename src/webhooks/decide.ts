import { z } from "zod";
import { changesReviewability, parseMergeGroupEvent, parsePullRequestEvent } from "../github/payload.ts";
import { eventReview } from "../jobs/new-jobs.ts";
import type { NewJob } from "../queue/job.ts";
import { decideOnIssueComment, decideOnReviewComment } from "./decide-on-comment.ts";
import { decideOnInstallation, decideOnRepositories } from "./decide-on-installation.ts";
import { decideOnCheckRun, decideOnCheckSuite } from "./decide-on-rerun.ts";
import { type DecideOptions, type Decision, ignore, start, unusable } from "./decision.ts";

/**
 * Every event and action that can start a job; the App acts on nothing else. To those about installations nobody can subscribe:
 * GitHub sends them to every App (https://docs.github.com/en/webhooks/webhook-events-and-payloads#installation).
 */
export const handledEvents = [
  "pull_request.opened",
  "pull_request.reopened",
  "pull_request.ready_for_review",
  "pull_request.synchronize",
  "pull_request.closed",
  "pull_request.edited",
  "pull_request.labeled",
  "pull_request.unlabeled",
  "pull_request_review_comment.created",
  "issue_comment.created",
  "check_run.rerequested",
  "check_suite.rerequested",
  "merge_group.checks_requested",
  "installation.deleted",
  "installation.unsuspend",
  "installation_repositories.removed",
] as const;
type HandledEvent = (typeof handledEvents)[number];

const WithAction = z.object({ action: z.string() });

/** `event.action` when it is one that may start a job. */
export function handledEvent(event: string, payload: unknown): HandledEvent | undefined {
  const action = WithAction.safeParse(payload).data?.action;
  return handledEvents.find((handled) => handled === `${event}.${action}`);
}

/** Whether a delivery of this kind may start a job. */
export const handlesEvent = (event: string, action: string | null): boolean =>
  handledEvents.some((handled) => handled === `${event}.${action}`);

/**
 * What a delivery starts. Pure, and answers every payload, also one without an installation or a user: GitHub sends `null`
 * for deleted accounts. Whether a draft is reviewed or the author of a command may ask is the job's business, which knows
 * configuration and permissions.
 */
export function decide(event: string, payload: unknown, options: DecideOptions): Decision {
  const handled = handledEvent(event, payload);
  switch (handled) {
    case undefined:
      return ignore("nothing follows from this event");
    case "issue_comment.created":
      return decideOnIssueComment(payload, options.appSlug);
    case "pull_request_review_comment.created":
      return decideOnReviewComment(payload, options.appSlug);
    case "check_run.rerequested":
      return decideOnCheckRun(payload, options);
    case "check_suite.rerequested":
      return decideOnCheckSuite(payload, options);
    case "merge_group.checks_requested":
      return decideOnMergeGroup(payload);
    case "installation.deleted":
    case "installation.unsuspend":
      return decideOnInstallation(payload);
    case "installation_repositories.removed":
      return decideOnRepositories(payload);
    case "pull_request.synchronize":
      return decideOnPullRequest(payload, { debounceMs: options.pushWindowMs });
    case "pull_request.edited":
      return changesReviewability(payload)
        ? decideOnPullRequest(payload)
        : ignore("neither the title nor the base branch changed");
    default:
      return decideOnPullRequest(payload);
  }
}

/**
 * Of the events alike, but that pushes wait for further ones: an edit or a label, come or gone, may have taken the reason away
 * why a pull request was skipped. A head that was reviewed is not reviewed again for it, and a closed pull request only leaves
 * its commit to the others; the job knows.
 */
function decideOnPullRequest(payload: unknown, waiting: Pick<NewJob, "debounceMs"> = {}): Decision {
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
  return start({ task, concurrencyKey: `${repository.id}@${headSha}`, coalesce: false, priority: 10 });
}
