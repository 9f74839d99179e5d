/** A planned fault: which request fails, and how. */
export interface Fault {
  /** Matched against "METHOD /path" without `/api/v3`, e.g. /^POST .*\/reviews$/. Git is "GET /owner/name.git/info/refs". */
  match: RegExp;
  /** Which of the matching requests, from 1, or "all". Default 1. */
  nth?: number | "all";
  kind: FaultKind;
}

/** Git requests support the faults before or instead of the answer, not those after the work is done. */
export type FaultKind =
  | { answer: PlannedAnswer }
  /** The same, after the request took effect. */
  | { answerAfter: PlannedAnswer }
  /** A load balancer's answer: 502 and an HTML page. */
  | "bad-gateway"
  /** The same, after the request took effect. */
  | "bad-gateway-after"
  /** The connection breaks before the request takes effect. */
  | "reset-before"
  /** The request takes effect, and the connection breaks before the answer. */
  | "reset-after"
  /** The request takes effect, and half of the JSON arrives. */
  | "truncated"
  /** The request waits for this many milliseconds, or until the promise settles. */
  | { delay: number | Promise<unknown> }
  | { secondaryLimit: 403 | 429; retryAfterSeconds?: number }
  /** No requests left until then. */
  | { primaryLimitUntil: Date };

export interface PlannedAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface FaultAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export class FaultPlan {
  readonly #faults: { fault: Fault; seen: number }[] = [];
  /** Every fault that occurred, as "METHOD /path kind". */
  readonly struck: string[] = [];

  add(...faults: Fault[]): this {
    this.#faults.push(...faults.map((fault) => ({ fault, seen: 0 })));
    return this;
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** The fault for this request, if any. Each request counts once for every fault it matches. */
  next(method: string, path: string): FaultKind | undefined {
    const key = `${method} ${path}`;
    let struck: FaultKind | undefined;
    for (const entry of this.#faults) {
      if (!entry.fault.match.test(key)) continue;
      entry.seen++;
      const nth = entry.fault.nth ?? 1;
      if (!struck && (nth === "all" || nth === entry.seen)) struck = entry.fault.kind;
    }
    if (struck) this.struck.push(`${key} ${typeof struck === "string" ? struck : Object.keys(struck)[0]}`);
    return struck;
  }
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): FaultAnswer => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(body),
});

const answered = ({ status, body, headers }: PlannedAnswer) => json(status, body ?? {}, headers);

const docs = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api";

const badGateway: FaultAnswer = {
  status: 502,
  headers: { "content-type": "text/html" },
  body: "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>",
};

/** The client's answer if the endpoint succeeded and the connection to it failed. */
export function answerAfterFault(kind: FaultKind | undefined): FaultAnswer | undefined {
  if (typeof kind !== "object") return kind === "bad-gateway-after" ? badGateway : undefined;
  return "answerAfter" in kind ? answered(kind.answerAfter) : undefined;
}

/** The answer of a fault that replaces the endpoint; undefined for faults that run the endpoint. */
export function answerOfFault(kind: FaultKind): FaultAnswer | undefined {
  if (kind === "bad-gateway") return badGateway;
  if (typeof kind === "string" || "delay" in kind || "answerAfter" in kind) return undefined;
  if ("answer" in kind) return answered(kind.answer);
  if ("secondaryLimit" in kind) {
    const message =
      "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.";
    const seconds = kind.retryAfterSeconds;
    const headers: Record<string, string> = seconds === undefined ? {} : { "retry-after": String(seconds) };
    return json(
      kind.secondaryLimit,
      { message, documentation_url: `${docs}#about-secondary-rate-limits` },
      headers,
    );
  }
  const reset = String(Math.ceil(kind.primaryLimitUntil.getTime() / 1000));
  const message = "API rate limit exceeded for installation.";
  return json(
    403,
    { message, documentation_url: docs },
    { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset },
  );
}
