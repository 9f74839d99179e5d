import type { RetryOptions } from "@octokit/plugin-retry";
import type { ThrottlingOptions } from "@octokit/plugin-throttling";
import Bottleneck from "bottleneck";
import { AppError } from "../errors.ts";

/*
 * `@octokit/plugin-throttling` spaces writes, and waits and sends again after a limit; `@octokit/plugin-retry` repeats reads after
 * a fault. Here is what they lack. test/github/rate-limit.test.ts shows each point:
 *
 * - Limits that the throttling plugin does not recognise: 403 with `Retry-After` and other words, those of GraphQL on an enterprise
 *   server, and reset times if the clock here is wrong ("a limit that the throttling plugin alone does not obey").
 * - A hold: after a refusal the plugin delays that one request and goes on sending others, which prolongs a limit ("holds every
 *   other call of the installation back"; test/jobs/parked-by-limits for jobs).
 * - Backoff if GitHub does not say how long: the plugin always waits one minute ("doubles up to an hour").
 * - An end to waiting: the plugins know no abort, and wait for up to an hour ("a call that waits in a plugin").
 *
 * All of it is kept per process. Another process learns of a limit from one refusal, and GitHub does not carry out what it
 * refuses: nothing is lost or done twice (test/reporters/publish-within-limits: "eight processes").
 */

/** Response headers as octokit returns them: lower-case names. */
export type Headers = Record<string, string | number | undefined>;

/** What a call means for GitHub's limits. */
export interface Traffic {
  kind: "read" | "write";
  /** GraphQL has a budget of its own. */
  graphql: boolean;
}

/** If GitHub does not say: a minute, then exponentially longer ("Best practices for using the REST API"). */
const secondaryWaitMs = 60_000;
/** A primary limit is renewed after an hour, and no secondary one is known to last longer: then one call asks again. */
const longestHoldMs = 3_600_000;
/** A reset is given in whole seconds; a call that comes back a moment too early costs another refusal. */
const resetMarginMs = 1_000;
/** A longer wait parks the job, so that its worker is free. */
const longestWaitMs = 60_000;
/** How often one call waits for a limit. */
const mostLimitWaits = 3;

export interface Refusal {
  status: number;
  headers: Headers;
  /** GitHub's own message. */
  message: string;
}

export interface RateLimit {
  /** How long GitHub said to wait, in milliseconds, an hour at most; undefined if it did not say. */
  waitMs: number | undefined;
  /** When the budget of GraphQL is used up, the REST API goes on. */
  stops: "everything" | "graphql";
}

/** The primary or secondary limit that an answer reports; undefined for any other refusal. */
export function rateLimitOf(refusal: Refusal, now: number): RateLimit | undefined {
  if (refusal.status !== 403 && refusal.status !== 429) return undefined;
  const seconds = wholeNumber(refusal.headers["retry-after"]);
  if (seconds !== undefined) return { waitMs: Math.min(seconds * 1_000, longestHoldMs), stops: "everything" };
  const spent = spentBudget(refusal.headers, now);
  if (spent !== undefined) return spent;
  const secondary = refusal.status === 429 || /secondary rate limit|abuse detection/i.test(refusal.message);
  return secondary ? { waitMs: undefined, stops: "everything" } : undefined;
}

/** How long to wait after so many refusals in a row that did not say how long, in milliseconds. */
export function backoffMs(earlier: number): number {
  return Math.min(secondaryWaitMs * 2 ** earlier, longestHoldMs);
}

/** The budget of which nothing is left, until it is renewed; undefined while requests are left or GitHub does not say. */
function spentBudget(headers: Headers, now: number): RateLimit | undefined {
  const resource = headers["x-ratelimit-resource"] ?? "core";
  if (resource !== "core" && resource !== "graphql") return undefined;
  if (wholeNumber(headers["x-ratelimit-remaining"]) !== 0) return undefined;
  const reset = wholeNumber(headers["x-ratelimit-reset"]);
  if (reset === undefined) return undefined;
  // GitHub's own clock if it sends it, so that a wrong clock here does not matter.
  const theirs = Date.parse(String(headers.date ?? ""));
  const reference = Number.isNaN(theirs) ? now : theirs;
  const leftMs = Math.min(Math.max(0, reset * 1_000 - reference), longestHoldMs);
  return { waitMs: leftMs + resetMarginMs, stops: resource === "core" ? "everything" : "graphql" };
}

/** What an answer says of the limit that it counts against. */
export interface RateLimitSeen {
  /** GitHub's name of what is counted together: "core", "graphql" ... */
  resource: string;
  remaining: number;
  /** When it is renewed, in milliseconds since 1970. */
  resetAt: number;
}

/** Undefined if the answer does not say. */
export function rateLimitSeen(headers: Headers): RateLimitSeen | undefined {
  const remaining = wholeNumber(headers["x-ratelimit-remaining"]);
  const reset = wholeNumber(headers["x-ratelimit-reset"]);
  if (remaining === undefined || reset === undefined) return undefined;
  return { resource: String(headers["x-ratelimit-resource"] ?? "core"), remaining, resetAt: reset * 1_000 };
}

function wholeNumber(value: string | number | undefined): number | undefined {
  const text = String(value ?? "").trim();
  return /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

export interface RateLimiterOptions {
  /** Time between two writes for one installation, in milliseconds; three times as long if people get a notification. Default 1 s. */
  gapMs?: number;
}

/** The limits of each installation as this process knows them. */
export type RateLimiter = (installation: number) => InstallationLimits;

/** To be made once per process: clients of one installation have to share their limits. */
export function createRateLimiter({ gapMs = 1_000 }: RateLimiterOptions = {}): RateLimiter {
  const group = (minTime: number) => new Bottleneck.Group({ maxConcurrent: 1, minTime });
  const [write, notifications] = [group(gapMs), group(3 * gapMs)];
  const installations = new Map<number, InstallationLimits>();
  return (installation) => {
    const known = installations.get(installation);
    if (known) return known;
    const onSecondaryRateLimit = (seconds: number, _options: unknown, _octokit: unknown, waits: number) =>
      seconds * 1_000 <= longestWaitMs && waits < mostLimitWaits;
    const made = new InstallationLimits({
      throttle: {
        ...{ id: String(installation), write, notifications },
        // `limitError` makes the one of the other, whose wait does not depend on this machine's clock.
        ...{ onSecondaryRateLimit, onRateLimit: onSecondaryRateLimit },
      },
      // Three times: after half a second, two and four and a half.
      retry: { retries: 3, doNotRetry: refusals, retryAfterBaseValue: 500 },
    });
    installations.set(installation, made);
    return made;
  };
}

/** All that is no fault of the server or the connection. 408 is one. */
const refusals = Array.from({ length: 100 }, (_, at) => 400 + at).filter((status) => status !== 408);

/** Until when nothing may be sent for one installation. */
export class InstallationLimits {
  /** Options for the plugins of octokit. */
  readonly plugins: { throttle: ThrottlingOptions; retry: RetryOptions };
  readonly #until = { everything: 0, graphql: 0 };
  /** Refusals in a row that did not say how long to wait. A read that succeeds says nothing about writes. */
  readonly #refusals = { read: 0, write: 0 };

  constructor(plugins: InstallationLimits["plugins"]) {
    this.plugins = plugins;
  }

  /** Throws the error by which the plugin waits, while such a call may not be sent. */
  check(traffic: Traffic): void {
    const waitMs = this.#leftMs(traffic);
    if (waitMs > 0) throw limitError(waitMs);
  }

  /** GitHub refused a call: no other is sent before it may be repeated. The error is one by which the plugin waits. */
  refused(traffic: Traffic, { waitMs, stops }: RateLimit): Error {
    if (waitMs !== undefined) this.#hold(stops, waitMs);
    // Calls that were under way together are refused together, and count once.
    else if (this.#leftMs(traffic) <= 0) this.#hold(stops, backoffMs(this.#refusals[traffic.kind]++));
    return limitError(waitMs ?? this.#leftMs(traffic));
  }

  /** GitHub carried a call out. If it was the last one that was left, none is sent before the budget is renewed. */
  carriedOut({ kind }: Traffic, headers: Headers): void {
    this.#refusals[kind] = 0;
    const spent = spentBudget(headers, Date.now());
    if (spent?.waitMs !== undefined) this.#hold(spent.stops, spent.waitMs);
  }

  #hold(stops: RateLimit["stops"], milliseconds: number): void {
    this.#until[stops] = Math.max(this.#until[stops], Date.now() + milliseconds);
  }

  #leftMs({ graphql }: Traffic): number {
    const { everything, graphql: ofGraphql } = this.#until;
    return Math.max(everything, graphql ? ofGraphql : 0) - Date.now();
  }
}

/** The plugin recognises a limit by these words. Its cause is what callers get if the wait is too long: the job parks. */
function limitError(waitMs: number): Error {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const cause = new AppError(
    "github_rate_limited",
    `GitHub's rate limit is used up for another ${seconds} s`,
    { retryable: true, retryAfterMs: waitMs },
  );
  const response = { status: 429, headers: { "retry-after": String(seconds) }, data: {} };
  return Object.assign(new Error("secondary rate limit", { cause }), { status: 429, response });
}
