import { z } from "zod";
import { rootPaths } from "../config/repo-config.ts";
import type { Outgoing } from "../egress.ts";
import { AppError } from "../errors.ts";
import { type AppIdentity, ownAmong } from "./own-text.ts";

/** A request to GitHub as it is about to leave. */
export interface GitHubCall {
  method: string;
  /** Below the root of the REST API, as it is sent; `/graphql` wherever that is. */
  path: string;
  query: string;
  /** Parsed; undefined where there is none. */
  body: unknown;
}

/** What a client may send to GitHub. */
export interface Reach {
  /** Throws an AppError `not_allowed` for anything else. */
  check(call: GitHubCall): void;
  /** Told of each answer that was a success: what it shows to be ours may be changed later. */
  learn?(call: Pick<GitHubCall, "method" | "path">, data: unknown): void;
}

/** A repository. Its id is what GitHub's links and redirects name it by; null where nobody knows it. */
export interface Place {
  owner: string;
  repo: string;
  id: number | null;
}

type Body = Readonly<Record<string, unknown>>;

/** One kind of request. */
interface Rule {
  /** Method and path; `{id}` stands for a number, which `where` is told. */
  to: string;
  /** All that its body may hold. */
  keys: readonly string[];
  where?: (body: Body, id: number) => boolean;
}

/** A request as seen from the REST API below `root`, which is a path. */
export function callOf({ method, url, body }: Outgoing, root: string): GitHubCall {
  const isGraphql = url.pathname === `${root.replace(/\/(v3\/?)?$/, "")}/graphql`;
  const path = isGraphql ? "/graphql" : pathBelow(root, url);
  return { method, path, query: url.search, body: parsed(body) };
}

/** A path of the REST API below `root`; of anything else the whole address, which no rule knows. */
export function pathBelow(root: string, url: URL): string {
  const base = root.replace(/\/$/, "");
  return url.pathname.startsWith(`${base}/`) ? url.pathname.slice(base.length) : url.href;
}

/** A body that is no JSON is none that any rule knows. */
function parsed(body: string | null): unknown {
  if (body === null || body === "") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** What is not among `allowed` is refused. */
function onlyIf(allowed: (call: GitHubCall) => boolean): Reach {
  return {
    check(call) {
      if (!allowed(call)) throw notAllowed(call);
    },
  };
}

function notAllowed({ method, path }: GitHubCall): AppError {
  return new AppError(
    "not_allowed",
    `${method} ${path} is nothing that may be sent to GitHub here: it was not sent`,
    {
      remedy: "Report this: it is a fault of Hunkwise, or somebody tried to misuse it",
    },
  );
}

/** Whether a request is one of these; none of them has a query. `path` is below what the rules are below. */
function isAmong(rules: readonly Rule[], { method, query, body }: GitHubCall, path: string): boolean {
  if (query !== "") return false;
  return rules.some(({ to, keys, where }) => {
    const id = idIn(`${method} ${path}`, to);
    if (id === undefined || !hasOnly(body, keys)) return false;
    return where?.((body ?? {}) as Body, id) ?? true;
  });
}

/** The number in the place of `{id}`, or 0 where there is none to be; undefined where it is another request. */
function idIn(request: string, to: string): number | undefined {
  const [before = "", after] = to.split("{id}");
  if (after === undefined) return request === to ? 0 : undefined;
  if (!request.startsWith(before) || !request.endsWith(after)) return undefined;
  const id = request.slice(before.length, request.length - after.length);
  return /^[1-9]\d{0,15}$/.test(id) ? Number(id) : undefined;
}

function hasOnly(body: unknown, keys: readonly string[]): boolean {
  if (body === undefined) return keys.length === 0;
  if (typeof body !== "object" || body === null || Array.isArray(body)) return false;
  return Object.keys(body).every((key) => keys.includes(key));
}

/** A path below the repository; undefined for any other path, and for one that might be read as another. */
function below({ owner, repo, id }: Place, path: string): string | undefined {
  const [first, second, third] = path.slice(1).split("/");
  const isNamed =
    first === "repos" && second === encodeURIComponent(owner) && third === encodeURIComponent(repo);
  const isNumbered =
    first === "repositories" && (id === null ? /^\d+$/.test(second ?? "") : second === String(id));
  if ((!isNamed && !isNumbered) || !isPlain(path)) return undefined;
  return path
    .slice(1)
    .split("/")
    .slice(isNamed ? 3 : 2)
    .join("/");
}

/** Whether a path leads where it seems to, however often it is decoded and its dots are followed. */
function isPlain(path: string): boolean {
  const decoded = decode(path);
  if (decoded === undefined || /%(2e|2f|5c|0)|[\\\p{Cc}]/iu.test(decoded)) return false;
  const [, ...segments] = decoded.split("/");
  return segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Ids of what GitHub has shown to a job to be its App's own, on the pull request of the job. Nothing else is ever changed. */
export interface OwnIds {
  reviews: Set<number>;
  /** On lines and files, answers too. */
  lineComments: Set<number>;
  /** In the conversation. */
  comments: Set<number>;
  /** Of any commit of the repository. */
  checkRuns: Set<number>;
  /** Node ids. */
  threads: Set<string>;
  /** Of the App's bot among the accounts: one, once a text of ours was seen. */
  accounts: Set<number>;
}

export const noOwnIds = (): OwnIds => ({
  reviews: new Set(),
  lineComments: new Set(),
  comments: new Set(),
  checkRuns: new Set(),
  threads: new Set(),
  accounts: new Set(),
});

const Written = z.object({
  user: z.object({ id: z.int(), login: z.string(), type: z.literal("Bot") }),
});
const CheckRun = z.object({ id: z.int(), app: z.object({ id: z.int() }) });
const CheckRuns = z.object({ check_runs: z.array(z.unknown()) });
const Thread = z.object({
  id: z.string(),
  opening: z.object({
    nodes: z.tuple([z.object({ author: z.object({ __typename: z.literal("Bot"), login: z.string() }) })]),
  }),
});
const Threads = z.object({
  data: z.object({
    repository: z.object({
      pullRequest: z.object({ reviewThreads: z.object({ nodes: z.array(z.unknown()) }) }),
    }),
  }),
});

/** Notes what an answer shows to be ours; `path` is below the repository, or `/graphql`. Everything else is passed over. */
function learnOwn(own: OwnIds, app: AppIdentity, pull: number, path: string, data: unknown): void {
  const texts = textsAt(own, pull, path);
  const items = Array.isArray(data) ? data : [data];
  if (texts) for (const { id } of ownAmong(items, app)) texts.add(id);
  if (texts) learnAccount(own, app, items);
  if (/^(check-runs|commits\/[^/]+\/check-runs)$/.test(path)) learnCheckRuns(own, app, data);
  if (path === "/graphql") learnThreads(own, app, data);
}

function learnAccount({ accounts }: OwnIds, { slug }: AppIdentity, items: readonly unknown[]): void {
  for (const item of items) {
    const user = Written.safeParse(item).data?.user;
    if (user?.login.toLowerCase() === `${slug}[bot]`.toLowerCase()) accounts.add(user.id);
  }
}

/** Both lists and what was just made are answered at these paths. */
function textsAt(own: OwnIds, pull: number, path: string): Set<number> | undefined {
  if (path === `pulls/${pull}/reviews`) return own.reviews;
  if (path === `issues/${pull}/comments`) return own.comments;
  const isOnLines =
    path === `pulls/${pull}/comments` ||
    (path.startsWith(`pulls/${pull}/comments/`) && path.endsWith("/replies"));
  return isOnLines ? own.lineComments : undefined;
}

function learnCheckRuns(own: OwnIds, app: AppIdentity, data: unknown): void {
  const items = CheckRuns.safeParse(data).data?.check_runs ?? [data];
  for (const item of items) {
    const run = CheckRun.safeParse(item).data;
    if (run?.app.id === app.id) own.checkRuns.add(run.id);
  }
}

/** GraphQL names a bot without the brackets that REST puts behind it; no person's account is of this type. */
function learnThreads(own: OwnIds, { slug }: AppIdentity, data: unknown): void {
  const nodes = Threads.safeParse(data).data?.data.repository.pullRequest.reviewThreads.nodes ?? [];
  for (const node of nodes) {
    const thread = Thread.safeParse(node).data;
    const login = thread?.opening.nodes[0].author.login;
    if (thread && login?.toLowerCase() === slug.toLowerCase()) own.threads.add(thread.id);
  }
}

/** Half of what GitHub hands out at once: each thread brings its answers, and an answer has to fit the time of one request. */
export const threadsPerPage = 50;

/** `databaseId` has 32 bits, which the ids of comments have outgrown: there GitHub answers with null. */
const commentFields = "id fullDatabaseId body createdAt author { __typename login }";

/**
 * All that is ever asked of GraphQL: a page of a pull request's review threads. Further comments and reactions of a thread are read
 * by REST.
 */
export const threadsQuery = `query ($owner: String!, $repo: String!, $pull: Int!, $after: String) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $pull) {
      reviewThreads(first: ${threadsPerPage}, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path diffSide line startLine originalLine subjectType
          resolvedBy { __typename login }
          opening: comments(first: 1) {
            nodes {
              ${commentFields} url state
              reactions(last: 20, content: THUMBS_DOWN, orderBy: { field: CREATED_AT, direction: ASC }) {
                totalCount nodes { createdAt user { __typename login } }
              }
            }
          }
          latest: comments(last: 50) { totalCount nodes { ${commentFields} } }
        }
      }
    }
  }
}`;

/** All that is ever changed through GraphQL: REST cannot resolve a thread. */
export const resolvingMutation = `mutation ($id: ID!) {
  resolveReviewThread(input: { threadId: $id }) { thread { isResolved } }
}`;

/*
 * What each client may send to GitHub. None approves, merges, labels, closes, dispatches, or writes to another repository or
 * pull request, whatever it is told: such a request is not sent. Tokens say nearly the same, and GitHub asks those; but a
 * token that may comment on one pull request may do so on all of its repository, and merge them.
 */

/** What a job may do that knows no pull request: read its repository, react, and write check runs. */
export function repositoryReach(place: Place, app: AppIdentity, own: OwnIds): Reach {
  return jobReach({ place, app, own, pull: 0, rules: repositoryRules(own) });
}

/** What a job may do on its pull request. */
export function pullReach(place: Place, pull: number, app: AppIdentity, own: OwnIds): Reach {
  return jobReach({ place, app, own, pull, rules: [...repositoryRules(own), ...pullRules(pull, own)] });
}

interface JobReach {
  place: Place;
  app: AppIdentity;
  own: OwnIds;
  /** 0 for none. */
  pull: number;
  rules: readonly Rule[];
}

function jobReach({ place, app, own, pull, rules }: JobReach): Reach {
  const isAllowed = (call: GitHubCall) => {
    if (call.path === "/graphql") return asksForThreads(call, place, pull);
    const path = below(place, call.path);
    return path !== undefined && (call.method === "GET" || isAmong(rules, call, path));
  };
  return {
    ...onlyIf(isAllowed),
    learn(call, data) {
      const path = call.path === "/graphql" ? call.path : below(place, call.path);
      if (path !== undefined) learnOwn(own, app, pull, path, data);
    },
  };
}

function asksForThreads(call: GitHubCall, { owner, repo }: Place, pull: number): boolean {
  return isGraphql(
    call,
    threadsQuery,
    (given) => given.owner === owner && given.repo === repo && given.pull === pull,
  );
}

function isGraphql(
  { method, query, body }: GitHubCall,
  document: string,
  fits: (variables: Body) => boolean,
) {
  if (method !== "POST" || query !== "" || typeof body !== "object" || body === null) return false;
  const { query: asked, variables, ...more } = body as Body;
  return asked === document && Object.keys(more).length === 0 && fits((variables ?? {}) as Body);
}

const reactions = new Set<unknown>(["eyes", "+1", "confused"]);
const checkRunKeys = ["status", "conclusion", "output"];

/** The comment that is reacted to may be anybody's, and stand anywhere in the repository. */
function repositoryRules({ checkRuns }: OwnIds): Rule[] {
  const isReaction = ({ content }: Body) => reactions.has(content);
  return [
    { to: "POST issues/comments/{id}/reactions", keys: ["content"], where: isReaction },
    { to: "POST pulls/comments/{id}/reactions", keys: ["content"], where: isReaction },
    { to: "POST check-runs", keys: ["name", "head_sha", "external_id", ...checkRunKeys] },
    { to: "PATCH check-runs/{id}", keys: checkRunKeys, where: (_, id) => checkRuns.has(id) },
  ];
}

/** GitHub has the comments of all pull requests at one address: which of them are ours here, it has said before. */
function pullRules(pull: number, { reviews, lineComments, comments }: OwnIds): Rule[] {
  const isComment = ({ event }: Body) => event === undefined || event === "COMMENT";
  return [
    {
      to: `POST pulls/${pull}/reviews`,
      keys: ["commit_id", "event", "body", "comments"],
      where: isComment,
    },
    { to: `PUT pulls/${pull}/reviews/{id}`, keys: ["body"], where: (_, id) => reviews.has(id) },
    { to: `DELETE pulls/${pull}/reviews/{id}`, keys: [], where: (_, id) => reviews.has(id) },
    { to: `POST pulls/${pull}/comments`, keys: ["commit_id", "path", "body", "subject_type"] },
    { to: `POST pulls/${pull}/comments/{id}/replies`, keys: ["body"] },
    { to: "DELETE pulls/comments/{id}", keys: [], where: (_, id) => lineComments.has(id) },
    { to: `POST issues/${pull}/comments`, keys: ["body"] },
    { to: "PATCH issues/comments/{id}", keys: ["body"], where: (_, id) => comments.has(id) },
    { to: "DELETE issues/comments/{id}", keys: [], where: (_, id) => comments.has(id) },
  ];
}

/** Resolving threads that a job has seen to be ours, and nothing else. */
export function resolvingReach({ threads }: OwnIds): Reach {
  return onlyIf(
    (call) =>
      call.path === "/graphql" && isGraphql(call, resolvingMutation, ({ id }) => threads.has(String(id))),
  );
}

/** As `/remember` names its branches. */
const ownBranch = /^hunkwise\/remember-[\w-]+$/;
const heads = "refs/heads/";
const isOwnBranch = (name: unknown) => typeof name === "string" && ownBranch.test(name);

/** Proposing a change of the configuration on a branch of our own; that, and what has to be read for it. */
export function proposingReach(place: Place): Reach {
  const rules: Rule[] = [
    {
      to: "POST git/refs",
      keys: ["ref", "sha"],
      where: ({ ref }) =>
        typeof ref === "string" && ref.startsWith(heads) && isOwnBranch(ref.slice(heads.length)),
    },
    ...rootPaths.map((path) => ({
      to: `PUT contents/${path}`,
      keys: ["branch", "message", "content", "sha"],
      where: ({ branch }: Body) => isOwnBranch(branch),
    })),
    { to: "POST pulls", keys: ["title", "body", "base", "head"], where: ({ head }) => isOwnBranch(head) },
  ];
  const reads = /^(pulls|git\/ref\/.+|contents\/.+)$/;
  return onlyIf((call) => {
    const path = below(place, call.path);
    if (path === undefined) return false;
    return call.method === "GET" ? reads.test(path) : isAmong(rules, call, path);
  });
}

/** Reading files of a repository. */
export function filesReach(place: Place): Reach {
  return onlyIf(
    (call) => call.method === "GET" && (below(place, call.path)?.startsWith("contents/") ?? false),
  );
}

/** What the App asks about itself. */
export const appReach: Reach = onlyIf(
  ({ method, path }) => method === "GET" && /^\/app\/(installations|hook\/deliveries)(\/\d+)?$/.test(path),
);

/** What an installation looks through for what was missed: it changes nothing. */
export const lookingReach: Reach = onlyIf(
  ({ method, path }) =>
    method === "GET" &&
    isPlain(path) &&
    (path === "/installation/repositories" ||
      /^\/(repos\/[\w.-]+\/[\w.-]+|repositories\/\d+)\/(pulls|issues|commits)(\/|$)/.test(path)),
);

/** Becoming somebody: the App's name, its installations' tokens and what they may, the credentials of a new App. */
export const credentialsReach: Reach = onlyIf(({ method, path, query }) => {
  const asked = `${method} ${path}`;
  return (
    query === "" &&
    (asked === "GET /app" ||
      /^GET \/app\/installations\/\d+$/.test(asked) ||
      /^POST \/app\/installations\/\d+\/access_tokens$/.test(asked) ||
      /^POST \/app-manifests\/[\w-]+\/conversions$/.test(asked))
  );
});

/** Ending the token that is sent. */
export const endingReach: Reach = onlyIf(
  ({ method, path, query }) => method === "DELETE" && path === "/installation/token" && query === "",
);
