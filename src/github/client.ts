import { retry } from "@octokit/plugin-retry";
import { throttling } from "@octokit/plugin-throttling";
import { Octokit } from "@octokit/rest";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { pathBelow, type Reach } from "./allowlist.ts";
import { firstFaults, oneLine, refusalError, refusalOf, toAppError, unreadableAnswer } from "./errors.ts";
import {
  type Headers,
  type InstallationLimits,
  type RateLimitSeen,
  rateLimitOf,
  rateLimitSeen,
  type Traffic,
} from "./rate-limit.ts";
import { createTransport } from "./transport.ts";

/** Answers with status 200 whether it went well or not: https://docs.github.com/graphql/guides/using-the-graphql-api-for-error-handling */
const Answer = z.object({
  data: z.unknown().optional(),
  errors: z.array(z.object({ type: z.string().optional(), message: z.string() })).optional(),
});

/** Where GraphQL is spoken: beside the REST API, which on an enterprise server has a path of its own. */
function graphqlUrl(baseUrl: string): string {
  return baseUrl.endsWith("/api/v3") ? baseUrl.replace(/v3$/, "graphql") : `${baseUrl}/graphql`;
}

/** The data of an answer, of a known shape. Rejects with an AppError in GitHub's words. */
function graphqlData<Data>(name: string, answer: unknown, shape: z.ZodType<Data>): Data {
  const { data, errors = [] } = Answer.safeParse(answer).data ?? {};
  const [error] = errors;
  if (error) throw refusal(name, error);
  const parsed = shape.safeParse(data);
  if (!parsed.success) throw unreadableAnswer(name, firstFaults(parsed.error));
  return parsed.data;
}

/**
 * GitHub tells of a limit in an answer with status 200 ("Rate limits and query limits for the GraphQL API"): throws what it
 * would be where it is told by the status.
 */
function refuseLimited({ data, headers }: { data: unknown; headers: Headers }): void {
  const { errors = [] } = Answer.safeParse(data).data ?? {};
  const limit = errors.find(({ type, message }) => limitType.test(type ?? "") || limitWords.test(message));
  if (limit) throw refusalError({ status: 429, headers, message: limit.message });
}

const limitType = /^RATE_LIMIT(ED)?$/;
const limitWords = /secondary rate limit/i;

/** How GitHub words a time-out or a fault of its own, for which it has no type. */
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
  /** What may be sent; anything else is refused with an AppError, and nothing leaves. */
  reach: Reach;
  /** The installation's token. `renew` asks for one that is no cached copy, because GitHub refused the last. */
  token: (options: { renew: boolean }) => Promise<string>;
  userAgent: string;
  /** Shared by all clients of one installation. */
  limits: InstallationLimits;
  /** Asked right before each write leaves, when all waits are over: where it rejects, with an AppError, nothing is sent. */
  beforeWrite?: BeforeWrite | undefined;
  /** Told what each answer says of the limit that it counts against. */
  onRateLimit?: ((seen: RateLimitSeen) => void) | undefined;
  /** For one request with its whole answer. Default 30 s. */
  timeoutMs?: number;
  /** Ends waits and requests under way with an AppError `aborted`. */
  signal?: AbortSignal | undefined;
  fetch?: typeof fetch;
}

/** May resolve to somebody who is told of the answer, where there is one. */
export type BeforeWrite = () => Promise<AfterWrite | undefined>;
export type AfterWrite = (written: Written) => Promise<void>;

/** What GitHub made of a write. */
export interface Written {
  /** "POST /repos/octo/shop/pulls/1/reviews", "resolveReviewThread PRRT_1" */
  request: string;
  /** GitHub's id of what was written; null where it answers none. */
  id: number | null;
  /** Its page; null where it has none. */
  url: string | null;
}

export interface GitHubClient {
  /** Typed endpoints; every call goes through the hooks below and rejects with an AppError alone. */
  readonly rest: Octokit["rest"];
  readonly request: Octokit["request"];
  /** All items of a list. Rejects with `too_large` beyond so many hundreds of them. */
  list(path: string, mostHundreds: number): Promise<unknown[]>;
  /** What `of` makes of each page, which is kept no longer than that: people may fill each item with 65,536 characters. */
  list<Item>(path: string, mostHundreds: number, of: (page: unknown[]) => Item[]): Promise<Item[]>;
  /**
   * One answer as it is now; with the ETag of an earlier one null where nothing has changed since, which GitHub does not count
   * against the primary limit.
   */
  page(path: string, etag?: string | null): Promise<Page | null>;
  /** A GraphQL query, never a mutation: it is repeated after a fault as any read is. */
  query<Data>(text: string, variables: Record<string, unknown>, shape: z.ZodType<Data>): Promise<Data>;
  /**
   * A GraphQL mutation that does no more when it is done twice: it is paced as any write, and yet repeated after a fault.
   * There is none here for any other.
   */
  mutate<Data>(text: string, variables: Record<string, unknown>, shape: z.ZodType<Data>): Promise<Data>;
}

interface Page {
  etag: string | null;
  data: unknown;
  /** Where the next page is, to be asked for as this one was; null where there is none. */
  next: string | null;
}

/** The part of octokit that plugins get. */
type Core = Parameters<typeof throttling>[0];

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * GitHub's REST and GraphQL API as GitHub wants a bot to use it: writes apart from each other, limits obeyed, one fresh token
 * after a 401. A read is repeated after a fault, and so is a write that changes nothing more when it is done twice. Any other
 * write is repeated only if GitHub certainly did not carry it out: refused for a limit or a stale token. After anything else,
 * above all a time-out, the caller has to look.
 *
 * The plugins know no abort: what waits in them is left behind, and refused when its turn comes.
 */
export function createGitHubClient(options: GitHubClientOptions): GitHubClient {
  const { baseUrl, reach, limits, signal, timeoutMs, fetch } = options;

  /** Innermost: the plugins call it for each try, when their waits are over. */
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
        const limit = refusal && rateLimitOf(refusal, Date.now());
        if (limit) throw limits.refused(call, limit);
        // The egress refused it, and would refuse it again; octokit takes that for a fault of the server.
        const { cause } = error as Error;
        throw cause instanceof AppError && !cause.retryable ? cause : error;
      }

      async function send(renew: boolean) {
        // Minting is shared by all who wait for the same token: an abort ends the waiting and not the request.
        const token = await unlessAborted(options.token({ renew }), signal).catch((error: unknown) => {
          throw toAppError(error, "the request for an installation token");
        });
        // In place: octokit's own hooks, which run inside of this one, see these parameters and no copy.
        parameters.headers.authorization = `Bearer ${token}`;
        parameters.headers["x-github-api-version"] = "2022-11-28";
        const after = call.kind === "write" ? await options.beforeWrite?.() : undefined;
        const answer = await observed(request(parameters), options.onRateLimit);
        refuseCutOff(answer, call, parameters);
        if (call.graphql) refuseLimited(answer);
        limits.carriedOut(call, answer.headers);
        reach.learn?.(call, answer.data);
        await after?.({ request: writtenAs(call, parameters), ...nameOf(answer.data) });
        return answer;
      }
    });
  }

  const octokit = new (Octokit.plugin(sending, throttling, retry))({
    ...{ baseUrl, userAgent: options.userAgent, log: silent, ...limits.plugins },
    request: { fetch: createTransport({ baseUrl, reach, timeoutMs, fetch, signal }) },
  });

  octokit.hook.wrap("request", async (request, parameters) => {
    const call = callOf(octokit, parameters, baseUrl);
    // Only this: with a number of retries the plugin repeats what was refused, too.
    if (!mayRepeat(call)) Object.assign(parameters.request, { retries: 0 });
    try {
      return await unlessAborted(Promise.resolve(request(parameters)), signal);
    } catch (error) {
      if (signal?.aborted) throw new AppError("aborted", `${call.name} was called off`);
      throw toAppError(error, call.name);
    }
  });

  async function graphql<Data>(kind: GraphqlKind, query: string, variables: object, shape: z.ZodType<Data>) {
    const url = graphqlUrl(baseUrl);
    const answer = await octokit.request({
      method: "POST",
      url,
      query,
      variables,
      request: { graphql: kind },
    });
    return graphqlData(graphqlCalls[kind].name, answer.data, shape);
  }

  return {
    rest: octokit.rest,
    request: octokit.request,
    list: <Item>(path: string, most: number, of?: (page: unknown[]) => Item[]) =>
      list(octokit, path, most, of ?? ((page) => page as Item[])),
    page: (path, etag) => page(octokit, path, etag),
    query: (text, variables, shape) => graphql("query", text, variables, shape),
    mutate: (text, variables, shape) => graphql("mutation", text, variables, shape),
  };
}

const Named = z.object({ id: z.int(), html_url: z.string().nullish() });

function nameOf(data: unknown): Omit<Written, "request"> {
  const named = Named.safeParse(data).data;
  return { id: named?.id ?? null, url: named?.html_url ?? null };
}

/** Of a mutation its own name and what it is about: all of them are the same request. */
function writtenAs({ name, graphql }: PlacedCall, { query, variables }: Record<string, unknown>): string {
  const [, mutation] = (graphql && /\{\s*(\w+)/.exec(String(query))) || [];
  return mutation ? [mutation, ...Object.values(variables ?? {})].join(" ") : name;
}

/** A request by its place below the root of the API. */
interface PlacedCall extends Traffic {
  /** Method and path, for messages. */
  name: string;
  method: string;
  path: string;
  /** A write that changes nothing more when it is done twice. */
  isHarmlessTwice?: boolean;
}
const mayRepeat = ({ kind, isHarmlessTwice = false }: PlacedCall) => kind === "read" || isHarmlessTwice;

const toGraphql = { method: "POST", path: "/graphql", graphql: true } as const;

/**
 * Every request of GraphQL is a POST: what it amounts to goes along with it, in options that are not sent. The mutations
 * there are change what stands and make nothing.
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

/** Rejects with the signal's reason as soon as it fires; the work itself goes on, because others may wait for it too. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}

/** Reports what an answer says of the limits, also a refusal. "Nothing has changed" is an answer, which octokit takes for a fault. */
async function observed<Answer extends { headers: Headers }>(
  answering: Answer | Promise<Answer>,
  onRateLimit: GitHubClientOptions["onRateLimit"],
): Promise<Answer> {
  const tell = (headers: Headers) => {
    const seen = rateLimitSeen(headers);
    if (seen) onRateLimit?.(seen);
  };
  try {
    const answer = await answering;
    tell(answer.headers);
    return answer;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal) tell(refusal.headers);
    if (refusal?.status !== 304) throw error;
    return { status: 304, headers: refusal.headers, data: undefined } as unknown as Answer;
  }
}

/** octokit returns JSON that it could not parse as plain text. */
function refuseCutOff(
  answer: { status: number; headers: Headers; data: unknown },
  call: PlacedCall,
  request: object,
): void {
  // What was deleted has no body, whatever type it is said to have.
  if (answer.status === 204) return;
  const json = /^application\/(json|[\w.+-]+\+json)\b/.test(String(answer.headers["content-type"] ?? ""));
  if (!json || typeof answer.data !== "string") return;
  const cause = unreadableAnswer(call.name, "its JSON is cut off or broken");
  // As octokit reports a fault of the server: the plugin repeats a read.
  throw Object.assign(new Error(cause.message, { cause }), { status: 502, request });
}

/** A page of comments of 65,536 characters, of four bytes each, is within what an answer may have. */
const itemsAPage = 50;

async function list<Item>(
  octokit: Octokit,
  path: string,
  mostHundreds: number,
  of: (page: unknown[]) => Item[],
): Promise<Item[]> {
  const most = mostHundreds * 100;
  const items: Item[] = [];
  let url: string | undefined = `${path}?per_page=${itemsAPage}`;
  for (let listed = 0; url !== undefined; listed += itemsAPage) {
    if (listed >= most) throw new AppError("too_large", `GitHub lists more than ${most} items at ${path}`);
    // The transport refuses a link that leads to another origin.
    const answer: { data: unknown; headers: { link?: string } } = await octokit.request({
      method: "GET",
      url,
    });
    if (!Array.isArray(answer.data)) throw unreadableAnswer(`GET ${path}`, "a list was expected");
    // Longer pages than were asked for could be of any size together.
    if (answer.data.length > 100) throw unreadableAnswer(`GET ${path}`, "a page has more than 100 items");
    items.push(...of(answer.data));
    url = nextPage(answer.headers);
  }
  return items;
}

async function page(octokit: Octokit, path: string, etag?: string | null): Promise<Page | null> {
  const headers = etag ? { "if-none-match": etag } : {};
  const answer: { status: number; data: unknown; headers: { link?: string; etag?: string } } =
    await octokit.request({ method: "GET", url: path, headers });
  if (answer.status === 304) return null;
  return { etag: answer.headers.etag ?? null, data: answer.data, next: nextPage(answer.headers) ?? null };
}

const nextPage = ({ link = "" }: { link?: string }) => /<([^<>]+)>;\s*rel="next"/.exec(link)?.[1];
