import { jsonReply, type Reply } from "./exchange.ts";

/**
 * GitHub's limits on one installation, as described in "Rate limits for the REST API", "Best practices for using the REST API" and "Rate
 * limits and query limits for the GraphQL API", in their strictest reading: every POST and PUT of the REST API creates content, and a
 * second write within a second of the first, or while the first is in progress, is a breach. A client that returns before the stated time
 * breaks the limits again.
 */
export interface RateLimitOptions {
  /** Milliseconds since 1970. */
  now: () => number;
  /** For REST and, separately, for GraphQL. Default 5,000. */
  requestsAnHour?: number;
  /** Minimum gap between writes; 0 also allows them to overlap. Default 1 s. */
  gapMs?: number;
}

export type BrokenLimit =
  | "primary"
  | "gap"
  | "one at a time"
  | "80 creations a minute"
  | "500 creations an hour"
  | "900 points a minute"
  | "too early";

export interface Breach {
  /** In milliseconds since 1970. */
  at: number;
  installation: number;
  /** Method and path. */
  request: string;
  limit: BrokenLimit;
}

export interface LimitedRequest {
  installation: number;
  method: string;
  path: string;
  /** True for a GraphQL mutation, false for a query. */
  mutates?: boolean;
}

interface Window {
  /** Start of the window. */
  from: number;
  used: number;
}

interface Traffic {
  windows: Record<"core" | "graphql", Window>;
  points: Moments;
  creationsAMinute: Moments;
  creationsAnHour: Moments;
  lastWrite: number;
  writing: number;
  blockedUntil: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The requests of the last time span. */
class Moments {
  readonly #spanMs: number;
  readonly #most: number;
  #moments: { at: number; weight: number }[] = [];

  constructor(spanMs: number, most: number) {
    this.#spanMs = spanMs;
    this.#most = most;
  }

  /** Counts a request; false if it exceeds the limit, in which case it does not count. */
  takes(at: number, weight = 1): boolean {
    this.#moments = this.#moments.filter((moment) => moment.at > at - this.#spanMs);
    const sum = this.#moments.reduce((total, moment) => total + moment.weight, weight);
    if (sum > this.#most) return false;
    this.#moments.push({ at, weight });
    return true;
  }

  /** When the oldest entry expires. */
  get freeAt(): number {
    return (this.#moments[0]?.at ?? 0) + this.#spanMs;
  }
}

export class RateLimits {
  /** Every request that a limit refused. */
  readonly breaches: Breach[] = [];
  /** Accepted requests, and those among them that create content. */
  readonly counted = { requests: 0, writes: 0, creations: 0 };
  readonly #options: Required<RateLimitOptions>;
  readonly #traffic = new Map<number, Traffic>();

  constructor(options: RateLimitOptions) {
    this.#options = { requestsAnHour: 5_000, gapMs: 1_000, ...options };
  }

  /** Accepts a request, which must `leave` later, or returns GitHub's refusal. */
  enter(request: LimitedRequest): Reply | undefined {
    const traffic = this.#of(request.installation);
    const now = this.#options.now();
    if (now < traffic.blockedUntil) return this.#refuse(request, "too early", traffic.blockedUntil);
    const window = this.#window(request, traffic);
    if (window.used >= this.#options.requestsAnHour) return this.#refusePrimary(request);
    window.used++;
    const limit = this.#secondary(request, traffic, now);
    if (limit) return this.#refuse(request, limit, this.#backAt(limit, traffic, now));
    this.counted.requests++;
    if (!isWrite(request)) return undefined;
    traffic.lastWrite = now;
    traffic.writing++;
    this.counted.writes++;
    if (isCreation(request)) this.counted.creations++;
    return undefined;
  }

  leave(request: LimitedRequest, status: number): void {
    const traffic = this.#of(request.installation);
    if (isWrite(request)) traffic.writing--;
    // An unchanged answer (304) costs nothing.
    if (status === 304) this.#window(request, traffic).used--;
  }

  /** Uses up the installation's remaining requests of the hour and returns when they are renewed, in milliseconds since 1970. */
  exhaust(installation: number, resource: "core" | "graphql" = "core"): number {
    const window = this.#current(this.#of(installation), resource);
    window.used = this.#options.requestsAnHour;
    return window.from + hourMs;
  }

  headers(request: LimitedRequest): Record<string, string> {
    const resource = resourceOf(request);
    const { from, used } = this.#window(request, this.#of(request.installation));
    const limit = this.#options.requestsAnHour;
    return {
      date: new Date(this.#options.now()).toUTCString(),
      "x-ratelimit-limit": String(limit),
      "x-ratelimit-remaining": String(limit - used),
      "x-ratelimit-used": String(used),
      "x-ratelimit-reset": String(Math.ceil((from + hourMs) / 1_000)),
      "x-ratelimit-resource": resource,
    };
  }

  #secondary(request: LimitedRequest, traffic: Traffic, now: number): BrokenLimit | undefined {
    const isRest = resourceOf(request) === "core";
    if (isRest && !traffic.points.takes(now, isWrite(request) ? 5 : 1)) return "900 points a minute";
    if (!isWrite(request)) return undefined;
    if (traffic.writing > 0 && this.#options.gapMs > 0) return "one at a time";
    if (now - traffic.lastWrite < this.#options.gapMs) return "gap";
    if (!isCreation(request)) return undefined;
    if (!traffic.creationsAMinute.takes(now)) return "80 creations a minute";
    return traffic.creationsAnHour.takes(now) ? undefined : "500 creations an hour";
  }

  #backAt(limit: BrokenLimit, traffic: Traffic, now: number): number {
    if (limit === "500 creations an hour") return traffic.creationsAnHour.freeAt;
    if (limit === "80 creations a minute") return traffic.creationsAMinute.freeAt;
    return now + minuteMs;
  }

  #refuse(request: LimitedRequest, limit: BrokenLimit, backAt: number): Reply {
    this.#note(request, limit);
    const traffic = this.#of(request.installation);
    traffic.blockedUntil = Math.max(traffic.blockedUntil, backAt);
    const seconds = Math.ceil((backAt - this.#options.now()) / 1_000);
    const message =
      "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    const body = { message, documentation_url: docs };
    return jsonReply(isWrite(request) ? 403 : 429, body, { "retry-after": String(seconds) });
  }

  #refusePrimary(request: LimitedRequest): Reply {
    this.#note(request, "primary");
    const message = `API rate limit exceeded for installation ID ${request.installation}.`;
    // GraphQL reports the limit in an answer with status 200.
    if (resourceOf(request) === "graphql")
      return jsonReply(200, { errors: [{ type: "RATE_LIMITED", message }] });
    return jsonReply(403, { message, documentation_url: docs });
  }

  #note({ installation, method, path }: LimitedRequest, limit: BrokenLimit): void {
    this.breaches.push({ at: this.#options.now(), installation, request: `${method} ${path}`, limit });
  }

  #window(request: LimitedRequest, traffic: Traffic): Window {
    return this.#current(traffic, resourceOf(request));
  }

  #current({ windows }: Traffic, resource: "core" | "graphql"): Window {
    const window = windows[resource];
    const now = this.#options.now();
    if (now >= window.from + hourMs) Object.assign(window, { from: now, used: 0 });
    return window;
  }

  #of(installation: number): Traffic {
    const known = this.#traffic.get(installation);
    if (known) return known;
    const made: Traffic = {
      windows: { core: { from: 0, used: 0 }, graphql: { from: 0, used: 0 } },
      points: new Moments(minuteMs, 900),
      creationsAMinute: new Moments(minuteMs, 80),
      creationsAnHour: new Moments(hourMs, 500),
      lastWrite: Number.NEGATIVE_INFINITY,
      writing: 0,
      blockedUntil: 0,
    };
    this.#traffic.set(installation, made);
    return made;
  }
}

const docs =
  "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits";

const resourceOf = ({ path }: LimitedRequest) => (path === "/graphql" ? "graphql" : "core");
const isCreation = ({ method, path }: LimitedRequest) =>
  path !== "/graphql" && (method === "POST" || method === "PUT");
const isWrite = ({ method, path, mutates }: LimitedRequest) =>
  path === "/graphql" ? mutates === true : method !== "GET" && method !== "HEAD";
