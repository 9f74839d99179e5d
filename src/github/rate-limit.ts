import { AppError } from "../errors.ts";

/** Response headers as octokit hands them out: lower-case names. */
export type Headers = Record<string, string | number | undefined>;

/** Without a word of GitHub: a minute, then exponentially longer ("Best practices for using the REST API"). */
const secondaryWaitMs = 60_000;
/** A primary limit is renewed after an hour, and no secondary one is known to last longer: then one call asks whether it still holds. */
const longestHoldMs = 3_600_000;

/** A reset is given in whole seconds; coming back a moment too early costs another refusal. */
const resetMarginMs = 1_000;

/** A wait up to this long is sat out; beyond it the job gives up its worker and comes back. */
export const longestWaitMs = 60_000;

export interface Refusal {
  status: number;
  headers: Headers;
  /** GitHub's own message. */
  message: string;
}

export interface RateLimit {
  /** How long GitHub said to wait, in milliseconds, an hour at most; undefined when it did not say. */
  waitMs: number | undefined;
  /** GraphQL has a budget of its own, and when that is used up the REST API goes on. */
  stops: "everything" | "graphql";
}

/** The limit that an answer tells of, primary or secondary; undefined when it is something else. */
export function rateLimitOf(refusal: Refusal, now: number): RateLimit | undefined {
  if (refusal.status !== 403 && refusal.status !== 429) return undefined;
  const told = wholeNumber(refusal.headers["retry-after"]);
  if (told !== undefined) return { waitMs: Math.min(told * 1_000, longestHoldMs), stops: "everything" };
  const spent = spentBudget(refusal.headers, now);
  if (spent !== undefined) return spent;
  const secondary = refusal.status === 429 || /secondary rate limit|abuse detection/i.test(refusal.message);
  return secondary ? { waitMs: undefined, stops: "everything" } : undefined;
}

/** How long to wait where GitHub does not say, after so many such refusals in a row. */
export function untoldWait(earlier: number): number {
  return Math.min(secondaryWaitMs * 2 ** earlier, longestHoldMs);
}

/** The budget of which nothing is left, until it is renewed; undefined while requests are left or GitHub does not say. */
export function spentBudget(headers: Headers, now: number): RateLimit | undefined {
  const resource = headers["x-ratelimit-resource"] ?? "core";
  if (resource !== "core" && resource !== "graphql") return undefined;
  if (wholeNumber(headers["x-ratelimit-remaining"]) !== 0) return undefined;
  const reset = wholeNumber(headers["x-ratelimit-reset"]);
  if (reset === undefined) return undefined;
  // Both times are GitHub's where it tells its own, so a wrong clock here does not matter.
  const theirs = Date.parse(String(headers.date ?? ""));
  const reference = Number.isNaN(theirs) ? now : theirs;
  const leftMs = Math.min(Math.max(0, reset * 1_000 - reference), longestHoldMs);
  return { waitMs: leftMs + resetMarginMs, stops: resource === "core" ? "everything" : "graphql" };
}

/** What an answer says of the limit that it counts against. */
export interface RateLimitSeen {
  /** GitHub's word for what is counted together: "core", "graphql" ... */
  resource: string;
  remaining: number;
  /** When it is renewed, in milliseconds since the epoch. */
  resetAt: number;
}

/** Undefined where the answer does not say. */
export function rateLimitSeen(headers: Headers): RateLimitSeen | undefined {
  const remaining = wholeNumber(headers["x-ratelimit-remaining"]);
  const reset = wholeNumber(headers["x-ratelimit-reset"]);
  if (remaining === undefined || reset === undefined) return undefined;
  return { resource: String(headers["x-ratelimit-resource"] ?? "core"), remaining, resetAt: reset * 1_000 };
}

/** For whoever has to come back later; a job that fails with it parks, and no attempt is counted. */
export function rateLimited(waitMs: number): AppError {
  return new AppError(
    "github_rate_limited",
    `GitHub's rate limit is used up for another ${Math.ceil(waitMs / 1_000)} s`,
    { retryable: true, retryAfterMs: waitMs },
  );
}

function wholeNumber(value: string | number | undefined): number | undefined {
  const text = String(value ?? "").trim();
  return /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}
