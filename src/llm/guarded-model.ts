import { AppError, type ErrorCode } from "../errors.ts";
import { CircuitBreaker, type CircuitOptions, judgeEndpoint, judgeModel } from "./circuit-breaker.ts";
import { isObject } from "./lenient-json.ts";
import type { EndpointModel, Extras, Message, ModelRequest, ModelTurn, Usage } from "./model.ts";

/** How a request ended: what it used, or the code it failed with. */
export type RequestEnd = { usage: Usage } | { failed: ErrorCode };

export interface GuardOptions extends Pick<CircuitOptions, "now" | "random" | "warn"> {
  /** Called at the end of each request, probes included. Errors of ours count as `model_failed`. */
  onRequest(model: string, end: RequestEnd): void;
}

export interface ModelGuard {
  /**
   * The model as a review may ask it. A base URL of null is OpenAI's.
   *
   * @param key tells models apart, and stays in the record of the conversation
   */
  guard(model: EndpointModel, baseUrl: string | null, key: string): EndpointModel;
}

/**
 * What each request of this process passes through on its way to a model, in this order: the circuit of the endpoint, which all its
 * models share, because an unreachable endpoint should be found out once; the circuit of the model, because an overloaded model says
 * nothing about the others there, one of which may be its fallback; and the filter of extras. How the request ended is reported.
 */
export function createModelGuard({ onRequest, ...options }: GuardOptions): ModelGuard {
  const endpoints = new Map<string | null, CircuitBreaker>();
  return {
    guard(model, baseUrl, key) {
      // Neither path nor query: they may hold a key.
      const host = URL.parse(baseUrl ?? "")?.host ?? "OpenAI";
      const endpoint =
        endpoints.get(baseUrl) ??
        new CircuitBreaker({ ...options, name: `The endpoint at ${host}`, judge: judgeEndpoint });
      endpoints.set(baseUrl, endpoint);
      const name = `The model "${model.name}" at ${host}`;
      const circuit = new CircuitBreaker({ ...options, name, judge: judgeModel });
      return {
        ...model,
        async respond(request, signal) {
          try {
            const turn = await endpoint.run(() =>
              circuit.run(() => model.respond(withOwnExtras(request, key), signal)),
            );
            onRequest(model.name, { usage: turn.usage });
            return withSignedExtras(turn, key);
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
 * A request with only those extras that this model gave: a conversation may have turns of several models, and no provider may see,
 * or would accept, what another one signed or encrypted. Extras without a key come from the record of an older version, and are
 * left out.
 */
function withOwnExtras(request: ModelRequest, key: string): ModelRequest {
  const own = (extras: Extras | undefined) =>
    extras?.of === key && isObject(extras.given) ? extras.given : undefined;
  const messages = request.messages.map((message): Message => {
    if (message.role !== "assistant") return message;
    const toolCalls = message.toolCalls.map((call) =>
      call.extras ? { ...call, extras: own(call.extras) } : call,
    );
    return { ...message, toolCalls, extras: own(message.extras) };
  });
  return { ...request, messages };
}

/** A turn whose extras name the model that gave them. */
function withSignedExtras(turn: ModelTurn, key: string): ModelTurn {
  const sign = (given: Extras): Extras => ({ of: key, given });
  return {
    ...turn,
    toolCalls: turn.toolCalls.map((call) => (call.extras ? { ...call, extras: sign(call.extras) } : call)),
    ...(turn.extras ? { extras: sign(turn.extras) } : {}),
  };
}
