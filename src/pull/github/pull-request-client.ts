import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { Side } from "../../core/finding.ts";
import { resolvingMutation, threadsPerPage, threadsQuery } from "./allowlist.ts";
import type { GitHubClient } from "./client.ts";
import { notGranted, unlessGone, unlessRefused } from "./errors.ts";
import { type AppIdentity, isSelf, ownAmong, ownCommentsAmong, ownTextsAmong } from "./own-text.ts";
import { PullRequestShape } from "./payload.ts";
import type {
  Actor,
  FailedCheck,
  InlineComment,
  Issue,
  OwnThread,
  PullRequestApi,
  ThreadComment,
} from "./pull-request-api.ts";
import {
  type CheckRunShape,
  CheckRuns,
  checkName,
  createRepositoryApi,
  type RepositoryApiOptions,
  read,
} from "./repository-client.ts";

/** 10,000 threads. Beyond that we do not know which of our comments exist, and so post nothing. */
const mostPages = 200;

/** Null if the account is gone, and for some accounts that are not people. */
const Account = z.object({ __typename: z.string(), login: z.string() }).nullable();
/** GraphQL lists contain null for items that it cannot show. */
function nodes<Shape extends z.ZodType>(shape: Shape) {
  const shown = z.array(shape.nullable()).transform((all) => all.filter((one) => one !== null));
  return z.object({ nodes: shown });
}
/** The last items of a list that may be longer. */
const lastOf = <Shape extends z.ZodType>(shape: Shape) => nodes(shape).extend({ totalCount: z.int() });

const Comment = z.object({
  id: z.string(),
  /** A BigInt in text form. */
  fullDatabaseId: z.string().transform(Number).pipe(z.int()),
  body: z.string(),
  createdAt: z.string(),
  author: Account,
});
const Opening = Comment.extend({
  url: z.string(),
  state: z.string(),
  reactions: lastOf(z.object({ createdAt: z.string(), user: Account })),
  upvotes: z.object({ totalCount: z.int() }),
});
const Thread = z.object({
  id: z.string(),
  isResolved: z.boolean(),
  isOutdated: z.boolean(),
  path: z.string(),
  diffSide: Side,
  line: z.int().nullable(),
  startLine: z.int().nullable(),
  originalLine: z.int().nullable(),
  subjectType: z.string(),
  resolvedBy: Account,
  opening: nodes(Opening),
  latest: lastOf(Comment),
});
type Thread = z.infer<typeof Thread>;
const PageInfo = z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() });
const ReviewThreads = nodes(Thread).extend({ pageInfo: PageInfo });
const Page = z.object({
  repository: z.object({ pullRequest: z.object({ reviewThreads: ReviewThreads }) }),
});

/** Only GraphQL knows whether a thread is resolved. */
async function allThreads({ client, owner, repo, pull }: PullRequestApiOptions): Promise<Thread[]> {
  const found: Thread[] = [];
  let after: string | null = null;
  for (let page = 0; page < mostPages; page++) {
    const answer: z.infer<typeof Page> = await client.query(threadsQuery, { owner, repo, pull, after }, Page);
    const { nodes, pageInfo } = answer.repository.pullRequest.reviewThreads;
    found.push(...nodes);
    if (!pageInfo.hasNextPage) return found;
    after = pageInfo.endCursor;
  }
  throw new AppError(
    "too_large",
    `GitHub lists more than ${mostPages * threadsPerPage} threads of pull request ${pull}`,
  );
}

/** Threads that start with a comment of ours, with all comments of people. Rejects with `too_large` beyond 10,000 threads or comments. */
async function ownThreads(
  options: PullRequestApiOptions,
  listed: (path: string) => Promise<readonly unknown[]>,
): Promise<OwnThread[]> {
  const { app, pull } = options;
  // REST lists what exceeds one GraphQL answer.
  let comments: Promise<readonly unknown[]> | undefined;
  const allComments = () => {
    comments ??= listed(`pulls/${pull}/comments`);
    return comments;
  };
  const threads: OwnThread[] = [];
  for (const thread of await allThreads(options)) {
    const first = thread.opening.nodes[0];
    // A pending review is only visible to its author: nobody has answered it yet.
    if (!first || first.state === "PENDING" || actorOf(first.author, app).kind !== "us") continue;
    const { isResolved: resolved, isOutdated: outdated, latest } = thread;
    const { id: node, fullDatabaseId: comment, reactions, upvotes, body, url, createdAt } = first;
    const isOnLine = thread.subjectType !== "FILE";
    const isPlaced = isOnLine && !outdated;
    threads.push({
      id: thread.id,
      comment,
      body,
      url,
      createdAt,
      path: thread.path,
      side: thread.diffSide,
      line: isPlaced ? thread.line : null,
      startLine: isPlaced ? thread.startLine : null,
      originalLine: isOnLine ? thread.originalLine : null,
      resolved,
      outdated,
      upvotes: upvotes.totalCount,
      resolvedBy: thread.resolvedBy && resolverOf(thread.resolvedBy, app),
      replies:
        latest.totalCount > latest.nodes.length
          ? repliesAmong(await allComments(), comment, app)
          : latest.nodes.filter(({ id }) => id !== node).map((one) => threadComment(one, app)),
      downvotes:
        reactions.totalCount > reactions.nodes.length
          ? downvotesAmong(await listed(`pulls/comments/${comment}/reactions`))
          : reactions.nodes.flatMap(({ createdAt: at, user }) =>
              user && actorOf(user, app).kind === "person" ? [{ by: user.login, at }] : [],
            ),
    });
  }
  return threads;
}

function threadComment(
  { fullDatabaseId, author, body, createdAt }: z.infer<typeof Comment>,
  app: AppIdentity,
) {
  return { id: fullDatabaseId, author: actorOf(author, app), body, createdAt } satisfies ThreadComment;
}

/** The author of a comment or reaction in REST. Null if the account is gone. */
const RestAccount = z.object({ login: z.string(), type: z.string() }).nullable();
const RestReply = z.object({
  id: z.int(),
  in_reply_to_id: z.int(),
  user: RestAccount,
  body: z.string().nullable(),
  created_at: z.string(),
});
const RestReaction = z.object({ user: RestAccount, content: z.string(), created_at: z.string() });

function repliesAmong(comments: readonly unknown[], thread: number, app: AppIdentity): ThreadComment[] {
  return comments
    .flatMap((one) => RestReply.safeParse(one).data ?? [])
    .filter((one) => one.in_reply_to_id === thread)
    .toSorted((a, b) => a.id - b.id)
    .map(({ id, user, body, created_at: createdAt }) => {
      const author = actorOf(user && { __typename: user.type, login: withoutBrackets(user) }, app);
      return { id, author, body: body ?? "", createdAt };
    });
}

const downvotesAmong = (reactions: readonly unknown[]): OwnThread["downvotes"] =>
  reactions
    .flatMap((one) => RestReaction.safeParse(one).data ?? [])
    .flatMap(({ user, content, created_at: at }) =>
      content === "-1" && user?.type === "User" ? [{ by: user.login, at }] : [],
    )
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));

/** REST appends brackets to a bot's name, GraphQL does not. */
const withoutBrackets = ({ login, type }: { login: string; type: string }) =>
  type === "Bot" ? login.replace(/\[bot\]$/, "") : login;

/** GraphQL names a bot without the brackets that REST appends. A deleted account may have been a person's. */
function actorOf(account: z.infer<typeof Account>, app: AppIdentity): Actor {
  if (account === null) return { login: null, kind: "person" };
  const { __typename: type, login } = account;
  if (isSelf(type, login, app)) return { login, kind: "us" };
  if (type === "User") return { login, kind: login.endsWith("[bot]") ? "bot" : "person" };
  return { login, kind: "bot" };
}

/** In GitHub's schema the account that resolved a thread is always a `User`, even an App's bot: only its name can tell. */
function resolverOf(account: NonNullable<z.infer<typeof Account>>, app: AppIdentity): Actor {
  const login = account.login.replace(/\[bot\]$/, "");
  const isUs = login.toLowerCase() === app.slug.toLowerCase();
  return isUs ? { login: account.login, kind: "us" } : actorOf(account, app);
}

const Resolved = z.object({
  resolveReviewThread: z.object({ thread: z.object({ isResolved: z.boolean() }).nullable() }).nullable(),
});

/** Repeated if its answer was lost: resolving twice has no further effect. */
async function resolveThread(client: GitHubClient, id: string): Promise<void> {
  try {
    await client.mutate(resolvingMutation, { id }, Resolved);
  } catch (error) {
    const isForbidden = error instanceof AppError && error.code === "github_forbidden";
    if (!isForbidden || error.remedy !== undefined) throw error;
    throw notGranted("Resolving a thread", "contents=write, pull_requests=write");
  }
}

const IssueAnswer = z.object({ number: z.int(), title: z.string(), body: z.string().nullish() });

async function issue(
  { client, owner, repo }: RepositoryApiOptions,
  number: number,
): Promise<Issue | undefined> {
  const asked = client.rest.issues.get({ owner, repo, issue_number: number });
  const data = (await unlessRefused(asked, null))?.data;
  if (data === undefined) return undefined;
  const found = read(IssueAnswer, data, `issue ${number}`);
  // For an issue that was moved to another repository, GitHub returns the issue there.
  return found.number === number ? { ...found, body: found.body ?? "" } : undefined;
}

const most = { checkPages: 3, checks: 10, annotations: 50 };

/** `cancelled` and `stale` say nothing about the code. */
const failures = new Set(["failure", "timed_out", "action_required", "startup_failure"]);

const Annotations = z.array(
  z.object({
    path: z.string(),
    start_line: z.int(),
    end_line: z.int(),
    annotation_level: z.string().nullish(),
    message: z.string().nullish(),
  }),
);

const CombinedStatus = z.object({
  statuses: z.array(z.object({ context: z.string(), state: z.string(), description: z.string().nullish() })),
});

/**
 * Current failures of a commit: at most 10 check runs and statuses of others, with at most 50 annotations, shared between the check runs.
 */
async function failedChecks(options: RepositoryApiOptions, headSha: string): Promise<FailedCheck[]> {
  const [runs, statuses] = await Promise.all([
    unlessRefused(failedRuns(options, headSha), []),
    unlessRefused(failedStatuses(options, headSha), []),
  ]);
  const shown = runs.slice(0, most.checks);
  const annotated = shown.filter(({ output }) => (output?.annotations_count ?? 0) > 0);
  const share = Math.floor(most.annotations / Math.max(1, annotated.length));
  const checks = shown.map(async (run): Promise<FailedCheck> => {
    const { name, conclusion, output } = run;
    const annotations = annotated.includes(run) ? await annotationsOf(options, run, share) : [];
    const [title, summary] = [output?.title ?? "", output?.summary ?? ""];
    return { name, conclusion: conclusion ?? "", title, summary, annotations };
  });
  return [...(await Promise.all(checks)), ...statuses].slice(0, most.checks);
}

async function failedRuns(
  { client, owner, repo, app }: RepositoryApiOptions,
  ref: string,
): Promise<CheckRunShape[]> {
  const failed: CheckRunShape[] = [];
  for (let page = 1; page <= most.checkPages; page++) {
    const asked = { owner, repo, ref, status: "completed", filter: "latest", per_page: 100, page } as const;
    const { data } = await client.rest.checks.listForRef(asked);
    const runs = read(CheckRuns, data, "check runs").check_runs;
    // In GitHub Actions, the checks of all workflows are of the same App.
    const isOwn = (run: CheckRunShape) => run.app?.id === app.id && run.name === checkName;
    failed.push(...runs.filter((run) => failures.has(run.conclusion ?? "") && !isOwn(run)));
    if (runs.length < 100 || failed.length >= most.checks) break;
  }
  return failed;
}

async function annotationsOf(
  { client, owner, repo }: RepositoryApiOptions,
  { id }: CheckRunShape,
  share: number,
): Promise<FailedCheck["annotations"]> {
  const asked = { owner, repo, check_run_id: id, per_page: share };
  const { data } = await client.rest.checks.listAnnotations(asked);
  return read(Annotations, data, "annotations").map((one) => ({
    path: one.path,
    startLine: one.start_line,
    endLine: one.end_line,
    level: one.annotation_level ?? "",
    message: one.message ?? "",
  }));
}

/** GitHub returns the latest status of each context. */
async function failedStatuses(
  { client, owner, repo }: RepositoryApiOptions,
  ref: string,
): Promise<FailedCheck[]> {
  const { data } = await client.rest.repos.getCombinedStatusForRef({ owner, repo, ref, per_page: 100 });
  const { statuses } = read(CombinedStatus, data, "commit statuses");
  return statuses
    .filter(({ state }) => state === "failure" || state === "error")
    .map(({ context: name, state: conclusion, description }) => {
      return { name, conclusion, title: description ?? "", summary: "", annotations: [] };
    });
}

interface PullRequestApiOptions extends RepositoryApiOptions {
  pull: number;
  /** The same with a token that may write to the repository. The token is requested on first use. */
  writing: GitHubClient;
}

/** 10,000 reviews or comments. Beyond that we do not know which of our texts exist, and so post nothing. */
const mostHundreds = 100;

export function createPullRequestApi(options: PullRequestApiOptions): PullRequestApi {
  const { client, owner, repo, app, pull, writing } = options;
  const { rest } = client;
  const here = { owner, repo };
  const thisPull = { ...here, pull_number: pull };
  const root = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`;

  const all = (path: string) => client.list(`${root}/${path}`, mostHundreds);
  const own = <Item>(path: string, of: (page: unknown[], app: AppIdentity) => Item[]) =>
    client.list(`${root}/${path}`, mostHundreds, (page) => of(page, app));
  const reviews = () => own(`pulls/${pull}/reviews`, ownAmong);

  async function discardPendingReviews(): Promise<void> {
    for (const review of (await reviews()).filter((one) => one.pending)) {
      await rest.pulls.deletePendingReview({ ...thisPull, review_id: review.id });
    }
  }

  return {
    ...createRepositoryApi(options),

    async pull() {
      const { data } = await rest.pulls.get(thisPull);
      return read(PullRequestShape, data, `pull request ${pull}`);
    },

    async ownReviewComments() {
      return ownCommentsAmong(await all(`pulls/${pull}/comments`), app);
    },
    ownThreads: () => ownThreads(options, all),
    resolveThread: (id) => resolveThread(writing, id),
    isOwnReviewComment: (id) => isOwnComment(options, id),
    issue: (number) => issue(options, number),
    failedChecks: (headSha) => failedChecks(options, headSha),
    ownComments: () => own(`issues/${pull}/comments`, ownTextsAmong),
    ownReviews: reviews,
    discardPendingReviews,

    async createReview(commit_id, body, given) {
      const comments = given.map(wireComment);
      await rest.pulls.createReview({ ...thisPull, commit_id, event: "COMMENT", body, comments });
    },

    async acceptsReview(commit_id, given) {
      // A pending review that remains from a crash between the two calls below would make GitHub refuse any other.
      await discardPendingReviews();
      const comments = given.map(wireComment);
      try {
        await rest.pulls.createReview({ ...thisPull, commit_id, comments });
      } catch (error) {
        if (error instanceof AppError && error.code === "github_invalid") return false;
        throw error;
      }
      await discardPendingReviews();
      return true;
    },

    async createFileComment(commit_id, path, body) {
      const comment = { ...thisPull, commit_id, path, body, subject_type: "file" };
      await rest.pulls.createReviewComment(comment as Parameters<typeof rest.pulls.createReviewComment>[0]);
    },

    async reply(comment_id, body) {
      await rest.pulls.createReplyForReviewComment({ ...thisPull, comment_id, body });
    },

    async createComment(body) {
      await rest.issues.createComment({ ...here, issue_number: pull, body });
    },

    async updateComment(id, body) {
      await rest.issues.updateComment({ ...here, comment_id: id, body });
    },

    async deleteComment(comment_id) {
      await unlessGone(rest.issues.deleteComment({ ...here, comment_id }));
    },
    async deleteReviewComment(comment_id) {
      await unlessGone(rest.pulls.deleteReviewComment({ ...here, comment_id }));
    },
    async editReview(review_id, body) {
      await rest.pulls.updateReview({ ...thisPull, review_id, body });
    },
  };
}

async function isOwnComment(
  { client, owner, repo, app }: PullRequestApiOptions,
  comment_id: number,
): Promise<boolean | undefined> {
  const answer = await unlessGone(client.rest.pulls.getReviewComment({ owner, repo, comment_id }));
  return answer ? ownAmong([answer.data], app).length === 1 : undefined;
}

function wireComment({ path, side, line, startLine, body }: InlineComment) {
  const range = startLine === null ? {} : { start_line: startLine, start_side: side };
  return { path, side, line, body, ...range };
}
