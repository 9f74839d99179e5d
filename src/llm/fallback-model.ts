import { AppError } from "../errors.ts";
import type { AdaptiveModel } from "./adaptive-model.ts";
import { isAborted, type Message, ModelAbsent, type ModelRequest } from "./model.ts";

/** Characters of JSON per token, at least, over a whole request; code has about three and a half. */
const CHARACTERS_A_TOKEN = 3;
/** Part of its window that an answer may have. */
const ANSWER_SHARE = 1 / 4;

/**
 * A model with a fallback, which answers while the model is overloaded, limited, unreachable or absent: after the model's own
 * retries, or at once if its circuit is open. The fallback is probed when it is first needed, and gets no request that is too long
 * for its window. Name, window and protocol are those of the first model, by which a review is planned. `warn` takes one line for the
 * operator.
 */
export function withFallback(
  first: AdaptiveModel,
  fallback: AdaptiveModel,
  warn: (text: string) => void,
): AdaptiveModel {
  let isUsed = false;

  async function instead(request: ModelRequest, signal: AbortSignal, error: AppError) {
    await fallback.ready(signal);
    const shorter = fitted(request, fallback.contextTokens);
    if (!shorter) throw error;
    const turn = await fallback.respond(shorter, signal).catch((second: unknown) => {
      throw toReport(error, second);
    });
    if (!isUsed) warn(`${fallback.name} stands in for ${first.name}: ${error.line}`);
    isUsed = true;
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
        isUsed = false;
        return turn;
      } catch (error) {
        if (!mayFallBack(error)) throw error;
        return instead(request, signal, error);
      }
    },
  };
}

/** A refused key or request is a mistake that a person must correct. An exhausted quota is not: another account may have one. */
const mayFallBack = (error: unknown): error is AppError =>
  error instanceof AppError &&
  !isAborted(error) &&
  (error.retryable || error.code === "model_rate_limited" || error instanceof ModelAbsent);

/** Of two errors the one that passes, and passes sooner. */
function toReport(error: AppError, second: unknown): unknown {
  if (!(second instanceof AppError) || isAborted(second)) return second;
  if (!second.retryable) return error;
  if (!error.retryable) return second;
  return (second.retryAfterMs ?? Infinity) < (error.retryAfterMs ?? 0) ? second : error;
}

/** The request with an answer that fits into the window; null if the prompt does not. */
function fitted(request: ModelRequest, contextTokens: number): ModelRequest | null {
  const maxOutputTokens = Math.min(request.maxOutputTokens, Math.floor(contextTokens * ANSWER_SHARE));
  const characters = JSON.stringify([request.messages.map(withoutExtras), request.tools]).length;
  const isTooLong = characters / CHARACTERS_A_TOKEN + maxOutputTokens > contextTokens;
  return isTooLong ? null : { ...request, maxOutputTokens };
}

/** They belong to another model, and are not sent. */
function withoutExtras(message: Message): unknown {
  if (message.role !== "assistant") return message;
  const toolCalls = message.toolCalls.map(({ name, arguments: given }) => [name, given]);
  return [message.content, toolCalls];
}
