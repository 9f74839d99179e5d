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

/** What a failed request shows: the other side is down, or there (it may have refused), or nothing, as after an abort. */
type Verdict = "down" | "there" | "unknown";

interface CircuitOptions {
  name: string;
  judge(error: unknown): Verdict;
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** 0 to 1, for the jitter. */
  random(): number;
  /** Takes one line for the operator. */
  warn(text: string): void;
}

/**
 * Keeps requests away from a model or endpoint that does not answer. Closed, it counts outages in a row. Open, it lets no request through, for
 * a time that grows; then one trial, and another while that hangs. The first success closes it, the first failure opens it again. cockatiel
 * 4.0.0 closes on an aborted trial and cannot open for a pause that a provider asks for; opossum 10.0.0 has one fixed pause.
 */
export class CircuitBreaker {
  readonly #options: CircuitOptions;
  /** Until when it is open, or its trial is waited for; null while it is closed. */
  #until: number | null = null;
  /** Counts openings and closings: requests that began before one have no effect after it. */
  #epoch = 0;
  /** In a row, while it is closed. */
  #outages = 0;
  /** In a row, without an answer in between. */
  #openings = 0;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** Sends a request. Rejects with its error, or with `ModelUnavailable` if the circuit is open or opens because of it. */
  async run<T>(send: () => Promise<T>): Promise<T> {
    const epoch = this.#admit();
    try {
      const answer = await send();
      this.#settle(epoch, "there");
      return answer;
    } catch (error) {
      const verdict = this.#options.judge(error);
      const known = error instanceof AppError ? error : undefined;
      this.#settle(epoch, verdict, known);
      if (verdict !== "down" || this.#until === null || !known) throw error;
      throw new ModelUnavailable(known.message, this.#leftMs(), known);
    }
  }

  #admit(): number {
    if (this.#until !== null) {
      const leftMs = this.#leftMs();
      if (leftMs > 0)
        throw new ModelUnavailable(`${this.#options.name} is paused after repeated failures`, leftMs);
      this.#until = this.#options.now() + TRIAL_MS;
    }
    return this.#epoch;
  }

  #leftMs(): number {
    return Math.max(0, (this.#until ?? 0) - this.#options.now());
  }

  #settle(epoch: number, verdict: Verdict, error?: AppError): void {
    if (epoch !== this.#epoch) return;
    if (verdict === "there") this.#close();
    else if (verdict === "down") this.#count(error);
    // A trial without a result: the next request is one.
    else if (this.#until !== null) this.#until = this.#options.now();
  }

  #close(): void {
    this.#outages = 0;
    this.#openings = 0;
    if (this.#until === null) return;
    this.#until = null;
    this.#epoch += 1;
    this.#options.warn(`${this.#options.name} answers again`);
  }

  #count(error: AppError | undefined): void {
    const { now, warn, name } = this.#options;
    const asked = (error?.retryAfterMs ?? 0) >= LEAST_ASKED_MS ? error?.retryAfterMs : undefined;
    this.#outages += 1;
    if (this.#until === null && this.#outages < OUTAGES && asked === undefined) return;
    const openMs = asked === undefined ? this.#grownMs() : Math.min(asked, MAX_ASKED_MS);
    this.#openings += 1;
    this.#until = now() + openMs;
    this.#epoch += 1;
    warn(`${name} is paused for ${Math.ceil(openMs / 1_000)} s: ${error?.line ?? "it failed"}`);
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

/** For the circuit of one model: it is overloaded, limited, broken or too slow. A lasting refusal, as of a bad key, is an answer. */
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

/**
 * What each request passes on its way to a model: the circuit of the endpoint, which all its models share; the circuit of the model; and the
 * filter of extras.
 */
export function createModelGuard({ onRequest, ...options }: GuardOptions) {
  const endpoints = new Map<string | null, CircuitBreaker>();
  return {
    /**
     * @param baseUrl null is OpenAI's
     * @param key identifies the model in the record of a conversation
     */
    guard(model: EndpointModel, baseUrl: string | null, key: string): EndpointModel {
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

/** A request with only this model's extras and ids of calls: no provider may see, or accepts, the signed data of another one. */
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

function signed(turn: ModelTurn, key: string): ModelTurn {
  const sign = (given: Extras): Extras => ({ of: key, given });
  return {
    ...turn,
    toolCalls: turn.toolCalls.map((call) => (call.extras ? { ...call, extras: sign(call.extras) } : call)),
    ...(turn.extras || turn.toolCalls.length > 0 ? { extras: sign(turn.extras ?? {}) } : {}),
  };
}
