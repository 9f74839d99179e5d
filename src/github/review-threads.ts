import { z } from "zod";
import { AppError } from "../errors.ts";
import { Side } from "../finding.ts";
import type { GitHubClient } from "./client.ts";
import { notGranted } from "./errors.ts";
import type { AppIdentity } from "./own-text.ts";
import type { Actor, OwnThread, ThreadComment } from "./pull-request-api.ts";
import { resolvingMutation, threadsPerPage, threadsQuery } from "./thread-documents.ts";

export interface ThreadsOf {
  client: GitHubClient;
  owner: string;
  repo: string;
  pull: number;
}

/** What of REST completes threads that have more than one answer of GraphQL holds. All pages of it. */
export interface MoreOfThreads {
  /** Comments on lines and files of the pull request, by anybody. */
  comments(): Promise<readonly unknown[]>;
  /** Thumbs down on one of them. */
  downvotes(comment: number): Promise<readonly unknown[]>;
}

/** 10,000 threads: beyond it we would not know what already stands, and so post nothing. */
const mostPages = 200;

/** Null when the account is gone, and for some accounts that are no person's. */
const Account = z.object({ __typename: z.string(), login: z.string() }).nullable();
/** GraphQL leaves null in a list for what it could not show. */
function nodes<Shape extends z.ZodType>(shape: Shape) {
  const shown = z.array(shape.nullable()).transform((all) => all.filter((one) => one !== null));
  return z.object({ nodes: shown });
}
/** The last of a list that may be longer. */
const lastOf = <Shape extends z.ZodType>(shape: Shape) => nodes(shape).extend({ totalCount: z.int() });

const Comment = z.object({
  id: z.string(),
  /** A BigInt, written as text. */
  fullDatabaseId: z.string().transform(Number).pipe(z.int()),
  body: z.string(),
  createdAt: z.string(),
  author: Account,
});
const Opening = Comment.extend({
  url: z.string(),
  state: z.string(),
  reactions: lastOf(z.object({ createdAt: z.string(), user: Account })),
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
async function allThreads({ client, owner, repo, pull }: ThreadsOf): Promise<Thread[]> {
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

/**
 * Threads that a comment of ours began, in GitHub's order, with all that people said in them. Rejects with `too_large` beyond 10,000
 * threads or comments of anybody.
 */
export async function ownThreads(of: ThreadsOf, app: AppIdentity, more: MoreOfThreads): Promise<OwnThread[]> {
  let comments: Promise<readonly unknown[]> | undefined;
  const allComments = () => {
    comments ??= more.comments();
    return comments;
  };
  const threads: OwnThread[] = [];
  for (const thread of await allThreads(of)) {
    const first = thread.opening.nodes[0];
    // Of a pending review, whose author sees it here already, nothing has been said yet.
    if (!first || first.state === "PENDING" || actorOf(first.author, app).kind !== "us") continue;
    const { isResolved: resolved, isOutdated: outdated, latest } = thread;
    const { id: node, fullDatabaseId: comment, reactions } = first;
    const isOnLine = thread.subjectType !== "FILE";
    const isPlaced = isOnLine && !outdated;
    threads.push({
      ...{ id: thread.id, comment, body: first.body, url: first.url },
      ...{ path: thread.path, side: thread.diffSide },
      line: isPlaced ? thread.line : null,
      startLine: isPlaced ? thread.startLine : null,
      originalLine: isOnLine ? thread.originalLine : null,
      ...{ resolved, outdated },
      resolvedBy: thread.resolvedBy && resolverOf(thread.resolvedBy, app),
      replies:
        latest.totalCount > latest.nodes.length
          ? repliesAmong(await allComments(), comment, app)
          : latest.nodes.filter(({ id }) => id !== node).map((one) => threadComment(one, app)),
      downvotes:
        reactions.totalCount > reactions.nodes.length
          ? downvotesAmong(await more.downvotes(comment))
          : reactions.nodes.flatMap(({ createdAt, user }) =>
              user && actorOf(user, app).kind === "person" ? [{ by: user.login, at: createdAt }] : [],
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

/** Whoever wrote or reacted, as REST has it. Null when the account is gone. */
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

/** REST puts brackets behind a bot's name, which GraphQL leaves out. */
const withoutBrackets = ({ login, type }: { login: string; type: string }) =>
  type === "Bot" ? login.replace(/\[bot\]$/, "") : login;

/**
 * GraphQL names a bot without the brackets that REST puts behind it; no person's account is of this type. Who is gone may
 * have been a person, and a thread in which one wrote is theirs.
 */
function actorOf(account: z.infer<typeof Account>, { slug }: AppIdentity): Actor {
  if (account === null) return { login: null, kind: "person" };
  const { __typename: type, login } = account;
  if (type === "User") return { login, kind: login.endsWith("[bot]") ? "bot" : "person" };
  const isUs = type === "Bot" && login.toLowerCase() === slug.toLowerCase();
  return { login, kind: isUs ? "us" : "bot" };
}

/** GitHub's schema calls whoever resolved a thread a `User`, an App's bot too: there its name has to do. */
function resolverOf(account: NonNullable<z.infer<typeof Account>>, app: AppIdentity): Actor {
  const login = account.login.replace(/\[bot\]$/, "");
  const isUs = login.toLowerCase() === app.slug.toLowerCase();
  return isUs ? { login: account.login, kind: "us" } : actorOf(account, app);
}

const Resolved = z.object({
  resolveReviewThread: z.object({ thread: z.object({ isResolved: z.boolean() }).nullable() }).nullable(),
});

/** Resolves a thread, which is resolved no more when it is asked for twice: an answer that was lost is asked for again. */
export async function resolveThread(client: GitHubClient, id: string): Promise<void> {
  try {
    await client.mutate(resolvingMutation, { id }, Resolved);
  } catch (error) {
    const isForbidden = error instanceof AppError && error.code === "github_forbidden";
    if (!isForbidden || error.remedy !== undefined) throw error;
    throw notGranted("Resolving a thread", "contents=write, pull_requests=write");
  }
}
