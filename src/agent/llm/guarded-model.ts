import { AppError, type ErrorCode } from "../../core/errors.ts";
import { withUniqueIds } from "./answer.ts";
import { isObject } from "./lenient-json.ts";
import {
  type EndpointModel,
  EndpointUnreachable,
  type Extras,
  isAborted,
  type Message,
  type ModelRequest,
  type ModelTurn,
  ModelUnavailable,
  type Usage,
} from "./model.ts";
import { idsOf, isShortId, withShortIds } from "./request.ts";

/** This many outages in a row open a circuit. Each of them had its retries. */
const OUTAGES = 3;
/** How long a circuit is open at first. Doubles each time its trial request fails. */
const FIRST_OPEN_MS = 15_000;
const MAX_OPEN_MS = 300_000;
/** Minimum and maximum pause that a provider can request; after an hour a trial request checks whether it still applies. */
const LEAST_ASKED_MS = 1_000;
const MAX_ASKED_MS = 3_600_000;
/** After this time a second trial is let through: the first may hang for minutes. */
const TRIAL_MS = 15_000;

/**
 * What a failed request shows about the guarded model or endpoint: it is down, it is there (even if it refused), or nothing, for example
 * because the request was aborted.
 */
type Verdict = "down" | "there" | "unknown";

interface CircuitOptions {
  /** Name of the guarded model or endpoint for messages. */
  name: string;
  judge(error: unknown): Verdict;
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** 0 to 1, for the jitter. */
  random(): number;
  /** Takes one line for the operator. */
  warn(text: string): void;
}

type State =
  | { kind: "closed"; outages: number }
  | { kind: "open"; until: number }
  /** A trial request is running and decides. From `until` on, one more may start. */
  | { kind: "half_open"; until: number };

/**
 * Keeps requests away from a model or endpoint that does not answer. Closed, it lets all requests through and counts outages in a row.
 * Open, it lets none through, for a time that grows. Half open, it lets one trial through, and another one while that hangs: the first
 * success closes the circuit, the first failure opens it again. Requests that began before a change of state have no effect after it.
 *
 * Why not a library: in cockatiel 4.0.0 an aborted trial closes the circuit, all other callers wait for a trial without a limit and even if
 * they are aborted, and a pause that a provider requests cannot open it. opossum 10.0.0 has one fixed pause.
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
   * Sends a request, unless the circuit is open. Rejects with the error of `send`, or with `ModelUnavailable` if the circuit is open, or
   * opens because of this request.
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

  #settle(admitted: State, verdict: Verdict, error?: AppError): void {
    if (this.#state !== admitted || admitted.kind === "open") return;
    if (verdict === "there") this.#close(admitted);
    else if (verdict === "down") this.#count(admitted, error);
    // No result: the next request is the trial.
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

  #count(admitted: State, error: AppError | undefined): void {
    const asked = (error?.retryAfterMs ?? 0) >= LEAST_ASKED_MS ? error?.retryAfterMs : undefined;
    if (admitted.kind === "closed") {
      admitted.outages += 1;
      if (admitted.outages < OUTAGES && asked === undefined) return;
    }
    const openMs = asked === undefined ? this.#grownMs() : Math.min(asked, MAX_ASKED_MS);
    this.#openings += 1;
    this.#state = { kind: "open", until: this.#options.now() + openMs };
    const seconds = Math.ceil(openMs / 1_000);
    this.#options.warn(`${this.#options.name} is paused for ${seconds} s: ${error?.line ?? "it failed"}`);
  }

  /** Jitter of a quarter, so that several processes do not return at the same moment. */
  #grownMs(): number {
    const full = Math.min(FIRST_OPEN_MS * 2 ** this.#openings, MAX_OPEN_MS);
    return Math.round(full * (0.75 + this.#options.random() / 4));
  }
}

/** For the circuit of an endpoint: only requests that never arrived count. A request that hung says nothing about others. */
export function judgeEndpoint(error: unknown): Verdict {
  if (error instanceof EndpointUnreachable) return "down";
  return isAnswer(error) ? "there" : "unknown";
}

/**
 * For the circuit of one model at its endpoint: it is overloaded, limited, broken or too slow. Refusals that do not change over time (a bad
 * key, a bad request) are answers.
 */
export function judgeModel(error: unknown): Verdict {
  if (error instanceof EndpointUnreachable || !isAnswer(error)) return "unknown";
  return error instanceof AppError && error.retryable ? "down" : "there";
}

/** False for an abort, for a request that was never sent, and for errors of ours. */
const isAnswer = (error: unknown): boolean =>
  error instanceof AppError && !isAborted(error) && !(error instanceof ModelUnavailable);

/** The result of a request: its usage, or its error code. */
export type RequestEnd = { usage: Usage } | { failed: ErrorCode };

interface GuardOptions extends Pick<CircuitOptions, "now" | "random" | "warn"> {
  /** Called at the end of each request, probes included. Errors of ours count as `model_failed`. */
  onRequest(model: string, end: RequestEnd): void;
}

export interface ModelGuard {
  /**
   * The model for use in a review. A base URL of null is OpenAI's.
   *
   * @param key identifies the model, and is stored in the record of the conversation
   */
  guard(model: EndpointModel, baseUrl: string | null, key: string): EndpointModel;
}

/**
 * The guards that each request of this process passes on its way to a model, in this order: the circuit of the endpoint, shared by all its
 * models, because an unreachable endpoint should be detected once; the circuit of the model, because an overloaded model says nothing about
 * the others there, one of which may be its fallback; and the filter of extras. Reports the result of each request.
 */
export function createModelGuard({ onRequest, ...options }: GuardOptions): ModelGuard {
  const endpoints = new Map<string | null, CircuitBreaker>();
  return {
    guard(model, baseUrl, key) {
      // Neither path nor query: they may hold a key.
      const host = URL.parse(baseUrl ?? "")?.host ?? "OpenAI";
      const endpoint =
        endpoints.get(baseUrl) ??
        new CircuitBreaker({ ...options, name: `The model endpoint at ${host}`, judge: judgeEndpoint });
      endpoints.set(baseUrl, endpoint);
      const name = `The model "${model.name}" at ${host}`;
      const circuit = new CircuitBreaker({ ...options, name, judge: judgeModel });
      return {
        ...model,
        async respond(request, signal) {
          try {
            const turn = await endpoint.run(() =>
              circuit.run(() => model.respond(asOwn(request, key), signal)),
            );
            onRequest(model.name, { usage: turn.usage });
            // The ids of another model's calls are not in the request that this model was sent.
            const toolCalls = withUniqueIds(turn.toolCalls, idsOf(request));
            return signed({ ...turn, toolCalls }, key);
          } catch (error) {
            onRequest(model.name, { failed: error instanceof AppError ? error.code : "model_failed" });
            throw error;
          }
        },
      };
    },
  };
}

/**
 * A request with only this model's extras: a conversation may have turns of several models, and no provider may see, or would accept,
 * another one's signed or encrypted data. Nor do all accept another one's ids of calls.
 */
function asOwn(request: ModelRequest, key: string): ModelRequest {
  const own = (extras: Extras | undefined) =>
    extras?.of === key && isObject(extras.given) && Object.keys(extras.given).length > 0
      ? extras.given
      : undefined;
  const isOther = (id: string, { extras }: Turn) =>
    !isShortId(id) && extras !== undefined && extras.of !== key;
  const messages = withShortIds(request.messages, isOther).map((message): Message => {
    if (message.role !== "assistant") return message;
    const toolCalls = message.toolCalls.map((call) =>
      call.extras ? { ...call, extras: own(call.extras) } : call,
    );
    return { ...message, toolCalls, extras: own(message.extras) };
  });
  return { ...request, messages };
}

type Turn = Extract<Message, { role: "assistant" }>;

/** A turn that names the model whose extras and calls it has. */
function signed(turn: ModelTurn, key: string): ModelTurn {
  const sign = (given: Extras): Extras => ({ of: key, given });
  return {
    ...turn,
    toolCalls: turn.toolCalls.map((call) => (call.extras ? { ...call, extras: sign(call.extras) } : call)),
    ...(turn.extras || turn.toolCalls.length > 0 ? { extras: sign(turn.extras ?? {}) } : {}),
  };
}
