import { z } from "zod";
import type { NewJob, RepositoryRef } from "../queue/job.ts";
import { parseCommand } from "./commands.ts";

/** Every event and action that can start a job; the App subscribes to these and acts on nothing else. */
export const handledEvents = [
  "pull_request.opened",
  "pull_request.reopened",
  "pull_request.ready_for_review",
  "pull_request.synchronize",
  "issue_comment.created",
  "merge_group.checks_requested",
] as const;
type HandledEvent = (typeof handledEvents)[number];

/** What follows from a delivery. */
export type Decision = { jobs: [NewJob, ...NewJob[]] } | { ignored: string };

const ignore = (ignored: string): Decision => ({ ignored });
const start = (job: NewJob): Decision => ({ jobs: [job] });

const Id = z.int().positive();
const Name = z.string().regex(/^[\w.-]{1,100}$/);
const Sha = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/);
const User = z.object({ login: z.string().min(1).max(100), type: z.string() });
const WithAction = z.object({ action: z.string() });
const Common = z.object({
  installation: z.object({ id: Id }),
  repository: z.object({ id: Id, name: Name, owner: z.object({ login: Name }) }),
});
const PullRequestEvent = Common.extend({
  pull_request: z.object({ number: Id, head: z.object({ sha: Sha }) }),
});
const CommentEvent = Common.extend({
  issue: z.object({ number: Id, pull_request: z.unknown() }),
  comment: z.object({ id: Id, body: z.string(), user: User }),
  sender: User,
});
const MergeGroupEvent = Common.extend({ merge_group: z.object({ head_sha: Sha }) });

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
    default:
      return decideOnPullRequest(payload);
  }
}

function decideOnPullRequest(payload: unknown): Decision {
  const { data, error } = PullRequestEvent.safeParse(payload);
  if (!data) return lacks(error);
  const { number: pull, head } = data.pull_request;
  const repository = repositoryOf(data);
  const task = {
    kind: "review" as const,
    ...{ repository, pull, headSha: head.sha, trigger: "event" },
    ...{ commentId: null, requestedBy: null },
  };
  return start({ task, serialKey: keyOf(repository, pull), coalesce: true, priority: 0 });
}

function decideOnComment(payload: unknown, appSlug: string | null): Decision {
  const { data, error } = CommentEvent.safeParse(payload);
  if (!data) return lacks(error);
  const { comment, issue, sender } = data;
  if (!issue.pull_request) return ignore("a comment on an issue");
  if (isBot(sender) || isBot(comment.user)) return ignore("a comment by a bot");
  const command = parseCommand(comment.body, appSlug);
  if (!command) return ignore("a comment without a command");
  if (command.dryRun) return ignore("--dry-run is not available in comments");
  const repository = repositoryOf(data);
  const task = {
    kind: "review" as const,
    ...{ repository, pull: issue.number, headSha: null, trigger: `comment:${comment.id}` },
    ...{ commentId: comment.id, requestedBy: comment.user.login },
  };
  return start({ task, serialKey: keyOf(repository, issue.number), coalesce: false, priority: 10 });
}

function decideOnMergeGroup(payload: unknown): Decision {
  const { data, error } = MergeGroupEvent.safeParse(payload);
  if (!data) return lacks(error);
  const repository = repositoryOf(data);
  const headSha = data.merge_group.head_sha;
  const reason = "its pull requests were reviewed before they were queued";
  const task = { kind: "pass_check" as const, repository, headSha, reason };
  return start({ task, serialKey: `${repository.id}@${headSha}`, coalesce: false, priority: 10 });
}

function repositoryOf({ installation, repository }: z.infer<typeof Common>): RepositoryRef {
  const { id, name, owner } = repository;
  return { installation: installation.id, id, owner: owner.login, name };
}

const keyOf = (repository: RepositoryRef, pull: number) => `${repository.id}#${pull}`;
const isBot = (user: z.infer<typeof User>) => user.type === "Bot" || user.login.endsWith("[bot]");

function lacks(error: z.ZodError | undefined): Decision {
  return ignore(`the payload has no usable ${error?.issues[0]?.path.join(".") || "content"}`);
}
