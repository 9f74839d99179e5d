import { retry } from "@octokit/plugin-retry";
import { throttling } from "@octokit/plugin-throttling";
import { Octokit } from "@octokit/rest";
import { z } from "zod";
import { unlessAborted } from "../../core/async.ts";
import { AppError } from "../../core/errors.ts";
import { pathBelow, type Reach } from "./allowlist.ts";
import {
  firstFaults,
  oneLine,
  refusalError,
  refusalOf,
  refuseCutOff,
  toAppError,
  unreadableAnswer,
} from "./errors.ts";
import {
  type Headers,
  type InstallationLimits,
  type RateLimitSeen,
  rateLimitOf,
  rateLimitSeen,
  type Traffic,
} from "./rate-limit.ts";
import { createTransport } from "./transport.ts";

/** The status is 200 for success and failure alike: https://docs.github.com/graphql/guides/using-the-graphql-api-for-error-handling */
const Answer = z.object({
  data: z.unknown().optional(),
  errors: z.array(z.object({ type: z.string().optional(), message: z.string() })).optional(),
});

/** URL of GraphQL: next to the REST API, which has a path of its own on an enterprise server. */
function graphqlUrl(baseUrl: string): string {
  return baseUrl.endsWith("/api/v3") ? baseUrl.replace(/v3$/, "graphql") : `${baseUrl}/graphql`;
}

function graphqlData<Data>(name: string, answer: unknown, shape: z.ZodType<Data>): Data {
  const { data, errors = [] } = Answer.safeParse(answer).data ?? {};
  const [error] = errors;
  if (error) throw refusal(name, error);
  const parsed = shape.safeParse(data);
  if (!parsed.success) throw unreadableAnswer(name, firstFaults(parsed.error));
  return parsed.data;
}

/** GitHub can report a limit with status 200 ("Rate limits and query limits for the GraphQL API"). Throws as for any other limit. */
function refuseLimited({ data, headers }: { data: unknown; headers: Headers }): void {
  const { errors = [] } = Answer.safeParse(data).data ?? {};
  const limit = errors.find(({ type, message }) => limitType.test(type ?? "") || limitWords.test(message));
  if (limit) throw refusalError({ status: 429, headers, message: limit.message });
}

const limitType = /^RATE_LIMIT(ED)?$/;
const limitWords = /secondary rate limit/i;

/** GitHub's words for a time-out or an internal error, which have no type. */
const outage = /^(something went wrong while executing|we couldn't respond to your request in time)/i;

function refusal(name: string, error: { type?: string | undefined; message: string }): AppError {
  const { type } = error;
  const message = oneLine(error.message);
  if (type === "FORBIDDEN") return new AppError("github_forbidden", `${name}: ${message}`);
  if (type === "NOT_FOUND") return new AppError("github_not_found", `${name}: ${message}`);
  return new AppError("github_failed", `${name}: ${message}`, { retryable: outage.test(message) });
}

export interface GitHubClientOptions {
  /** Root of the REST API: `https://api.github.com`, or `https://HOST/api/v3` of an enterprise server. */
  baseUrl: string;
  /** The requests that may be sent. Any other is refused with an AppError, and nothing is sent. */
  reach: Reach;
  /** The installation's token. `renew` asks for one that is not cached, because GitHub refused the last. */
  token: (options: { renew: boolean }) => Promise<string>;
  userAgent: string;
  /** Shared by all clients of one installation. */
  limits: InstallationLimits;
  /** Called right before each write is sent, after all waits. If it rejects, with an AppError, nothing is sent. */
  beforeWrite?: BeforeWrite | undefined;
  /** Called with the rate limit that each answer reports. */
  onRateLimit?: ((seen: RateLimitSeen) => void) | undefined;
  /** For one request and its whole answer. Default 30 s. */
  timeoutMs?: number;
  /** Ends waits and running requests with an AppError `aborted`. */
  signal?: AbortSignal | undefined;
  fetch?: typeof fetch;
}

/** May resolve to a function that is called with the answer, if there is one. */
export type BeforeWrite = () => Promise<AfterWrite | undefined>;
export type AfterWrite = (written: Written) => Promise<void>;

export interface Written {
  /** "POST /repos/octo/shop/pulls/1/reviews", "resolveReviewThread PRRT_1" */
  request: string;
  /** GitHub's id of the new or changed item; null if the answer has none. */
  id: number | null;
  /** Its page; null if it has none. */
  url: string | null;
}

export interface GitHubClient {
  /** Typed endpoints. Every call goes through the hooks below and only rejects with an AppError. */
  readonly rest: Octokit["rest"];
  readonly request: Octokit["request"];
  /**
   * What `of` makes of each page of a list; default: all items. The page itself is not kept: people may fill each item with 65,536
   * characters. Rejects with `too_large` if there are more than this many hundreds.
   */
  list<Item = unknown>(path: string, mostHundreds: number, of?: (page: unknown[]) => Item[]): Promise<Item[]>;
  /** The same page by page, whatever form a page has. */
  pages<Item>(path: string, mostHundreds: number, itemsOf: (data: unknown) => Item[]): Pages<Item>;
  /** A GraphQL query, never a mutation: it is repeated after a fault, like any read. */
  query<Data>(text: string, variables: Record<string, unknown>, shape: z.ZodType<Data>): Promise<Data>;
  /** A GraphQL mutation that may run twice without further effect: paced like a write, and repeated after a fault. */
  mutate<Data>(text: string, variables: Record<string, unknown>, shape: z.ZodType<Data>): Promise<Data>;
}

/** The pages of a list, newest first if GitHub sorts it so. */
export type Pages<Item> = AsyncIterable<Item[]>;

export async function wholeList<Item>(pages: Pages<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

/** The part of octokit that plugins get. */
type Core = Parameters<typeof throttling>[0];

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * GitHub's REST and GraphQL API, used as GitHub asks bots to: writes at intervals, limits respected, one fresh token after a 401. A read is
 * repeated after a fault, and so is a write that has no further effect when it runs twice. Any other write only if it was certainly
 * refused: after anything else, such as a time-out, the caller has to check.
 *
 * The plugins do not support abort: an aborted call stays in their queue, and is refused when its turn comes.
 */
export function createGitHubClient(options: GitHubClientOptions): GitHubClient {
  const { baseUrl, reach, limits, signal, timeoutMs, fetch } = options;

  const report = (headers: Headers) => {
    const seen = rateLimitSeen(headers);
    if (seen) options.onRateLimit?.(seen);
  };

  /** The innermost hook: the plugins call it for each try, after their waits. */
  function sending(octokit: Core): void {
    octokit.hook.wrap("request", async (request, parameters) => {
      const call = callOf(octokit, parameters, baseUrl);
      signal?.throwIfAborted();
      limits.check(call);
      try {
        return await send(false).catch((error: unknown) => {
          if (refusalOf(error)?.status !== 401) throw error;
          return send(true);
        });
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal) report(refusal.headers);
        const limit = refusal && rateLimitOf(refusal, Date.now());
        if (limit) throw limits.refused(call, limit);
        // The egress refused the request, and would refuse it again; octokit treats the error as a server error.
        const { cause } = error as Error;
        throw cause instanceof AppError && !cause.retryable ? cause : error;
      }

      async function send(renew: boolean) {
        // All callers that wait for the same token share one request: an abort ends the wait and not the request.
        const token = await unlessAborted(options.token({ renew }), signal).catch((error: unknown) => {
          throw toAppError(error, "the request for an installation token");
        });
        // In place: octokit's own hooks run inside of this one and see these parameters, not a copy.
        parameters.headers.authorization = `Bearer ${token}`;
        parameters.headers["x-github-api-version"] = "2022-11-28";
        const after = call.kind === "write" ? await options.beforeWrite?.() : undefined;
        const answer = await request(parameters);
        report(answer.headers);
        refuseCutOff(answer, call.name, parameters);
        if (call.graphql) refuseLimited(answer);
        limits.carriedOut(call, answer.headers);
        reach.learn?.(call, answer.data);
        await after?.({ request: writtenAs(call, parameters), ...nameOf(answer.data) });
        return answer;
      }
    });
  }

  const octokit = new (Octokit.plugin(sending, throttling, retry))({
    baseUrl,
    userAgent: options.userAgent,
    log: silent,
    ...limits.plugins,
    request: { fetch: createTransport({ baseUrl, reach, timeoutMs, fetch, signal }) },
  });

  octokit.hook.wrap("request", async (request, parameters) => {
    const call = callOf(octokit, parameters, baseUrl);
    // Only for these calls: with a number of retries the plugin also repeats refused requests.
    if (call.kind !== "read" && !call.isHarmlessTwice) Object.assign(parameters.request, { retries: 0 });
    try {
      return await unlessAborted(Promise.resolve(request(parameters)), signal);
    } catch (error) {
      if (signal?.aborted) throw new AppError("aborted", `${call.name} was canceled`);
      throw toAppError(error, call.name);
    }
  });

  async function graphql<Data>(kind: GraphqlKind, query: string, variables: object, shape: z.ZodType<Data>) {
    const call = { method: "POST", url: graphqlUrl(baseUrl), query, variables } as const;
    const answer = await octokit.request({ ...call, request: { graphql: kind } });
    return graphqlData(graphqlCalls[kind].name, answer.data, shape);
  }

  return {
    rest: octokit.rest,
    request: octokit.request,
    list: <Item>(path: string, most: number, of = (page: unknown[]) => page as Item[]) =>
      list(octokit, path, most, of),
    pages: (path, most, itemsOf) => pages(octokit, path, most, itemsOf),
    query: (text, variables, shape) => graphql("query", text, variables, shape),
    mutate: (text, variables, shape) => graphql("mutation", text, variables, shape),
  };
}

const Named = z.object({ id: z.int(), html_url: z.string().nullish() });

function nameOf(data: unknown): Omit<Written, "request"> {
  const named = Named.safeParse(data).data;
  return { id: named?.id ?? null, url: named?.html_url ?? null };
}

/** For a mutation, its own name and its subject: on the wire, all mutations are the same request. */
function writtenAs({ name, graphql }: PlacedCall, { query, variables }: Record<string, unknown>): string {
  const [, mutation] = (graphql && /\{\s*(\w+)/.exec(String(query))) || [];
  return mutation ? [mutation, ...Object.values(variables ?? {})].join(" ") : name;
}

/** A request by its path below the root of the API. */
interface PlacedCall extends Traffic {
  /** Method and path, for messages. */
  name: string;
  method: string;
  path: string;
  /** A write that has no further effect when it runs twice. */
  isHarmlessTwice?: boolean;
}
const toGraphql = { method: "POST", path: "/graphql", graphql: true } as const;

/**
 * Every GraphQL request is a POST. Its meaning is passed in options that are not sent. Our mutations only change existing things and create
 * nothing.
 */
const graphqlCalls = {
  query: { ...toGraphql, name: "GraphQL query", kind: "read" },
  mutation: { ...toGraphql, name: "GraphQL mutation", kind: "write", isHarmlessTwice: true },
} as const satisfies Record<string, PlacedCall>;
type GraphqlKind = keyof typeof graphqlCalls;

function callOf(
  octokit: Core,
  parameters: { method: string; url: string; request: object },
  baseUrl: string,
): PlacedCall {
  const { graphql } = parameters.request as { graphql?: GraphqlKind };
  if (graphql) return graphqlCalls[graphql];
  const { method, url } = octokit.request.endpoint(parameters as Parameters<Core["request"]>[0] & object);
  const kind = method === "GET" || method === "HEAD" ? "read" : "write";
  const path = pathBelow(new URL(baseUrl).pathname, new URL(url, baseUrl));
  return { name: `${method} ${path}`, method, path, kind, graphql: false };
}

/** 50 comments of 65,536 characters, of four bytes each, fit into the size limit of an answer. */
const itemsAPage = 50;

async function list<Item>(
  octokit: Octokit,
  path: string,
  mostHundreds: number,
  of: (page: unknown[]) => Item[],
): Promise<Item[]> {
  const itemsOf = (data: unknown) => {
    if (!Array.isArray(data)) throw unreadableAnswer(`GET ${path}`, "a list was expected");
    return of(data);
  };
  return wholeList(pages(octokit, path, mostHundreds, itemsOf, itemsAPage));
}

async function* pages<Item>(
  octokit: Octokit,
  path: string,
  mostHundreds: number,
  itemsOf: (data: unknown) => Item[],
  perPage = 100,
): AsyncGenerator<Item[]> {
  const most = mostHundreds * 100;
  let url: string | undefined = `${path}${path.includes("?") ? "&" : "?"}per_page=${perPage}`;
  // The pages count, because their links may lead in a circle. The transport refuses a link to another origin.
  for (let listed = 0; url !== undefined; listed += perPage) {
    if (listed >= most) throw new AppError("too_large", `GitHub lists more than ${most} items at ${path}`);
    const { data, headers }: Awaited<ReturnType<Octokit["request"]>> = await octokit.request({
      method: "GET",
      url,
    });
    const items = itemsOf(data);
    // Pages that are longer than requested could have any total size.
    if (items.length > 100) throw unreadableAnswer(`GET ${path}`, "a page has more than 100 items");
    yield items;
    url = nextPage(headers);
  }
}

/** Address of the next page; undefined after the last. */
export const nextPage = ({ link = "" }: { link?: string }) => /<([^<>]+)>;\s*rel="next"/.exec(link)?.[1];
