import { currentPlace } from "../current-line.ts";
import { reviewCommentPage } from "../json/comment.ts";
import type { Account, Pull, Reaction, Repository, ReviewComment, Token } from "../model.ts";
import { headOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";

/** GraphQL's refusal instead of data. */
export class GraphqlRefusal extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }

  /** Whether the query itself is wrong, not merely unauthorized or about a deleted object. */
  get isMistake(): boolean {
    return this.type !== "FORBIDDEN" && this.type !== "NOT_FOUND";
  }
}

type Arguments = Record<string, unknown>;

/** An object of GitHub's schema: its name and its field resolvers. */
export interface Resolver {
  name: string;
  fields: Record<string, (args: Arguments) => unknown>;
}

const threadId = (first: ReviewComment) => nodeId("PRRT", first.id);
const repliesOf = (first: ReviewComment) =>
  first.pull.reviewComments.filter((one) => one === first || one.inReplyTo === first);
/** The viewer: only the author sees the threads of a pending review. */
interface View {
  state: GitHubState;
  viewer: Account;
}

const viewOf = (state: GitHubState, token: Token): View => ({ state, viewer: token.installation.app.bot });
const threadsOf = (pull: Pull, { viewer }: View) =>
  pull.reviewComments.filter(
    ({ inReplyTo, review }) => !inReplyTo && (review.state !== "PENDING" || review.author === viewer),
  );

/** A connection: `first` (or `last`), `after` a cursor that is an index. */
function connection<T>(name: string, items: T[], args: Arguments, show: (item: T) => Resolver): Resolver {
  const { first, last, after } = args as { first?: number; last?: number; after?: string | null };
  if (first === undefined && last === undefined) {
    throw new GraphqlRefusal(
      "MISSING_PAGINATION_BOUNDARIES",
      `You must provide a \`first\` or \`last\` value to properly paginate the \`${name}\` connection.`,
    );
  }
  if ((first ?? last ?? 0) > 100) {
    throw new GraphqlRefusal(
      "EXCESSIVE_PAGINATION",
      `Requesting ${first ?? last} records on the \`${name}\` connection exceeds the \`first\` limit of 100 records.`,
    );
  }
  const start = after ? Number(Buffer.from(after, "base64").toString()) + 1 : 0;
  const page = first === undefined ? items.slice(-(last ?? 0)) : items.slice(start, start + first);
  const end = first === undefined ? items.length : start + page.length;
  const cursor = page.length > 0 ? Buffer.from(String(end - 1)).toString("base64") : null;
  const info = {
    name: "PageInfo",
    fields: { hasNextPage: () => end < items.length, endCursor: () => cursor },
  };
  return {
    name: `${name}Connection`,
    fields: { totalCount: () => items.length, nodes: () => page.map(show), pageInfo: () => info },
  };
}

const actor = (account: Account): Resolver => ({
  name: account.type,
  // GraphQL shows a bot without REST's suffix.
  fields: { login: () => account.login.replace(/\[bot\]$/, "") },
});

/** GitHub's schema allows only users here; it does not document whether an App's bot keeps its brackets. */
const user = ({ login }: Account): Resolver => ({ name: "User", fields: { login: () => login } });

/** GraphQL's enumeration names. */
const contents: Record<string, Reaction["content"]> = {
  THUMBS_UP: "+1",
  THUMBS_DOWN: "-1",
  ...{
    LAUGH: "laugh",
    CONFUSED: "confused",
    HEART: "heart",
    HOORAY: "hooray",
    ROCKET: "rocket",
    EYES: "eyes",
  },
};

const reaction = (one: Reaction): Resolver => ({
  name: "Reaction",
  fields: {
    createdAt: () => timestamp(one.createdAt),
    content: () => Object.entries(contents).find(([, content]) => content === one.content)?.[0],
    user: () => user(one.user),
  },
});

function reactions(all: Reaction[], args: Arguments): Resolver {
  const wanted = contents[String(args.content)];
  const some = args.content === undefined ? all : all.filter(({ content }) => content === wanted);
  const { direction } = (args.orderBy ?? {}) as { direction?: "ASC" | "DESC" };
  const ordered = some.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  return connection("reactions", direction === "DESC" ? ordered.reverse() : ordered, args, reaction);
}

const comment = ({ state }: View, one: ReviewComment): Resolver => ({
  name: "PullRequestReviewComment",
  fields: {
    id: () => nodeId("PRRC", one.id),
    // Deprecated: an Int has 32 bits, and GitHub's newer ids do not fit.
    databaseId: () => (one.id > 2 ** 31 - 1 ? null : one.id),
    fullDatabaseId: () => String(one.id),
    body: () => one.body,
    path: () => one.path,
    createdAt: () => timestamp(one.createdAt),
    author: () => actor(one.author),
    viewerDidAuthor: () => one.via !== null,
    url: () => reviewCommentPage(state, one),
    state: () => (one.review.state === "PENDING" ? "PENDING" : "SUBMITTED"),
    reactions: (args) => reactions(one.reactions, args),
  },
});

const thread = (view: View, first: ReviewComment): Resolver => ({
  name: "PullRequestReviewThread",
  fields: {
    id: () => threadId(first),
    isResolved: () => first.resolvedBy !== null,
    isOutdated: async () => first.anchor !== null && (await currentPlace(first)) === null,
    path: () => first.path,
    diffSide: () => first.anchor?.side ?? "RIGHT",
    line: async () => (await currentPlace(first))?.line ?? null,
    startLine: async () => (await currentPlace(first))?.startLine ?? null,
    originalLine: () => first.anchor?.line ?? 1,
    originalStartLine: () => first.anchor?.startLine ?? null,
    resolvedBy: () => first.resolvedBy && user(first.resolvedBy),
    subjectType: () => (first.anchor ? "LINE" : "FILE"),
    comments: (args) => connection("comments", repliesOf(first), args, (one) => comment(view, one)),
  },
});

const pull = (view: View, one: Pull): Resolver => ({
  name: "PullRequest",
  fields: {
    id: () => nodeId("PR", one.id),
    number: () => one.number,
    title: () => one.title,
    state: () => (one.merged ? "MERGED" : one.state.toUpperCase()),
    isDraft: () => one.draft,
    headRefOid: () => headOf(one),
    reviewThreads: (args) =>
      connection("reviewThreads", threadsOf(one, view), args, (first) => thread(view, first)),
  },
});

const repository = (view: View, one: Repository): Resolver => ({
  name: "Repository",
  fields: {
    id: () => nodeId("R", one.id),
    name: () => one.name,
    pullRequest: ({ number }) => {
      const found = one.pulls.get(Number(number));
      if (found) return pull(view, found);
      throw new GraphqlRefusal(
        "NOT_FOUND",
        `Could not resolve to a PullRequest with the number of ${number}.`,
      );
    },
  },
});

const covers = ({ permissions }: Token, access: "read" | "write", name = "pull_requests") =>
  permissions[name] === "write" || permissions[name] === access;

const forbidden = () => new GraphqlRefusal("FORBIDDEN", "Resource not accessible by integration");

function query(state: GitHubState, token: Token): Resolver {
  return {
    name: "Query",
    fields: {
      // An installation token is its App's bot, whatever it may do.
      viewer: () => ({ name: "Bot", fields: { login: () => token.installation.app.bot.login } }),
      repository: ({ owner, name }) => {
        const found = state.repository(String(owner), String(name));
        if (!found || !token.repositories.includes(found)) {
          throw new GraphqlRefusal(
            "NOT_FOUND",
            `Could not resolve to a Repository with the name '${owner}/${name}'.`,
          );
        }
        if (!covers(token, "read")) throw forbidden();
        return repository(viewOf(state, token), found);
      },
    },
  };
}

function mutation(state: GitHubState, token: Token): Resolver {
  const view = viewOf(state, token);
  const change = (name: string, resolved: boolean) => (args: Arguments) => {
    const { threadId: wanted } = (args.input ?? {}) as { threadId?: string };
    const first = state
      .allPulls()
      .flatMap((one) => threadsOf(one, view))
      .find((one) => threadId(one) === wanted);
    if (!first || !token.repositories.includes(first.pull.repository)) {
      throw new GraphqlRefusal("NOT_FOUND", `Could not resolve to a node with the global id of '${wanted}'`);
    }
    // Undocumented behaviour (https://github.com/orgs/community/discussions/44650).
    if (!covers(token, "write") || !covers(token, "write", "contents")) throw forbidden();
    first.resolvedBy = resolved ? token.installation.app.bot : null;
    return { name, fields: { thread: () => thread(view, first) } };
  };
  return {
    name: "Mutation",
    fields: {
      resolveReviewThread: change("ResolveReviewThreadPayload", true),
      unresolveReviewThread: change("UnresolveReviewThreadPayload", false),
    },
  };
}

export const rootOf = (state: GitHubState, token: Token, operation: "query" | "mutation"): Resolver =>
  operation === "query" ? query(state, token) : mutation(state, token);
