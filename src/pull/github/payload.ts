import { z } from "zod";
import type { PullRequest, SourceBranch } from "./pull-request-api.ts";

/*
 * The few fields of payloads and answers that we read. Unknown values are accepted, so that an event is still understood after GitHub
 * extends it. Names that become part of an address must match GitHub's alphabet.
 */
const Account = z.object({ login: z.string().min(1).max(100), type: z.string().catch("") });
const Id = z.int().positive();
const Name = z.string().regex(/^[\w.-]{1,100}$/);
const Sha = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/);

/** Null if it is gone, or has an unexpected form. */
const SourceRepository = z
  .object({
    id: Id,
    name: Name,
    owner: z.object({ login: Name }),
    default_branch: z.string().nullish().catch(null),
  })
  .nullish()
  .catch(null);

/** A pull request as both payloads and the REST API describe it. A deleted author is "ghost", as on GitHub's pages. */
const PullRequestData = z.object({
  number: z.int(),
  title: z.string(),
  body: z.string().nullish(),
  user: Account.nullish().catch(null),
  // Only open pull requests are processed, so an unknown state counts as closed.
  state: z.enum(["open", "closed"]).catch("closed"),
  closed_at: z.iso.datetime({ offset: true }).nullish().catch(null),
  merged_at: z.string().nullish().catch(null),
  draft: z.boolean().nullish(),
  labels: z.array(z.object({ name: z.string() })).catch([]),
  head: z.object({ sha: z.string(), ref: z.string().nullish(), repo: SourceRepository }),
  base: z.object({ sha: z.string(), ref: z.string(), repo: SourceRepository }),
  maintainer_can_modify: z.boolean().nullish(),
});
type Sourced = Pick<z.infer<typeof PullRequestData>, "head" | "base" | "maintainer_can_modify">;

export const PullRequestShape = PullRequestData.transform(
  (pull): PullRequest => ({
    number: pull.number,
    title: pull.title,
    body: pull.body ?? "",
    author: pull.user?.login ?? "ghost",
    state: pull.state,
    closed: pull.closed_at ? { at: Date.parse(pull.closed_at), isMerged: Boolean(pull.merged_at) } : null,
    draft: pull.draft ?? false,
    labels: pull.labels.map((label) => label.name),
    headSha: pull.head.sha,
    baseSha: pull.base.sha,
    baseRef: pull.base.ref,
    source: sourceOf(pull),
  }),
);

function sourceOf({
  head: { ref, repo },
  base,
  maintainer_can_modify: mayPush,
}: Sourced): SourceBranch | null {
  if (!ref || !repo || !base.repo) return null;
  return {
    owner: repo.owner.login,
    repo: repo.name,
    branch: ref,
    isFork: repo.id !== base.repo.id,
    isDefault: repo.id === base.repo.id && ref === base.repo.default_branch,
    maintainersMayPush: mayPush ?? false,
  };
}

const Envelope = z.object({
  installation: z.object({ id: Id }),
  repository: z.object({ id: Id, name: Name, owner: z.object({ login: Name }) }),
});

const PullRequestPayload = Envelope.extend({
  pull_request: z.object({ number: Id, head: z.object({ sha: Sha }) }),
});

const EditedPayload = z.object({ changes: z.object({ title: z.unknown(), base: z.unknown() }).partial() });

const Comment = z.object({
  id: Id,
  body: z.string(),
  user: Account,
  created_at: z.string(),
  // The App that wrote it, also if it shows a person's name.
  performed_via_github_app: z.unknown().optional(),
});

const IssueCommentPayload = Envelope.extend({
  issue: z.object({
    number: Id,
    // Present, and containing links, only if the issue is a pull request.
    pull_request: z.unknown().optional(),
  }),
  comment: Comment,
  sender: Account,
});

const ReviewCommentPayload = Envelope.extend({
  pull_request: z.object({ number: Id }),
  // The comment that opens the thread; if absent, this one does.
  comment: Comment.extend({ in_reply_to_id: Id.nullish() }),
  sender: Account,
});

const OwnApp = z.object({ id: Id });

/** Pull requests in a check's payload. GitHub lists none for forks. Entries that we cannot read are skipped. */
const CheckedPulls = z
  .array(
    z
      .object({ number: Id, base: z.object({ repo: z.object({ id: Id }) }) })
      .nullable()
      .catch(null),
  )
  .catch([]);

const CheckRunPayload = Envelope.extend({
  check_run: z.object({
    head_sha: Sha,
    external_id: z.string().nullish().catch(null),
    app: OwnApp,
    pull_requests: CheckedPulls,
  }),
  sender: Account,
});

const CheckSuitePayload = Envelope.extend({
  check_suite: z.object({ head_sha: Sha, app: OwnApp, pull_requests: CheckedPulls }),
  sender: Account,
});

const MergeGroupPayload = Envelope.extend({ merge_group: z.object({ head_sha: Sha }) });

type EventRepository = ReturnType<typeof repositoryOf>;

export interface CommentEvent {
  repository: EventRepository;
  issue: number;
  isPull: boolean;
  comment: { id: number; body: string; author: string; createdAt: string };
  /** Id of the comment that opens the review thread; null in the conversation. */
  thread: number | null;
  isReply: boolean;
  /** Whether a person wrote it themselves: not a bot, not an App in their name, and the sender is the author. */
  byPerson: boolean;
}

/** A request to run a check run, or all check runs of an App on a commit, again. */
export interface RerunEvent {
  repository: EventRepository;
  headSha: string;
  app: number;
  /** The App's external id for its check run; null for a suite, or if it has none. */
  externalId: string | null;
  /** Open pull requests of this repository that GitHub knows to be at the commit; empty for forks. */
  pulls: number[];
  sender: string;
  byPerson: boolean;
}

/** An event, or the path of the first field that is missing or invalid. */
export type Parsed<Event> = { event: Event } | { lacks: string };

export const parsePullRequestEvent = parser(PullRequestPayload, (data) => {
  const { number: pull, head } = data.pull_request;
  return { repository: repositoryOf(data), pull, headSha: head.sha };
});

export const parseIssueCommentEvent = parser(IssueCommentPayload, (data): CommentEvent => {
  const { issue } = data;
  const isPull = typeof issue.pull_request === "object" && issue.pull_request !== null;
  return { ...commentOf(data), issue: issue.number, isPull, thread: null, isReply: false };
});

export const parseReviewCommentEvent = parser(ReviewCommentPayload, (data): CommentEvent => {
  const { comment, pull_request: pull } = data;
  const answered = comment.in_reply_to_id ?? null;
  const place = { thread: answered ?? comment.id, isReply: answered !== null };
  return { ...commentOf(data), issue: pull.number, isPull: true, ...place };
});

export const parseCheckRunEvent = parser(CheckRunPayload, (data): RerunEvent => {
  const { check_run: check } = data;
  return { ...rerunOf(data, check), externalId: check.external_id ?? null };
});

export const parseCheckSuiteEvent = parser(CheckSuitePayload, (data): RerunEvent => {
  return { ...rerunOf(data, data.check_suite), externalId: null };
});

export const parseMergeGroupEvent = parser(MergeGroupPayload, (data) => {
  return { repository: repositoryOf(data), headSha: data.merge_group.head_sha };
});

/** Whether an `edited` event changed something that decides if a pull request is reviewed: its title or its base branch. */
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

function repositoryOf({ installation, repository }: z.infer<typeof Envelope>) {
  const { id, name, owner } = repository;
  return { installation: installation.id, id, owner: owner.login, name };
}

type WithComment = z.infer<typeof Envelope> & {
  comment: z.infer<typeof Comment>;
  sender: z.infer<typeof Account>;
};

function commentOf(data: WithComment): Pick<CommentEvent, "repository" | "comment" | "byPerson"> {
  const { comment, sender } = data;
  const { id, body, user, created_at: createdAt, performed_via_github_app: via } = comment;
  const isOwnWord = sender.login === user.login && (via === undefined || via === null);
  return {
    repository: repositoryOf(data),
    comment: { id, body, author: user.login, createdAt },
    byPerson: isOwnWord && isPerson(user) && isPerson(sender),
  };
}

function rerunOf(
  data: z.infer<typeof Envelope> & { sender: z.infer<typeof Account> },
  { head_sha: headSha, app, pull_requests }: z.infer<typeof CheckSuitePayload>["check_suite"],
): Omit<RerunEvent, "externalId"> {
  const repository = repositoryOf(data);
  const own = pull_requests.filter((pull) => pull?.base.repo.id === repository.id);
  const pulls = [...new Set(own.flatMap((pull) => pull?.number ?? []))];
  const { sender } = data;
  return { repository, headSha, app: app.id, pulls, sender: sender.login, byPerson: isPerson(sender) };
}

const isPerson = ({ type, login }: z.infer<typeof Account>) => type === "User" && !login.endsWith("[bot]");

/** A repository in events about installations: its owner is only in its full name. */
const NamedRepository = z
  .object({ id: z.int().positive(), full_name: z.string().regex(/^[\w.-]{1,100}\/[\w.-]{1,100}$/) })
  .transform(({ id, full_name }) => {
    const [owner = "", name = ""] = full_name.split("/");
    return { id, owner, name };
  });

const OfInstallation = z.object({ action: z.string(), installation: z.object({ id: z.int().positive() }) });
const InstallationPayload = OfInstallation.extend({
  // Absent if there are very many.
  repositories: z.array(NamedRepository).nullish().catch(null),
});
const RepositoriesPayload = OfInstallation.extend({ repositories_removed: z.array(NamedRepository) });

export const parseInstallationEvent = parser(
  InstallationPayload,
  ({ action, installation, repositories }) => {
    return { action, installation: installation.id, repositories: repositories ?? [] };
  },
);

export const parseRepositoriesRemovedEvent = parser(
  RepositoriesPayload,
  ({ action, installation, repositories_removed: repositories }) => {
    return { action, installation: installation.id, repositories };
  },
);
