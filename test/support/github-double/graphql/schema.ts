import { currentPlace } from "../current-line.ts";
import type { Account, Pull, Repository, ReviewComment, Token } from "../model.ts";
import { headOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";

/** What GraphQL answers instead of data. */
export class GraphqlRefusal extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }

  /** Whether the query itself is wrong, not merely without permission or about something that is gone. */
  get isMistake(): boolean {
    return this.type !== "FORBIDDEN" && this.type !== "NOT_FOUND";
  }
}

type Arguments = Record<string, unknown>;

/** An object of GitHub's schema: its name and how each field is worked out. */
export interface Resolver {
  name: string;
  fields: Record<string, (args: Arguments) => unknown>;
}

const threadId = (first: ReviewComment) => nodeId("PRRT", first.id);
const repliesOf = (first: ReviewComment) =>
  first.pull.reviewComments.filter((one) => one === first || one.inReplyTo === first);
const threadsOf = (pull: Pull) =>
  pull.reviewComments.filter((one) => !one.inReplyTo && one.review.state !== "PENDING");

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
  // GraphQL names a bot without the suffix that REST gives it.
  fields: { login: () => account.login.replace(/\[bot\]$/, "") },
});

const comment = (one: ReviewComment): Resolver => ({
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
  },
});

const thread = (first: ReviewComment): Resolver => ({
  name: "PullRequestReviewThread",
  fields: {
    id: () => threadId(first),
    isResolved: () => first.resolvedBy !== null,
    isOutdated: async () => first.anchor !== null && (await currentPlace(first)) === null,
    path: () => first.path,
    line: async () => (await currentPlace(first))?.line ?? null,
    resolvedBy: () => first.resolvedBy && actor(first.resolvedBy),
    subjectType: () => (first.anchor ? "LINE" : "FILE"),
    comments: (args) => connection("comments", repliesOf(first), args, comment),
  },
});

const pull = (one: Pull): Resolver => ({
  name: "PullRequest",
  fields: {
    id: () => nodeId("PR", one.id),
    number: () => one.number,
    title: () => one.title,
    state: () => (one.merged ? "MERGED" : one.state.toUpperCase()),
    isDraft: () => one.draft,
    headRefOid: () => headOf(one),
    reviewThreads: (args) => connection("reviewThreads", threadsOf(one), args, thread),
  },
});

const repository = (one: Repository): Resolver => ({
  name: "Repository",
  fields: {
    id: () => nodeId("R", one.id),
    name: () => one.name,
    pullRequest: ({ number }) => {
      const found = one.pulls.get(Number(number));
      if (found) return pull(found);
      throw new GraphqlRefusal(
        "NOT_FOUND",
        `Could not resolve to a PullRequest with the number of ${number}.`,
      );
    },
  },
});

const covers = (token: Token, access: "read" | "write") => {
  const granted = token.permissions.pull_requests;
  return granted === "write" || granted === access;
};

const forbidden = () => new GraphqlRefusal("FORBIDDEN", "Resource not accessible by integration");

function query(state: GitHubState, token: Token): Resolver {
  return {
    name: "Query",
    fields: {
      repository: ({ owner, name }) => {
        const found = state.repository(String(owner), String(name));
        if (!found || !token.repositories.includes(found)) {
          throw new GraphqlRefusal(
            "NOT_FOUND",
            `Could not resolve to a Repository with the name '${owner}/${name}'.`,
          );
        }
        if (!covers(token, "read")) throw forbidden();
        return repository(found);
      },
    },
  };
}

function mutation(state: GitHubState, token: Token): Resolver {
  const change = (name: string, resolved: boolean) => (args: Arguments) => {
    const { threadId: wanted } = (args.input ?? {}) as { threadId?: string };
    const first = state
      .allPulls()
      .flatMap(threadsOf)
      .find((one) => threadId(one) === wanted);
    if (!first || !token.repositories.includes(first.pull.repository)) {
      throw new GraphqlRefusal("NOT_FOUND", `Could not resolve to a node with the global id of '${wanted}'`);
    }
    if (!covers(token, "write")) throw forbidden();
    first.resolvedBy = resolved ? token.installation.app.bot : null;
    return { name, fields: { thread: () => thread(first) } };
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
