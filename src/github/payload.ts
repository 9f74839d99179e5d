import { z } from "zod";
import type { PullRequest } from "./pull-request-api.ts";

/*
 * The few fields of webhook payloads and answers that are read. The schemas ask for no more than that and hold no closed
 * list of values, so that an event GitHub extends tomorrow is still understood. Names that become part of an address are
 * held to GitHub's alphabet.
 */
const Account = z.object({ login: z.string().min(1).max(100), type: z.string().catch("User") });
const Id = z.int().positive();
const Name = z.string().regex(/^[\w.-]{1,100}$/);
const Sha = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/);

/** A pull request as payloads and the REST API both describe it. A deleted author is "ghost", as on GitHub's pages. */
export const PullRequestShape = z
  .object({
    number: z.int(),
    title: z.string(),
    body: z.string().nullish(),
    user: Account.nullish().catch(null),
    // Only an open pull request is acted on, so an unknown state is none.
    state: z.enum(["open", "closed"]).catch("closed"),
    draft: z.boolean().nullish(),
    labels: z.array(z.object({ name: z.string() })).catch([]),
    head: z.object({ sha: z.string() }),
    base: z.object({ sha: z.string(), ref: z.string() }),
  })
  .transform(
    (pull): PullRequest => ({
      number: pull.number,
      title: pull.title,
      body: pull.body ?? "",
      author: pull.user?.login ?? "ghost",
      state: pull.state,
      draft: pull.draft ?? false,
      labels: pull.labels.map((label) => label.name),
      headSha: pull.head.sha,
      baseSha: pull.base.sha,
      baseRef: pull.base.ref,
    }),
  );

const Envelope = z.object({
  installation: z.object({ id: Id }),
  repository: z.object({ id: Id, name: Name, owner: z.object({ login: Name }) }),
});

const PullRequestPayload = Envelope.extend({
  pull_request: z.object({ number: Id, head: z.object({ sha: Sha }) }),
});

const EditedPayload = z.object({ changes: z.object({ title: z.unknown(), base: z.unknown() }).partial() });

const IssueCommentPayload = Envelope.extend({
  issue: z.object({
    number: Id,
    // Present, and holding links, exactly when the issue is a pull request.
    pull_request: z.unknown().optional(),
  }),
  comment: z.object({ id: Id, body: z.string(), user: Account }),
  sender: Account,
});

const MergeGroupPayload = Envelope.extend({ merge_group: z.object({ head_sha: Sha }) });

export interface EventRepository {
  installation: number;
  id: number;
  owner: string;
  name: string;
}

export interface PullRequestEvent {
  repository: EventRepository;
  pull: number;
  headSha: string;
}

export interface IssueCommentEvent {
  repository: EventRepository;
  /** Number of the issue or pull request. */
  issue: number;
  isPull: boolean;
  comment: { id: number; body: string; author: string };
  /** Whether a bot wrote the comment or set the event off. */
  byBot: boolean;
}

export interface MergeGroupEvent {
  repository: EventRepository;
  headSha: string;
}

/** An event, or the path of the first field that is missing or not as it should be. */
export type Parsed<Event> = { event: Event } | { lacks: string };

export const parsePullRequestEvent = parser(PullRequestPayload, (data): PullRequestEvent => {
  const { number: pull, head } = data.pull_request;
  return { repository: repositoryOf(data), pull, headSha: head.sha };
});

export const parseIssueCommentEvent = parser(IssueCommentPayload, (data): IssueCommentEvent => {
  const { comment, issue, sender } = data;
  return {
    repository: repositoryOf(data),
    issue: issue.number,
    isPull: typeof issue.pull_request === "object" && issue.pull_request !== null,
    comment: { id: comment.id, body: comment.body, author: comment.user.login },
    byBot: isBot(sender) || isBot(comment.user),
  };
});

export const parseMergeGroupEvent = parser(
  MergeGroupPayload,
  (data): MergeGroupEvent => ({ repository: repositoryOf(data), headSha: data.merge_group.head_sha }),
);

/** Whether an `edited` event changed what decides if a pull request is reviewed: its title or its base branch. */
export function changesReviewability(payload: unknown): boolean {
  const changes = EditedPayload.safeParse(payload).data?.changes;
  return changes?.title !== undefined || changes?.base !== undefined;
}

function parser<Data, Event>(
  schema: z.ZodType<Data>,
  eventOf: (data: Data) => Event,
): (payload: unknown) => Parsed<Event> {
  return (payload) => {
    const { data, error } = schema.safeParse(payload);
    if (data === undefined) return { lacks: error?.issues[0]?.path.join(".") || "content" };
    return { event: eventOf(data) };
  };
}

function repositoryOf({ installation, repository }: z.infer<typeof Envelope>): EventRepository {
  const { id, name, owner } = repository;
  return { installation: installation.id, id, owner: owner.login, name };
}

const isBot = ({ type, login }: z.infer<typeof Account>) => type === "Bot" || login.endsWith("[bot]");
