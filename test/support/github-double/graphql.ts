import { callerOf, requireToken } from "./credentials.ts";
import { currentPlace } from "./current-line.ts";
import { GitHubRefusal } from "./errors.ts";
import { type Exchange, jsonReply } from "./exchange.ts";
import { reviewCommentPage } from "./json/comment.ts";
import type { Account, Pull, Reaction, Repository, ReviewComment, Token } from "./model.ts";
import { nodeId, timestamp } from "./model.ts";
import type { RestReply } from "./rest.ts";
import type { GitHubState } from "./state.ts";

/** GraphQL's refusal instead of data. */
class GraphqlRefusal extends Error {
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

interface Field {
  /** The key in the answer: the alias or the name. */
  key: string;
  name: string;
  args: Arguments;
  selection: Field[];
}

/** Reads the subset of GraphQL that our queries use: one operation, fields, aliases, arguments. */
function parse(source: string, variables: Arguments): { operation: string; selection: Field[] } {
  const tokens = source.match(/"(?:[^"\\\n]|\\.)*"|[\w.-]+|[^\s,]/g) ?? [];
  let at = 0;
  const next = (): string => {
    const token = tokens[at++];
    if (token === undefined) throw new GraphqlRefusal("parse", "Unexpected end of document");
    return token;
  };
  const take = (token: string): boolean => {
    const isNext = tokens[at] === token;
    if (isNext) at++;
    return isNext;
  };
  const until = <Item>(end: string, read: () => Item): Item[] => {
    const items: Item[] = [];
    while (!take(end)) items.push(read());
    return items;
  };
  const value = (): unknown => {
    const word = next();
    if (word === "$") return variables[next()] ?? null;
    if (word === "{") return Object.fromEntries(until("}", pair));
    // An enum's value is its name.
    return /^(["\d-]|(true|false|null)$)/.test(word) ? JSON.parse(word) : word;
  };
  const pair = (): [string, unknown] => {
    const name = next();
    if (!take(":")) throw new GraphqlRefusal("parse", `Expected : after ${name}`);
    return [name, value()];
  };
  const field = (): Field => {
    const key = next();
    const name = take(":") ? next() : key;
    const args = take("(") ? Object.fromEntries(until(")", pair)) : {};
    return { key, name, args, selection: take("{") ? until("}", field) : [] };
  };
  const operation = tokens[0] === "{" ? "query" : next();
  // The operation's name and the types of its variables.
  until("{", next);
  return { operation, selection: until("}", field) };
}

/** An object of GitHub's schema: its name and its field resolvers. */
interface Resolver {
  name: string;
  fields: Record<string, (args: Arguments) => unknown>;
}

/** Answers exactly the selected fields; an undefined field is an error, as on GitHub. */
async function select(type: Resolver, selection: Field[]): Promise<Record<string, unknown>> {
  const out: Record<string, unknown> = {};
  for (const field of selection) {
    const resolve = field.name === "__typename" ? () => type.name : type.fields[field.name];
    if (!resolve) {
      const message = `Field '${field.name}' doesn't exist on type '${type.name}'`;
      throw new GraphqlRefusal("undefinedField", message);
    }
    out[field.key] = await shown(await resolve(field.args), field);
  }
  return out;
}

async function shown(value: unknown, field: Field): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((one) => shown(one, field)));
  if (typeof value !== "object" || value === null) return value;
  const type = value as Resolver;
  if (field.selection.length > 0) return select(type, field.selection);
  const message = `Field must have selections (field '${field.name}' returns ${type.name})`;
  throw new GraphqlRefusal("selectionMismatch", message);
}

/** Answers `POST /graphql`. Errors arrive with status 200, as on GitHub. */
export async function answerGraphql(state: GitHubState, exchange: Exchange): Promise<RestReply> {
  const { query, variables } = (exchange.body ?? {}) as { query?: string; variables?: Arguments };
  const done = (status: number, body: unknown, problems: string[] = []): RestReply => ({
    reply: jsonReply(status, body),
    operation: "graphql",
    violations: problems.length
      ? [{ kind: "refused", request: "POST /graphql", operation: "graphql", problems }]
      : [],
  });
  try {
    const token = requireToken(callerOf(state, exchange.headers.authorization));
    const { operation, selection } = parse(query ?? "", variables ?? {});
    const root = operation === "mutation" ? mutationOf(state, token) : queryOf(state, token);
    return done(200, { data: await select(root, selection) });
  } catch (error) {
    if (error instanceof GitHubRefusal) return done(error.status, { message: error.message });
    if (!(error instanceof GraphqlRefusal)) throw error;
    const { type, message, isMistake } = error;
    return done(200, { data: null, errors: [{ type, message }] }, isMistake ? [message] : []);
  }
}

const threadId = (first: ReviewComment) => nodeId("PRRT", first.id);
const repliesOf = (first: ReviewComment) =>
  first.pull.reviewComments.filter((one) => one === first || one.inReplyTo === first);
/** Only its author sees the threads of a pending review. */
const threadsOf = (pull: Pull, viewer: Account) =>
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

/** GraphQL's names of the reactions that we ask for. */
const contents: Record<string, Reaction["content"]> = { THUMBS_UP: "+1", THUMBS_DOWN: "-1" };

/** Oldest first. */
function reactions(all: Reaction[], args: Arguments): Resolver {
  const wanted = all.filter(({ content }) => content === contents[String(args.content)]);
  const ordered = wanted.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  return connection("reactions", ordered, args, (one) => ({
    name: "Reaction",
    fields: { createdAt: () => timestamp(one.createdAt), user: () => user(one.user) },
  }));
}

const comment = (state: GitHubState, one: ReviewComment): Resolver => ({
  name: "PullRequestReviewComment",
  fields: {
    id: () => nodeId("PRRC", one.id),
    fullDatabaseId: () => String(one.id),
    body: () => one.body,
    createdAt: () => timestamp(one.createdAt),
    author: () => actor(one.author),
    url: () => reviewCommentPage(state, one),
    state: () => (one.review.state === "PENDING" ? "PENDING" : "SUBMITTED"),
    reactions: (args) => reactions(one.reactions, args),
  },
});

const thread = (state: GitHubState, first: ReviewComment): Resolver => ({
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
    resolvedBy: () => first.resolvedBy && user(first.resolvedBy),
    subjectType: () => (first.anchor ? "LINE" : "FILE"),
    comments: (args) => connection("comments", repliesOf(first), args, (one) => comment(state, one)),
  },
});

const covers = ({ permissions }: Token, access: "read" | "write", name = "pull_requests") =>
  permissions[name] === "write" || permissions[name] === access;

const forbidden = () => new GraphqlRefusal("FORBIDDEN", "Resource not accessible by integration");
const unresolved = (what: string) => new GraphqlRefusal("NOT_FOUND", `Could not resolve to a ${what}`);

function queryOf(state: GitHubState, token: Token): Resolver {
  const viewer = token.installation.app.bot;
  const pullRequest = ({ pulls }: Repository, number: unknown): Resolver => {
    const found = pulls.get(Number(number));
    if (!found) throw unresolved(`PullRequest with the number of ${number}.`);
    const reviewThreads = (args: Arguments) =>
      connection("reviewThreads", threadsOf(found, viewer), args, (first) => thread(state, first));
    return { name: "PullRequest", fields: { reviewThreads } };
  };
  return {
    name: "Query",
    fields: {
      // An installation token is its App's bot, whatever it may do.
      viewer: () => ({ name: "Bot", fields: { login: () => viewer.login } }),
      repository: ({ owner, name }) => {
        const found = state.repository(String(owner), String(name));
        if (!found || !token.repositories.includes(found)) {
          throw unresolved(`Repository with the name '${owner}/${name}'.`);
        }
        if (!covers(token, "read")) throw forbidden();
        return {
          name: "Repository",
          fields: { pullRequest: (args: Arguments) => pullRequest(found, args.number) },
        };
      },
    },
  };
}

function mutationOf(state: GitHubState, token: Token): Resolver {
  const { bot } = token.installation.app;
  const resolveReviewThread = (args: Arguments) => {
    const { threadId: wanted } = (args.input ?? {}) as { threadId?: string };
    const first = state
      .allPulls()
      .flatMap((one) => threadsOf(one, bot))
      .find((one) => threadId(one) === wanted);
    if (!first || !token.repositories.includes(first.pull.repository)) {
      throw unresolved(`node with the global id of '${wanted}'`);
    }
    // Undocumented behavior (https://github.com/orgs/community/discussions/44650).
    if (!covers(token, "write") || !covers(token, "write", "contents")) throw forbidden();
    first.resolvedBy = bot;
    return { name: "ResolveReviewThreadPayload", fields: { thread: () => thread(state, first) } };
  };
  return { name: "Mutation", fields: { resolveReviewThread } };
}
