import { Octokit } from "@octokit/rest";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { type Clock, systemClock } from "./clock.ts";
import { refusalOf, toAppError, unreadableAnswer } from "./errors.ts";
import { graphqlData, graphqlUrl, refuseLimited } from "./graphql.ts";
import type { Pacing } from "./pacing.ts";
import { type Headers, type RateLimitSeen, rateLimitSeen } from "./rate-limit.ts";
import { pathBelow, type Reach } from "./reach.ts";
import { type Call, createRequestPolicy } from "./request-policy.ts";
import { createTransport } from "./transport.ts";
import { unlessAborted } from "./unless-aborted.ts";

export interface GitHubClientOptions {
  /** Root of the REST API: `https://api.github.com`, or `https://HOST/api/v3` of an enterprise server. */
  baseUrl: string;
  /** What may be sent; anything else is refused with an AppError, and nothing leaves. */
  reach: Reach;
  /** The installation's token. `renew` asks for one that is no cached copy, because GitHub refused the last. */
  token: (options: { renew: boolean }) => Promise<string>;
  userAgent: string;
  /** Shared by all clients of one installation. */
  pacing: Pacing;
  clock?: Clock;
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

export interface Page {
  etag: string | null;
  data: unknown;
  /** Where the next page is, to be asked for as this one was; null where there is none. */
  next: string | null;
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * GitHub's REST API with the behaviour a bot owes it: paced writes, limits obeyed, reads repeated after a fault and
 * writes never, one fresh token after a 401.
 */
export function createGitHubClient(options: GitHubClientOptions): GitHubClient {
  const { baseUrl, reach, pacing, signal, timeoutMs, fetch, clock = systemClock } = options;
  const octokit = new Octokit({
    baseUrl,
    userAgent: options.userAgent,
    log: silent,
    request: { fetch: createTransport({ baseUrl, reach, timeoutMs, fetch, signal }) },
  });
  const settle = createRequestPolicy({ clock, pacing, signal });

  octokit.hook.wrap("request", (request, parameters) => {
    const call = callOf(octokit, parameters, baseUrl);
    return settle(call, async (renew) => {
      // Minting is shared by all who wait for the same token: an abort ends the waiting and not the request.
      const token = await unlessAborted(options.token({ renew }), signal).catch((error: unknown) => {
        throw toAppError(error, "the request for an installation token");
      });
      // In place: octokit's own hooks, which run inside of this one, see these parameters and no copy.
      parameters.headers.authorization = `Bearer ${token}`;
      parameters.headers["x-github-api-version"] = "2022-11-28";
      const after = call.kind === "write" ? await options.beforeWrite?.() : undefined;
      const answer = await told(request(parameters), options.onRateLimit);
      refuseCutOff(answer, call);
      if (call.graphql) refuseLimited(answer);
      reach.learn?.(call, answer.data);
      await after?.({ request: writtenAs(call, parameters), ...nameOf(answer.data) });
      return answer;
    });
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
function writtenAs({ name, graphql }: Call, { query, variables }: Record<string, unknown>): string {
  const [, mutation] = (graphql && /\{\s*(\w+)/.exec(String(query))) || [];
  return mutation ? [mutation, ...Object.values(variables ?? {})].join(" ") : name;
}

type PlacedCall = Call & { method: string; path: string };
const toGraphql = { method: "POST", path: "/graphql", creates: false, graphql: true } as const;

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
  octokit: Octokit,
  parameters: { method: string; url: string; request: object },
  baseUrl: string,
): PlacedCall {
  const { graphql } = parameters.request as { graphql?: GraphqlKind };
  if (graphql) return graphqlCalls[graphql];
  const { method, url } = octokit.request.endpoint(parameters as Parameters<Octokit["request"]>[0] & object);
  const kind = method === "GET" || method === "HEAD" ? "read" : "write";
  const path = pathBelow(new URL(baseUrl).pathname, new URL(url, baseUrl));
  return { name: `${method} ${path}`, method, path, kind, creates: makesContent.has(method), graphql: false };
}

/**
 * What GitHub may count as "content-generating". It says so of no endpoint, and warns of it for comments, reviews and pull
 * requests ("Rate limits for the REST API"): check runs, reactions, branches and files are counted along, to be on the safe side.
 */
const makesContent = new Set(["POST", "PUT"]);

/** Tells what the answer says, also a refusal's. That nothing has changed is an answer too, which octokit takes for a fault. */
async function told<Answer extends { headers: Headers }>(
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

/** octokit hands out JSON that it could not parse as plain text. */
function refuseCutOff(answer: { status: number; headers: Headers; data: unknown }, call: Call): void {
  // What was deleted has no body, whatever type it is said to have.
  if (answer.status === 204) return;
  const json = /^application\/(json|[\w.+-]+\+json)\b/.test(String(answer.headers["content-type"] ?? ""));
  if (json && typeof answer.data === "string")
    throw unreadableAnswer(call.name, "its JSON is cut off or broken");
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
