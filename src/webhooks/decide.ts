import { z } from "zod";
import {
  changesReviewability,
  parseIssueCommentEvent,
  parseMergeGroupEvent,
  parsePullRequestEvent,
} from "../github/payload.ts";
import type { NewJob, RepositoryRef } from "../queue/job.ts";
import { parseCommand } from "./commands.ts";

/** Every event and action that can start a job; the App subscribes to these and acts on nothing else. */
export const handledEvents = [
  "pull_request.opened",
  "pull_request.reopened",
  "pull_request.ready_for_review",
  "pull_request.synchronize",
  "pull_request.edited",
  "pull_request.unlabeled",
  "issue_comment.created",
  "merge_group.checks_requested",
] as const;
type HandledEvent = (typeof handledEvents)[number];

/** What follows from a delivery. */
export type Decision = { jobs: [NewJob, ...NewJob[]] } | { ignored: string };

const ignore = (ignored: string): Decision => ({ ignored });
const start = (job: NewJob): Decision => ({ jobs: [job] });

const WithAction = z.object({ action: z.string() });

/** `event.action` when it is one that may start a job. */
export function handledEvent(event: string, payload: unknown): HandledEvent | undefined {
  const action = WithAction.safeParse(payload).data?.action;
  return handledEvents.find((handled) => handled === `${event}.${action}`);
}

/**
 * What a delivery starts. Pure, and answers every payload, also one without an installation or a user: GitHub sends `null`
 * for deleted accounts. Whether a draft is reviewed or the author of a command may ask is the job's business, which knows
 * configuration and permissions.
 */
export function decide(event: string, payload: unknown, appSlug: string | null): Decision {
  switch (handledEvent(event, payload)) {
    case undefined:
      return ignore("nothing follows from this event");
    case "issue_comment.created":
      return decideOnComment(payload, appSlug);
    case "merge_group.checks_requested":
      return decideOnMergeGroup(payload);
    case "pull_request.edited":
      return changesReviewability(payload)
        ? decideOnPullRequest(payload)
        : ignore("neither the title nor the base branch changed");
    default:
      return decideOnPullRequest(payload);
  }
}

/**
 * Of the events alike: an edit or a label that is gone may have taken the reason away why a pull request was skipped. A
 * head that was reviewed is not reviewed again for it; the job knows.
 */
function decideOnPullRequest(payload: unknown): Decision {
  const parsed = parsePullRequestEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { repository, pull, headSha } = parsed.event;
  const task = {
    kind: "review" as const,
    ...{ repository, pull, headSha, trigger: `event#${pull}` },
    ...{ commentId: null, requestedBy: null },
  };
  return start({ task, serialKey: keyOf(repository, pull), coalesce: true, priority: 0 });
}

function decideOnComment(payload: unknown, appSlug: string | null): Decision {
  const parsed = parseIssueCommentEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { repository, issue: pull, isPull, comment, byBot } = parsed.event;
  if (!isPull) return ignore("a comment on an issue");
  if (byBot) return ignore("a comment by a bot");
  const command = parseCommand(comment.body, appSlug);
  if (!command) return ignore("a comment without a command");
  if (command.dryRun) return ignore("--dry-run is not available in comments");
  const task = {
    kind: "review" as const,
    ...{ repository, pull, headSha: null, trigger: `comment:${comment.id}` },
    ...{ commentId: comment.id, requestedBy: comment.author },
  };
  return start({ task, serialKey: keyOf(repository, pull), coalesce: false, priority: 10 });
}

function decideOnMergeGroup(payload: unknown): Decision {
  const parsed = parseMergeGroupEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { repository, headSha } = parsed.event;
  const reason = "its pull requests were reviewed before they were queued";
  const task = { kind: "pass_check" as const, repository, headSha, reason };
  return start({ task, serialKey: `${repository.id}@${headSha}`, coalesce: false, priority: 10 });
}

const keyOf = (repository: RepositoryRef, pull: number) => `${repository.id}#${pull}`;
const unusable = (path: string) => ignore(`the payload has no usable ${path}`);
