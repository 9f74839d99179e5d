import { AppError } from "../errors.ts";
import type { AdaptiveModel } from "./adaptive-model.ts";
import { isAborted, ModelAbsent } from "./faults.ts";
import type { Message, ModelRequest } from "./model.ts";

/** Characters of JSON that one token stands for at least, over a whole request; code has about three and a half. */
const CHARACTERS_A_TOKEN = 3;
/** Part of its window that an answer may have. */
const ANSWER_SHARE = 1 / 4;

/**
 * A model for which another one answers while it is overloaded, limited, unreachable or absent, after its own retries; with
 * its circuit open, at once. The other one is found out when it is first needed, and asked nothing that its window has no room
 * for. Its facts are those of the first, for a review is planned by them. `warn` takes one line for whoever operates this.
 */
export function withFallback(
  first: AdaptiveModel,
  fallback: AdaptiveModel,
  warn: (text: string) => void,
): AdaptiveModel {
  let standsIn = false;

  async function instead(request: ModelRequest, signal: AbortSignal, fault: AppError) {
    await fallback.ready(signal);
    const fitting = fitted(request, fallback.contextTokens);
    if (!fitting) throw fault;
    const turn = await fallback.respond(fitting, signal).catch((second: unknown) => {
      throw worthTelling(fault, second);
    });
    if (!standsIn) warn(`${fallback.name} stands in for ${first.name}: ${fault.line}`);
    standsIn = true;
    return fallback.name === first.name
      ? turn
      : { ...turn, usage: { ...turn.usage, answeredBy: fallback.name } };
  }

  return {
    name: first.name,
    get contextTokens() {
      return first.contextTokens;
    },
    get protocol() {
      return first.protocol;
    },
    costOf: (usage) => first.costOf?.(usage) ?? null,
    ready: (signal) => first.ready(signal),
    async respond(request, signal) {
      try {
        const turn = await first.respond(request, signal);
        standsIn = false;
        return turn;
      } catch (fault) {
        if (!mayStandIn(fault)) throw fault;
        return instead(request, signal, fault);
      }
    },
  };
}

/** A refused key or request is a mistake that somebody has to see; a used-up quota is one that another account has not. */
const mayStandIn = (fault: unknown): fault is AppError =>
  fault instanceof AppError &&
  !isAborted(fault) &&
  (fault.retryable || fault.code === "model_rate_limited" || fault instanceof ModelAbsent);

/** Of two faults the one that passes, and passes sooner. */
function worthTelling(fault: AppError, second: unknown): unknown {
  if (!(second instanceof AppError) || isAborted(second)) return second;
  if (!second.retryable) return fault;
  if (!fault.retryable) return second;
  return (second.retryAfterMs ?? Infinity) < (fault.retryAfterMs ?? 0) ? second : fault;
}

/** The request with an answer of a length that the window has room for; null where the prompt alone has none. */
function fitted(request: ModelRequest, contextTokens: number): ModelRequest | null {
  const maxOutputTokens = Math.min(request.maxOutputTokens, Math.floor(contextTokens * ANSWER_SHARE));
  const characters = JSON.stringify([request.messages.map(withoutExtras), request.tools]).length;
  const isTooLong = characters / CHARACTERS_A_TOKEN + maxOutputTokens > contextTokens;
  return isTooLong ? null : { ...request, maxOutputTokens };
}

/** They are another model's, and not sent. */
function withoutExtras(message: Message): unknown {
  if (message.role !== "assistant") return message;
  const toolCalls = message.toolCalls.map(({ name, arguments: given }) => [name, given]);
  return [message.content, toolCalls];
}
