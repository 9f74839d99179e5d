/** Response headers as octokit hands them out: lower-case names. */
export type Headers = Record<string, string | number | undefined>;

/** Without a word of GitHub: a minute, then exponentially longer ("Best practices for using the REST API"). */
const secondaryWaitMs = 60_000;

/** A reset is given in whole seconds; coming back a moment too early costs another refusal. */
const resetMarginMs = 1_000;

export interface Refusal {
  status: number;
  headers: Headers;
  /** GitHub's own message. */
  message: string;
}

/**
 * How long to wait when the answer is a rate limit, primary or secondary; undefined when it is something else.
 * `earlier` counts the limits already met by the same call.
 */
export function rateLimitWait(refusal: Refusal, now: number, earlier: number): number | undefined {
  if (refusal.status !== 403 && refusal.status !== 429) return undefined;
  const told = secondsOf(refusal.headers["retry-after"]);
  if (told !== undefined) return told * 1_000;
  const reset = untilReset(refusal.headers, now);
  if (reset !== undefined) return reset;
  const secondary = refusal.status === 429 || /secondary rate limit|abuse detection/i.test(refusal.message);
  return secondary ? secondaryWaitMs * 2 ** earlier : undefined;
}

/**
 * Milliseconds until the primary limit is renewed; undefined while requests are left or GitHub does not say. GraphQL has a
 * budget of its own, and when that is used up the REST API goes on.
 */
export function untilReset(headers: Headers, now: number): number | undefined {
  if ((headers["x-ratelimit-resource"] ?? "core") !== "core") return undefined;
  if (secondsOf(headers["x-ratelimit-remaining"]) !== 0) return undefined;
  const reset = secondsOf(headers["x-ratelimit-reset"]);
  if (reset === undefined) return undefined;
  // Both times are GitHub's where it tells its own, so a wrong clock here does not matter.
  const theirs = Date.parse(String(headers.date ?? ""));
  const reference = Number.isNaN(theirs) ? now : theirs;
  return Math.max(0, reset * 1_000 - reference) + resetMarginMs;
}

function secondsOf(value: string | number | undefined): number | undefined {
  const text = String(value ?? "").trim();
  return /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}
