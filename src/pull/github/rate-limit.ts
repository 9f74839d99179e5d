import type { RetryOptions } from "@octokit/plugin-retry";
import type { ThrottlingOptions } from "@octokit/plugin-throttling";
import Bottleneck from "bottleneck";
import { AppError } from "../../core/errors.ts";

/*
 * `@octokit/plugin-throttling` spaces writes, and waits and sends again after a limit; `@octokit/plugin-retry` repeats reads after a fault.
 * This module adds what they lack. test/pull/github/rate-limit.test.ts shows each point:
 *
 * - Limits that the throttling plugin does not recognize: 403 with `Retry-After` and other words, those of GraphQL on an enterprise
 *   server, and reset times if the clock here is wrong ("a limit that the throttling plugin alone does not obey").
 * - A hold: after a refusal the plugin goes on sending other requests, which prolongs a limit ("A limit holds every other call").
 * - Backoff if GitHub does not say how long: the plugin always waits one minute ("The wait without a given time doubles up to an hour").
 * - An end to waiting: the plugins know no abort, and wait for up to an hour ("a call that waits in a plugin").
 * - A clock that is set back: Bottleneck waits until it has caught up ("a clock that is set back by an hour").
 *
 * Another process learns of a limit from one refusal: nothing is lost or done twice (test/pull/publish/publish-within-limits).
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
/** A reset time is in whole seconds; a call that is sent a moment too early costs another refusal. */
const resetMarginMs = 1_000;
/** For a longer wait, the job is parked, so that its worker is free. */
const longestWaitMs = 60_000;
/** How often one call waits for a limit. */
const mostLimitWaits = 3;

export interface Refusal {
  status: number;
  headers: Headers;
  /** GitHub's own message. */
  message: string;
}

interface RateLimit {
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

/** Wait in milliseconds after this many refusals in a row that did not say how long. */
export function backoffMs(earlier: number): number {
  return Math.min(secondaryWaitMs * 2 ** earlier, longestHoldMs);
}

/** An exhausted budget, until it is renewed; undefined while requests are left or GitHub does not say. */
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

/** The limit that an answer reports. */
export interface RateLimitSeen {
  /** GitHub's name of the budget: "core", "graphql" ... */
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

/** The plugin's queues, one of each kind for each installation; without these it has some that all clients of the process share. */
function createGroups(gapMs: number) {
  const group = (maxConcurrent: number, minTime = 0) => new Bottleneck.Group({ maxConcurrent, minTime });
  return {
    global: group(10),
    auth: group(1),
    search: group(1, 2_000),
    write: group(1, gapMs),
    // The plugin would delay writes that notify people a second time. Then another write could follow them at once, because both kinds
    // wait apart from each other. One gap is enough: it keeps a process below 80 creations a minute.
    notifications: group(1),
  };
}

/** The limits of each installation as this process knows them. */
export type RateLimiter = (installation: number) => InstallationLimits;

/**
 * Create one per process: clients of one installation have to share their limits.
 * @param options.gapMs time between two writes for one installation
 */
export function createRateLimiter({ gapMs = 1_000 }: { gapMs?: number } = {}): RateLimiter {
  const installations = new Map<number, InstallationLimits>();
  let groups = createGroups(gapMs);
  let lastAt = Date.now();
  return (installation) => {
    // Bottleneck waits until a clock that was set back has caught up. A job that waits meets its deadline; the next ones do not wait.
    if (Date.now() < lastAt) {
      groups = createGroups(gapMs);
      installations.clear();
    }
    lastAt = Date.now();
    const known = installations.get(installation);
    if (known) return known;
    const onSecondaryRateLimit = (seconds: number, _options: unknown, _octokit: unknown, waits: number) =>
      seconds * 1_000 <= longestWaitMs && waits < mostLimitWaits;
    const made = new InstallationLimits({
      throttle: {
        id: String(installation),
        ...groups,
        // `limitError` turns both into a secondary limit, whose wait does not depend on this machine's clock.
        onSecondaryRateLimit,
        onRateLimit: onSecondaryRateLimit,
      },
      // Three times: after half a second, two and four and a half.
      retry: { retries: 3, doNotRetry: refusals, retryAfterBaseValue: 500 },
    });
    installations.set(installation, made);
    return made;
  };
}

/** Statuses that are no fault of the server or the connection. 408 is one. */
const refusals = Array.from({ length: 100 }, (_, at) => 400 + at).filter((status) => status !== 408);

/** The times until which nothing may be sent for one installation. */
export class InstallationLimits {
  /** Options for the plugins of octokit. */
  readonly plugins: { throttle: ThrottlingOptions; retry: RetryOptions };
  readonly #until = { everything: 0, graphql: 0 };
  /** Refusals in a row that did not say how long to wait. A read that succeeds says nothing about writes. */
  readonly #refusals = { read: 0, write: 0 };

  constructor(plugins: InstallationLimits["plugins"]) {
    this.plugins = plugins;
  }

  /** Throws the error that makes the plugin wait, while such a call may not be sent. */
  check(traffic: Traffic): void {
    const waitMs = this.#leftMs(traffic);
    if (waitMs > 0) throw limitError(waitMs);
  }

  /** GitHub refused a call: no other is sent before this one may be repeated. Returns the error that makes the plugin wait. */
  refused(traffic: Traffic, { waitMs, stops }: RateLimit): Error {
    if (waitMs !== undefined) this.#hold(stops, waitMs);
    // Concurrent calls are refused together, and count once.
    else if (this.#leftMs(traffic) <= 0) this.#hold(stops, backoffMs(this.#refusals[traffic.kind]++));
    return limitError(waitMs ?? this.#leftMs(traffic));
  }

  /** GitHub carried a call out. If it was the last one of the budget, none is sent before the budget is renewed. */
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

/** The plugin recognizes a limit by these words. Callers get the cause if the wait is too long: the job is parked. */
function limitError(waitMs: number): Error {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const cause = new AppError(
    "github_rate_limited",
    `GitHub's rate limit is used up for the next ${seconds} s`,
    { retryable: true, retryAfterMs: waitMs },
  );
  const response = { status: 429, headers: { "retry-after": String(seconds) }, data: {} };
  return Object.assign(new Error("secondary rate limit", { cause }), { status: 429, response });
}
