import { z } from "zod";
import type { PullRequest } from "./pull-request-api.ts";

/**
 * The few fields of webhook payloads that are read. The schemas ask for no more than that and hold no closed list of
 * values, so that an event GitHub extends tomorrow is still understood.
 */
const Account = z.object({ login: z.string(), type: z.string().catch("User") });

const Envelope = z.object({
  action: z.string(),
  installation: z.object({ id: z.int() }),
  repository: z.object({ id: z.int(), name: z.string(), owner: z.object({ login: z.string() }) }),
  sender: Account.nullish().catch(null),
});

/** A pull request as payloads and the REST API both describe it. A deleted author is "ghost", as on GitHub's pages. */
export const PullRequestShape = z
  .object({
    number: z.int(),
    title: z.string(),
    body: z.string().nullish(),
    user: Account.nullish(),
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

const PullRequestPayload = Envelope.extend({ pull_request: PullRequestShape });

const IssueCommentPayload = Envelope.extend({
  issue: z.object({
    number: z.int(),
    state: z.string().nullish(),
    // Present, and holding links, exactly when the issue is a pull request.
    pull_request: z.unknown(),
  }),
  comment: z.object({
    id: z.int(),
    body: z.string().nullish(),
    user: Account.nullish(),
    performed_via_github_app: z.object({ id: z.int() }).nullish().catch(null),
  }),
});

const MergeGroupPayload = Envelope.extend({ merge_group: z.object({ head_sha: z.string() }) });

export interface EventAccount {
  login: string;
  isBot: boolean;
}

export interface EventRepository {
  installation: number;
  id: number;
  owner: string;
  name: string;
}

interface Event {
  action: string;
  repository: EventRepository;
  /** Who set the event off; null for a deleted account. */
  sender: EventAccount | null;
}

export interface PullRequestEvent extends Event {
  pull: PullRequest;
}

export interface IssueCommentEvent extends Event {
  pull: number;
  pullIsOpen: boolean;
  comment: {
    id: number;
    body: string;
    author: EventAccount | null;
    /** Id of the GitHub App that wrote it, if one did. */
    app: number | null;
  };
}

export interface MergeGroupEvent extends Event {
  headSha: string;
}

/** Undefined when the payload lacks what is needed to act on it: the installation, the repository, the pull request. */
export function parsePullRequestEvent(payload: unknown): PullRequestEvent | undefined {
  const { success, data } = PullRequestPayload.safeParse(payload);
  return success ? { ...eventOf(data), pull: data.pull_request } : undefined;
}

/** Undefined also for a comment on an issue that is no pull request. */
export function parseIssueCommentEvent(payload: unknown): IssueCommentEvent | undefined {
  const { success, data } = IssueCommentPayload.safeParse(payload);
  if (!success || typeof data.issue.pull_request !== "object" || data.issue.pull_request === null)
    return undefined;
  return {
    ...eventOf(data),
    pull: data.issue.number,
    pullIsOpen: data.issue.state === "open",
    comment: {
      id: data.comment.id,
      body: data.comment.body ?? "",
      author: accountOf(data.comment.user),
      app: data.comment.performed_via_github_app?.id ?? null,
    },
  };
}

export function parseMergeGroupEvent(payload: unknown): MergeGroupEvent | undefined {
  const { success, data } = MergeGroupPayload.safeParse(payload);
  return success ? { ...eventOf(data), headSha: data.merge_group.head_sha } : undefined;
}

function eventOf({ action, installation, repository, sender }: z.infer<typeof Envelope>): Event {
  return {
    action,
    repository: {
      installation: installation.id,
      id: repository.id,
      owner: repository.owner.login,
      name: repository.name,
    },
    sender: accountOf(sender),
  };
}

function accountOf(account: z.infer<typeof Account> | null | undefined): EventAccount | null {
  return account ? { login: account.login, isBot: account.type === "Bot" } : null;
}
