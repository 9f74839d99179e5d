/**
 * A GitHub to test against: an HTTP server with state, on 127.0.0.1, in this process.
 *
 * - REST: the endpoints of `fixtures/openapi/github.json`, below `/api/v3` as on GitHub Enterprise Server and without it. Each request and
 *   answer is checked against GitHub's OpenAPI description: a request that GitHub would refuse is refused in GitHub's words and recorded in
 *   `violations`, and so is any other endpoint (501); an answer that GitHub would not give throws here. Pagination; ETags, each valid only
 *   for its token.
 * - GraphQL for review threads: listing and resolving.
 * - Apps (JWT: RS256, issuer, expiry), installations, their tokens and permissions; log-in of people through an App (`login.ts`).
 * - Repositories are real bare ones, also over smart HTTP at `/OWNER/NAME.git` with partial clones and `refs/pull/N/head`. The lines that can
 *   have a comment come from `git diff -U3 -M`, without the bot's own diff code (`commentable.ts`).
 * - Rate limits (`limits`), webhooks with their signatures and log, faults on request.
 *
 * Of the limits on a diff, it has those that are known to refuse comments: 20,000 lines and 500 KB of a file (as a file it still accepts a
 * comment, which is untested on GitHub itself). It reads no `.gitattributes`; `-diff` and `binary` may hide a file on GitHub. The injected
 * clock gives the timestamps of written objects; credentials are checked by the machine's own clock, because the bot makes them with it. It
 * is stricter than GitHub where our bot should never go: unknown keys in a body, texts of others, and repositories outside the token (for
 * public ones, everything except the contents).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { TempFolder } from "./git-repo.ts";
import { apiPath, type Exchange, type Reply, readExchange, send } from "./github-double/exchange.ts";
import { answerAfterFault, answerOfFault, type FaultKind, FaultPlan } from "./github-double/faults.ts";
import { answerGit, isGit } from "./github-double/git-over-http.ts";
import { answerGraphql } from "./github-double/graphql.ts";
import { answerLogin } from "./github-double/login.ts";
import { type LimitedRequest, type RateLimitOptions, RateLimits } from "./github-double/rate-limits.ts";
import { answerRest, type Violation } from "./github-double/rest.ts";
import { GitHubState } from "./github-double/state.ts";

export interface GitHubDoubleOptions {
  /** Source of all written timestamps. Default: the machine's clock. */
  now?: () => Date;
  /** Default: any free port. */
  port?: number;
  /** Default: no limits. */
  limits?: RateLimitOptions;
}

/** A received request and its result. */
export interface RecordedRequest {
  method: string;
  /** Without `/api/v3`. */
  path: string;
  query: string;
  body: unknown;
  /** The operation in the description, "graphql" or "git". */
  operation: string | undefined;
  /** 0 if the connection was broken. */
  status: number;
  /** Time of the answer, in milliseconds of the machine's clock. */
  at: number;
}

interface Worked {
  reply: Reply;
  operation: string | undefined;
}

interface Waiting {
  check: () => boolean;
  done: () => void;
}

export class GitHubDouble implements AsyncDisposable {
  readonly state: GitHubState;
  readonly violations: Violation[] = [];
  readonly requests: RecordedRequest[] = [];
  readonly faults = new FaultPlan();
  /** Faults of the double itself; `close` rejects with the first. */
  readonly bugs: unknown[] = [];
  /** Limits on requests with an installation's token. */
  readonly limits: RateLimits | undefined;
  readonly host = "127.0.0.1";
  /** Holds the bare repositories, as OWNER/NAME.git. */
  readonly folder = new TempFolder("github");
  readonly #server: Server;
  readonly #waiting = new Set<Waiting>();

  constructor(options: GitHubDoubleOptions = {}) {
    this.state = new GitHubState(options.now ?? (() => new Date()));
    this.limits = options.limits && new RateLimits(options.limits);
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((bug: unknown) => {
        this.bugs.push(bug);
        if (!response.headersSent) response.writeHead(500);
        response.end(String(bug));
      });
    });
  }

  async listen(port: number): Promise<this> {
    await new Promise<void>((done, fail) => {
      this.#server.once("error", fail).listen(port, this.host, done);
    });
    this.state.origin = `http://${this.host}:${this.port}`;
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `http://127.0.0.1:PORT`, for pages and git. */
  get url(): string {
    return this.state.origin;
  }

  get apiUrl(): string {
    return this.state.apiUrl;
  }

  /** Resolves as soon as a request makes `check` true; on time-out, rejects with the requests so far. */
  async until(check: () => boolean, timeoutMs = 600_000): Promise<void> {
    if (check()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { check, done: resolve };
    this.#waiting.add(waiting);
    const timer = setTimeout(() => {
      const seen = this.requests.map((one) => `${one.method} ${one.path} ${one.status}`).join("\n");
      reject(new Error(`Waited ${timeoutMs} ms in vain. Requests so far:\n${seen || "none"}`));
    }, timeoutMs);
    await promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
    this.folder.dispose();
    if (this.bugs.length > 0) throw this.bugs[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", this.url);
    const fault = this.faults.next(request.method ?? "GET", apiPath(pathname));
    if (fault === "reset-before") {
      request.socket.destroy();
      this.#record(request, undefined, "", 0);
      return;
    }
    if (typeof fault === "object" && "delay" in fault) await waitFor(fault.delay);
    if (isGit(pathname)) return this.#answerGit(request, response, fault);
    const exchange = await readExchange(request, this.url);
    const instead = fault && answerOfFault(fault);
    const worked = instead ? { reply: instead, operation: undefined } : await this.#withinLimits(exchange);
    const { operation } = worked;
    const reply = answerAfterFault(fault) ?? worked.reply;
    this.#deliver(response, reply, fault);
    this.#record(request, exchange.body, operation, fault === "reset-after" ? 0 : reply.status);
  }

  #answerGit(request: IncomingMessage, response: ServerResponse, fault: FaultKind | undefined): void {
    const instead = fault && answerOfFault(fault);
    response.on("close", () => this.#record(request, undefined, "git", response.statusCode));
    if (instead) {
      request.resume();
      send(response, instead);
    } else answerGit(this.state, this.folder.path, request, response);
  }

  async #withinLimits(exchange: Exchange): Promise<Worked> {
    const { limits } = this;
    const limited = limits && this.#limitedRequest(exchange);
    if (!limited) return this.#work(exchange);
    const refusal = limits.enter(limited);
    const worked = refusal ? { reply: refusal, operation: undefined } : await this.#work(exchange);
    if (!refusal) limits.leave(limited, worked.reply.status);
    const headers = { ...limits.headers(limited), ...worked.reply.headers };
    return { ...worked, reply: { ...worked.reply, headers } };
  }

  /** Undefined for anonymous requests and those of the App itself, which count separately. */
  #limitedRequest({ method, path, headers, body }: Exchange): LimitedRequest | undefined {
    const token = this.state.tokens.get(headers.authorization?.split(" ")[1] ?? "");
    const { query } = (body ?? {}) as { query?: string };
    const mutates = path === "/graphql" && /^\s*mutation\b/.test(query ?? "");
    return token && { installation: token.installation.id, method, path, mutates };
  }

  async #work(exchange: Exchange): Promise<Worked> {
    const page = answerLogin(this.state, exchange);
    if (page) return { reply: page, operation: "login" };
    const { reply, operation, violations } =
      exchange.path === "/graphql" && exchange.method === "POST"
        ? await answerGraphql(this.state, exchange)
        : await answerRest(this.state, exchange);
    this.violations.push(...violations);
    return { reply, operation };
  }

  #deliver(response: ServerResponse, reply: Reply, fault: FaultKind | undefined): void {
    if (fault === "reset-after") {
      response.socket?.destroy();
      return;
    }
    const body = fault === "truncated" ? reply.body.slice(0, Math.floor(reply.body.length / 2)) : reply.body;
    const id = `D0:${this.requests.length.toString(16).toUpperCase()}`;
    send(response, {
      ...reply,
      body,
      headers: { "x-github-request-id": id, ...rateLimit(), ...reply.headers },
    });
  }

  #record(request: IncomingMessage, body: unknown, operation: string | undefined, status: number): void {
    const { pathname, search } = new URL(request.url ?? "/", this.url);
    const method = request.method ?? "GET";
    this.requests.push({
      method,
      path: apiPath(pathname),
      query: search,
      body,
      operation,
      status,
      at: Date.now(),
    });
    for (const { check, done } of [...this.#waiting]) if (check()) done();
  }
}

/** An hourly allowance that never runs out. */
const rateLimit = () => ({
  "x-ratelimit-limit": "5000",
  "x-ratelimit-remaining": "4999",
  "x-ratelimit-used": "1",
  "x-ratelimit-reset": String(Math.ceil(Date.now() / 1000) + 3600),
});

async function waitFor(delay: number | Promise<unknown>): Promise<void> {
  if (typeof delay === "number") await sleep(delay);
  else await delay;
}

/** Starts an empty GitHub; `createScenario` and `People` fill it. */
export async function startGitHubDouble(options: GitHubDoubleOptions = {}): Promise<GitHubDouble> {
  return new GitHubDouble(options).listen(options.port ?? 0);
}
