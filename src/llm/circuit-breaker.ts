import { AppError } from "../errors.ts";
import { EndpointUnreachable, isAborted, ModelUnavailable } from "./faults.ts";

/** So many outages in a row open a circuit. Each of them has had its retries. */
const OUTAGES = 3;
/** How long a circuit is open first; doubles each time that the request it then lets through fails as well. */
const FIRST_OPEN_MS = 15_000;
const MAX_OPEN_MS = 300_000;
/** The least and the longest pause that a provider is granted; after an hour one request asks whether it still holds. */
const LEAST_ASKED_MS = 1_000;
const MAX_ASKED_MS = 3_600_000;
/** So long the one request that was let through decides alone: one may hang for minutes that others would not need. */
const TRIAL_MS = 15_000;

/**
 * What a request that failed says of what a circuit guards: it is down, it is there (whatever it refused), or nothing, as when
 * the request was aborted.
 */
export type Verdict = "down" | "there" | "unknown";

export interface CircuitOptions {
  /** What it guards, as messages name it. */
  name: string;
  judge(fault: unknown): Verdict;
  /** Milliseconds of a clock that only goes forward. */
  now(): number;
  /** 0 to 1, for the jitter. */
  random(): number;
  /** Takes one line for whoever operates this. */
  warn(text: string): void;
}

type State =
  | { kind: "closed"; outages: number }
  | { kind: "open"; until: number }
  /** A request is under way, and decides; from `until` on, one more that may as well. */
  | { kind: "half_open"; until: number };

/**
 * Keeps requests away from what does not answer, so that neither side waits for retries that fail. Closed, it lets all through
 * and counts outages in a row. Open, it lets none through, for a time that grows. Then it lets one through, and another one
 * while that hangs: the first success closes the circuit, the first failure opens it again. Requests that began before a change of state decide nothing after it.
 */
export class CircuitBreaker {
  readonly #options: CircuitOptions;
  #state: State = { kind: "closed", outages: 0 };
  /** Openings in a row without an answer in between. */
  #openings = 0;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /**
   * Sends a request, unless the circuit is open. Rejects with what `send` rejects with, or with `ModelUnavailable` where the
   * circuit is open, then or because of it.
   */
  async run<T>(send: () => Promise<T>): Promise<T> {
    const admitted = this.#admit();
    try {
      const answer = await send();
      this.#settle(admitted, "there");
      return answer;
    } catch (error) {
      const verdict = this.#options.judge(error);
      this.#settle(admitted, verdict, error instanceof AppError ? error : undefined);
      if (verdict !== "down" || this.#state.kind === "closed" || !(error instanceof AppError)) throw error;
      throw new ModelUnavailable(error.message, this.#leftMs(this.#state), error);
    }
  }

  #admit(): State {
    const state = this.#state;
    if (state.kind === "closed") return state;
    const leftMs = this.#leftMs(state);
    if (leftMs > 0)
      throw new ModelUnavailable(`${this.#options.name} is paused after repeated failures`, leftMs);
    const until = this.#options.now() + TRIAL_MS;
    if (state.kind === "half_open") state.until = until;
    else this.#state = { kind: "half_open", until };
    return this.#state;
  }

  #leftMs({ until }: Exclude<State, { kind: "closed" }>): number {
    return Math.max(0, until - this.#options.now());
  }

  #settle(admitted: State, verdict: Verdict, fault?: AppError): void {
    if (this.#state !== admitted || admitted.kind === "open") return;
    if (verdict === "there") this.#close(admitted);
    else if (verdict === "down") this.#count(admitted, fault);
    // Nothing was learned: the next request is let through in its place.
    else if (admitted.kind === "half_open") this.#state = { kind: "open", until: this.#options.now() };
  }

  #close(admitted: Exclude<State, { kind: "open" }>): void {
    this.#openings = 0;
    if (admitted.kind === "closed") {
      admitted.outages = 0;
      return;
    }
    this.#options.warn(`${this.#options.name} answers again`);
    this.#state = { kind: "closed", outages: 0 };
  }

  #count(admitted: State, fault: AppError | undefined): void {
    const asked = (fault?.retryAfterMs ?? 0) >= LEAST_ASKED_MS ? fault?.retryAfterMs : undefined;
    if (admitted.kind === "closed") {
      admitted.outages += 1;
      if (admitted.outages < OUTAGES && asked === undefined) return;
    }
    const openMs = asked === undefined ? this.#grownMs() : Math.min(asked, MAX_ASKED_MS);
    this.#openings += 1;
    this.#state = { kind: "open", until: this.#options.now() + openMs };
    const seconds = Math.ceil(openMs / 1_000);
    this.#options.warn(`${this.#options.name} is paused for ${seconds} s: ${fault?.line ?? "it failed"}`);
  }

  /** Jitter of a quarter: several processes shall not come back in the same moment. */
  #grownMs(): number {
    const full = Math.min(FIRST_OPEN_MS * 2 ** this.#openings, MAX_OPEN_MS);
    return Math.round(full * (0.75 + this.#options.random() / 4));
  }
}

/** For the circuit of an endpoint: only what never got there counts. Other requests may fare better than one that hung. */
export function judgeEndpoint(fault: unknown): Verdict {
  if (fault instanceof EndpointUnreachable) return "down";
  return says(fault) ? "there" : "unknown";
}

/**
 * For the circuit of one model at its endpoint: it is overloaded, limited, broken or too slow. Refusals that waiting does not
 * help with (a bad key, a bad request) were answers.
 */
export function judgeModel(fault: unknown): Verdict {
  if (fault instanceof EndpointUnreachable || !says(fault)) return "unknown";
  return fault instanceof AppError && fault.retryable ? "down" : "there";
}

/** False for an abort, for what was never sent, and for faults of ours. */
const says = (fault: unknown): boolean =>
  fault instanceof AppError && !isAborted(fault) && !(fault instanceof ModelUnavailable);
