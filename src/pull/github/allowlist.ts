import { z } from "zod";
import { rootPaths } from "../../config/repo-config.ts";
import type { Outgoing } from "../../core/egress.ts";
import { AppError } from "../../core/errors.ts";
import { decoded, parseJson } from "../../core/text/json.ts";
import { type AppIdentity, ownAmong } from "./own-text.ts";

export interface GitHubCall {
  method: string;
  /** Path below the root of the REST API, as it is sent; `/graphql` for GraphQL on any server. */
  path: string;
  query: string;
  body: unknown;
}

/** The requests that a client may send to GitHub. */
export interface Reach {
  /** Throws an AppError `not_allowed` for anything else. */
  check(call: GitHubCall): void;
  /** Called with each successful answer. Things that the answer shows to be ours may be changed later. */
  learn?(call: Pick<GitHubCall, "method" | "path">, data: unknown): void;
}

/** A repository. GitHub's links and redirects use its id; null if the id is not known. */
export interface RepositoryPath {
  owner: string;
  repo: string;
  id: number | null;
}

type Body = Readonly<Record<string, unknown>>;

interface AllowedRequest {
  /** Method and path. `{id}` matches a number, which is passed to `where`. */
  to: string;
  /** The keys that its body may have. */
  keys: readonly string[];
  where?: (body: Body, id: number) => boolean;
}

/** A request relative to the REST API below `root`, which is a path. No rule matches a body that is not JSON. */
export function callOf({ method, url, body }: Outgoing, root: string): GitHubCall {
  const isGraphql = url.pathname === `${root.replace(/\/(v3\/?)?$/, "")}/graphql`;
  const path = isGraphql ? "/graphql" : pathBelow(root, url);
  return { method, path, query: url.search, body: body ? (parseJson(body) ?? body) : undefined };
}

/** A path of the REST API below `root`. For anything else, the whole address, which no rule matches. */
export function pathBelow(root: string, url: URL): string {
  const base = root.replace(/\/$/, "");
  return url.pathname.startsWith(`${base}/`) ? url.pathname.slice(base.length) : url.href;
}

/** Refuses everything that `allowed` does not accept. */
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
    `${method} ${path} is not an allowed request to GitHub here, so it was not sent`,
    {
      remedy: "Report this: it is a bug in Hunkwise, or someone tried to misuse it",
    },
  );
}

/** Whether a request matches one of the rules. None of them has a query. `path` is relative to the same base as the rules. */
function isAmong(
  rules: readonly AllowedRequest[],
  { method, query, body }: GitHubCall,
  path: string,
): boolean {
  if (query !== "") return false;
  return rules.some(({ to, keys, where }) => {
    const id = idIn(`${method} ${path}`, to);
    if (id === undefined || !hasOnly(body, keys)) return false;
    return where?.((body ?? {}) as Body, id) ?? true;
  });
}

/** The number in the place of `{id}`, or 0 if the rule has none; undefined if it is another request. */
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

/** The path below the repository; undefined for any other path, and for one that can be read as another. */
function below({ owner, repo, id }: RepositoryPath, path: string): string | undefined {
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

/** Whether a path leads where it seems to, even after it is decoded repeatedly and its dots are resolved. */
function isPlain(path: string): boolean {
  const plain = decoded(path);
  if (plain === null || /%(2e|2f|5c|0)|[\\\p{Cc}]/iu.test(plain)) return false;
  const [, ...segments] = plain.split("/");
  return segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
}

/** Ids of things that GitHub has shown to be the App's own, on the pull request of the job. Nothing else is ever changed. */
export const noOwnIds = () => ({
  reviews: new Set<number>(),
  /** Comments on lines and files, including answers. */
  lineComments: new Set<number>(),
  /** Comments in the conversation. */
  comments: new Set<number>(),
  /** Check runs of any commit of the repository. */
  checkRuns: new Set<number>(),
  /** Node ids. */
  threads: new Set<string>(),
  /** Account of the App's bot: one entry, after the job has seen a text of ours. */
  accounts: new Set<number>(),
});
export type OwnIds = ReturnType<typeof noOwnIds>;

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

/** Records what an answer shows to be ours. `path` is below the repository, or `/graphql`. Everything else is ignored. */
function learnOwn(own: OwnIds, app: AppIdentity, pull: number, path: string, data: unknown): void {
  const texts = textsAt(own, pull, path);
  const items = Array.isArray(data) ? data : [data];
  if (texts) {
    for (const { id } of ownAmong(items, app)) texts.add(id);
    for (const { user } of items.flatMap((item) => Written.safeParse(item).data ?? []))
      if (user.login.toLowerCase() === `${app.slug}[bot]`.toLowerCase()) own.accounts.add(user.id);
  }
  if (/^(check-runs|commits\/[^/]+\/check-runs)$/.test(path)) {
    for (const item of CheckRuns.safeParse(data).data?.check_runs ?? [data]) {
      const run = CheckRun.safeParse(item).data;
      if (run?.app.id === app.id) own.checkRuns.add(run.id);
    }
  }
  if (path === "/graphql") learnThreads(own, app, data);
}

/** These paths return both lists and newly created items. */
function textsAt(own: OwnIds, pull: number, path: string): Set<number> | undefined {
  if (path === `pulls/${pull}/reviews`) return own.reviews;
  if (path === `issues/${pull}/comments`) return own.comments;
  const isOnLines =
    path === `pulls/${pull}/comments` ||
    (path.startsWith(`pulls/${pull}/comments/`) && path.endsWith("/replies"));
  return isOnLines ? own.lineComments : undefined;
}

/** GraphQL names a bot without the brackets that REST adds; no person's account is of this type. */
function learnThreads(own: OwnIds, { slug }: AppIdentity, data: unknown): void {
  const nodes = Threads.safeParse(data).data?.data.repository.pullRequest.reviewThreads.nodes ?? [];
  for (const node of nodes) {
    const thread = Thread.safeParse(node).data;
    const login = thread?.opening.nodes[0].author.login;
    if (thread && login?.toLowerCase() === slug.toLowerCase()) own.threads.add(thread.id);
  }
}

/** Half of GitHub's maximum page size: each thread includes its answers, and an answer has to arrive within the time of one request. */
export const threadsPerPage = 50;

/** `databaseId` has 32 bits. Ids of comments are larger by now, and GitHub returns null for them. */
const commentFields = "id fullDatabaseId body createdAt author { __typename login }";

/** The only GraphQL query: a page of a pull request's review threads. Further comments and reactions of a thread are read by REST. */
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
              upvotes: reactions(first: 1, content: THUMBS_UP) { totalCount }
            }
          }
          latest: comments(last: 50) { totalCount nodes { ${commentFields} } }
        }
      }
    }
  }
}`;

/** The only GraphQL mutation: REST cannot resolve a thread. */
export const resolvingMutation = `mutation ($id: ID!) {
  resolveReviewThread(input: { threadId: $id }) { thread { isResolved } }
}`;

/*
 * What each client may send to GitHub: nothing can approve, merge, label, close, dispatch, or write to another repository or pull request,
 * even if other code asks for it. Tokens have nearly the same limits; but one that may comment on one pull request may comment on all of
 * them, and merge them.
 */

/** For a job without a pull request: read the repository, react, and write check runs. */
export const repositoryReach = (place: RepositoryPath, app: AppIdentity, own: OwnIds): Reach =>
  jobReach(place, 0, app, own, repositoryRules(own));

/** For a job on its pull request. */
export const pullReach = (place: RepositoryPath, pull: number, app: AppIdentity, own: OwnIds): Reach =>
  jobReach(place, pull, app, own, [...repositoryRules(own), ...pullRules(pull, own)]);

/** @param pull 0 for none */
function jobReach(
  place: RepositoryPath,
  pull: number,
  app: AppIdentity,
  own: OwnIds,
  rules: readonly AllowedRequest[],
): Reach {
  const { owner, repo } = place;
  const isAllowed = (call: GitHubCall) => {
    if (call.path === "/graphql")
      return isGraphql(
        call,
        threadsQuery,
        (given) => given.owner === owner && given.repo === repo && given.pull === pull,
      );
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

/** A reaction may go to anybody's comment, anywhere in the repository. */
function repositoryRules({ checkRuns }: OwnIds): AllowedRequest[] {
  const isReaction = ({ content }: Body) => reactions.has(content);
  return [
    { to: "POST issues/comments/{id}/reactions", keys: ["content"], where: isReaction },
    { to: "POST pulls/comments/{id}/reactions", keys: ["content"], where: isReaction },
    { to: "POST check-runs", keys: ["name", "head_sha", "external_id", ...checkRunKeys] },
    { to: "PATCH check-runs/{id}", keys: checkRunKeys, where: (_, id) => checkRuns.has(id) },
  ];
}

/** GitHub has the comments of all pull requests at the same address. The ids say which of them are ours on this pull request. */
function pullRules(pull: number, { reviews, lineComments, comments }: OwnIds): AllowedRequest[] {
  const isComment = ({ event }: Body) => event === undefined || event === "COMMENT";
  return [
    { to: `POST pulls/${pull}/reviews`, keys: ["commit_id", "event", "body", "comments"], where: isComment },
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

export function resolvingReach({ threads }: OwnIds): Reach {
  return onlyIf(
    (call) =>
      call.path === "/graphql" && isGraphql(call, resolvingMutation, ({ id }) => threads.has(String(id))),
  );
}

/** A single request, by its whole path. */
const only = (rule: AllowedRequest): Reach => onlyIf((call) => isAmong([rule], call, call.path));

/** Branch names that `/remember` uses. */
const ownBranch = /^hunkwise\/(?:remember|demote)-[\w-]+$/;
const heads = "refs/heads/";
const isOwnBranch = (name: unknown) => typeof name === "string" && ownBranch.test(name);

/** Proposes a change of the configuration on a branch of our own, and reads what that needs. */
export function proposingReach(place: RepositoryPath): Reach {
  const rules: AllowedRequest[] = [
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

/** Only reads, of paths like these. */
const reading = (paths: RegExp, of: (path: string) => string | undefined = (path) => path): Reach =>
  onlyIf(({ method, path }) => method === "GET" && paths.test(of(path) ?? ""));

export const filesReach = (place: RepositoryPath): Reach =>
  reading(/^contents\//, (path) => below(place, path));

export const artifactsReach = (place: RepositoryPath): Reach =>
  reading(/^actions\/(workflows\/[\w.-]+\/runs|runs\/\d+\/artifacts|artifacts\/\d+\/zip)$/, (path) =>
    below(place, path),
  );

/** Requests that the App makes about itself. */
export const appReach = reading(/^\/app\/(installations|hook\/deliveries)(\/\d+)?$/);

/** Requests by which an installation looks for missed events. They change nothing. */
export const lookingReach = reading(
  /^\/(installation\/repositories$|(repos\/[\w.-]+\/[\w.-]+|repositories\/\d+)\/(pulls|commits)(\/|$))/,
  (path) => (isPlain(path) ? path : undefined),
);

/** Requests for credentials: the App's name, its installations' tokens and permissions, the credentials of a new App. */
export const credentialsReach: Reach = onlyIf(
  ({ method, path, query }) =>
    query === "" &&
    /^(GET \/app(\/installations\/\d+)?|POST \/app(\/installations\/\d+\/access_tokens|-manifests\/[\w-]+\/conversions))$/.test(
      `${method} ${path}`,
    ),
);

/** Which account a token writes as. */
export const viewerQuery = "query { viewer { login } }";

/** Asks who a token belongs to. */
export const identityReach: Reach = onlyIf(
  (call) =>
    (call.path === "/graphql" && isGraphql(call, viewerQuery, () => true)) ||
    (call.method === "GET" && call.query === "" && /^\/apps\/[\w-]+$/.test(call.path)),
);

export const endingReach: Reach = onlyIf(
  ({ method, path, query }) => method === "DELETE" && path === "/installation/token" && query === "",
);

/** Reads who a person is, and what they may see through an App. */
export const userReach = reading(/^\/user(\/installations(\/[1-9]\d{0,15}\/repositories)?)?$/);

/** Exchanges the code of a person who logs in; below the root of the pages, not of the API. */
export const exchangeReach: Reach = only({
  to: "POST /login/oauth/access_token",
  keys: ["client_id", "client_secret", "code", "code_verifier"],
});

export const revokingReach = (clientId: string): Reach =>
  only({ to: `DELETE /applications/${clientId}/token`, keys: ["access_token"] });
