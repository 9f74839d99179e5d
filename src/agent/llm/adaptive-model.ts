import { unlessAborted } from "../../core/async.ts";
import { AppError, asValue } from "../../core/errors.ts";
import { readStrict } from "./lenient-json.ts";
import {
  abortedError,
  type EndpointModel,
  isAborted,
  lasting,
  type Message,
  type Model,
  ModelAbsent,
  type ModelRequest,
  type ModelTurn,
  ModelUnavailable,
  type Protocol,
  type ToolDefinition,
  ToolsRefused,
} from "./model.ts";
import {
  type Ability,
  abilityOf,
  type KnownModels,
  probeModel,
  protocolFor,
  windowTooSmall,
} from "./probe.ts";
import { withCallsInText, withTextProtocol } from "./text-fallback.ts";

export interface AdaptiveOptions {
  /** The model behind its API. */
  native: EndpointModel;
  /** "auto" probes the model's abilities. */
  protocol: Protocol | "auto";
  /** True if a person set the size of the context window: it then overrides the endpoint's value. */
  contextIsConfigured: boolean;
  /** With "auto", a model whose endpoint reports a smaller window is not used. */
  leastContextTokens: number;
  tools?(): Promise<readonly ToolDefinition[]>;
  /** The name under which `known` stores the probe's result. */
  key: string;
  known: KnownModels;
  /** For a process that ends after its requests: a failed probe is not repeated, and each request rejects with its error instead of a warning. */
  forOneRun?: boolean;
  onProbe?: (model: string) => void;
  /** Takes one line for the operator. */
  warn(text: string): void;
}

/** A model that is asked in a protocol that it supports. `ready`, and a refusal of tools, may change its facts. */
export interface AdaptiveModel extends Model {
  /** Resolves when the model's abilities are known; probes it if there is no recent result. Rejects only if aborted. */
  ready(signal: AbortSignal): Promise<void>;
}

/** For a whole probe: a local server may have to load the model first. */
const PROBE_MS = 120_000;

/** A model in the configured protocol, or the best that a probe finds. Rejects with `model_refused` while a probe finds too small a window. */
export function createAdaptiveModel(options: AdaptiveOptions): AdaptiveModel {
  const { native, known, key, leastContextTokens, warn, forOneRun = false } = options;
  const isAuto = options.protocol === "auto";
  const speaking: Record<Protocol, Pick<Model, "respond">> = {
    native: withCallsInText(native),
    text: withTextProtocol(native),
  };
  let protocol: Protocol = options.protocol === "auto" ? "native" : options.protocol;
  let foundContext: number | null = null;
  let saysLength = false;
  /** As it is stored; null if nothing is. */
  let stored: Ability | null = null;
  const learned = () => lasting.filter((one) => native.avoids?.has(one));
  let settled = !isAuto;
  let refusal: AppError | null = null;
  let probing: Promise<void> | undefined;

  function settle(ability: Ability): void {
    protocol = protocolFor(ability);
    for (const one of ability.avoids) native.avoids?.add(one);
    foundContext = options.contextIsConfigured ? null : ability.contextTokens;
    saysLength = ability.saysLength ?? false;
    refusal =
      foundContext !== null && foundContext < leastContextTokens
        ? windowTooSmall(native.name, foundContext, leastContextTokens)
        : null;
    settled = refusal === null;
  }

  async function keep(ability: Ability): Promise<void> {
    stored = ability;
    await known.remember(key, ability);
  }

  async function probe(): Promise<void> {
    const remembered = await known.recall(key);
    if (remembered) settle(remembered);
    stored = remembered;
    // A window that was too small may have been enlarged meanwhile.
    if (settled) return;
    options.onProbe?.(native.name);
    const found = await probed(native, options.tools);
    if (!(found instanceof AppError)) {
      settle(found);
      if (settled) await keep(found);
      return;
    }
    refusal = forOneRun ? found : null;
    // The requests report it; an open circuit was already reported.
    if (forOneRun || found instanceof ModelUnavailable) return;
    warn(
      `The probe of ${native.name} failed, so Hunkwise assumes that it supports tool calls: ${found.line}`,
    );
  }

  /** The same request with calls in text. Until this is accepted, a refusal says nothing about other requests. */
  async function inText(request: ModelRequest, signal: AbortSignal, error: ToolsRefused): Promise<ModelTurn> {
    const turn = await speaking.text.respond(request, signal).catch((second: unknown) => {
      throw second instanceof AppError && second.code.startsWith("model_") && !second.retryable
        ? error
        : second;
    });
    // Another loop may have done it.
    if (protocol !== "native") return turn;
    warn(`${error.message}. From now on, the model calls tools in its text`);
    const found = { callsTools: false, writesJson: true, contextTokens: foundContext, avoids: learned() };
    settle(found);
    await keep(found);
    return turn;
  }

  return {
    name: native.name,
    get contextTokens() {
      return foundContext ?? native.contextTokens;
    },
    get protocol() {
      return protocol;
    },
    costOf: (usage) => native.costOf?.(usage) ?? null,
    async ready(signal) {
      if (settled || (refusal && forOneRun)) return;
      probing ??= probe().finally(() => {
        probing = undefined;
      });
      await unlessAborted(probing, signal, abortedError);
    },
    async respond(request, signal) {
      if (refusal) throw refusal;
      try {
        const answer = await speaking[protocol].respond(request, signal);
        const turn =
          saysLength && isWhole(answer) ? { ...answer, finishReason: "tool_calls" as const } : answer;
        const avoids = learned();
        // The next process begins with it.
        if (stored && avoids.length > stored.avoids.length) await keep({ ...stored, avoids });
        return turn;
      } catch (error) {
        if (!(error instanceof ToolsRefused) || !isAuto) throw error;
        return inText(request, signal, error);
      }
    },
  };
}

/** Whether an answer has calls, and the arguments of all are JSON. */
const isWhole = ({ toolCalls }: ModelTurn) =>
  toolCalls.length > 0 && toolCalls.every((call) => readStrict(call.arguments) !== undefined);

async function probed(model: EndpointModel, tools: AdaptiveOptions["tools"]): Promise<Ability | AppError> {
  try {
    const probe = await probeModel(model, AbortSignal.timeout(PROBE_MS), { tools: (await tools?.()) ?? [] });
    return probe.error ?? abilityOf(probe);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return new AppError("model_failed", `it did not answer within ${PROBE_MS / 1_000} s`);
  }
}

/** Minimum characters of JSON per token, over a whole request; code has about three and a half. */
const CHARACTERS_A_TOKEN = 3;
/** Maximum part of the window for an answer. */
const ANSWER_SHARE = 1 / 4;

/**
 * A model with a fallback, which answers while the model is unavailable or absent, and what its provider refuses to read. The fallback is
 * probed when it is first needed, and gets no request that does not fit its window. A review is planned for the first model, so name, window
 * and protocol are its own.
 * @param mayFallBack whether the fallback answers after an error
 */
export function withFallback(
  first: AdaptiveModel,
  fallback: AdaptiveModel,
  warn: (text: string) => void,
  mayFallBack: (error: AppError) => boolean = isOfProvider,
): AdaptiveModel {
  let isUsed = false;

  async function instead(request: ModelRequest, signal: AbortSignal, error: AppError) {
    await fallback.ready(signal);
    const shorter = fitted(request, fallback.contextTokens);
    if (!shorter) throw error;
    const turn = await fallback.respond(shorter, signal).catch((second: unknown) => {
      throw toReport(error, second, fallback.name);
    });
    if (error.code === "content_refused" && turn.finishReason === "content_filter") throw error;
    // Not its remedy, which names the variables of the reviewing model.
    if (!isUsed) warn(`${fallback.name} answers instead of ${first.name}: ${error.message}`);
    isUsed = true;
    return { ...turn, usage: { answeredBy: fallback.name, ...turn.usage } };
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
      const turn = await first.respond(request, signal).catch(asValue);
      if (turn instanceof AppError && !mayFallBack(turn)) throw turn;
      if (turn instanceof AppError) return instead(request, signal, turn);
      isUsed &&= turn.finishReason === "content_filter";
      if (turn.finishReason !== "content_filter") return turn;
      const refused = new AppError("content_refused", `The provider of ${first.name} refused the content`);
      const other = await instead(request, signal, refused).catch(asValue);
      if (isAborted(other)) throw other;
      return other instanceof AppError ? turn : withCostOf(turn, other);
    },
  };
}

/** An answer that also cost what the refusal before it did. The tokens are those of its own prompt, from which a loop learns. */
function withCostOf({ usage: { costUsd } }: ModelTurn, turn: ModelTurn): ModelTurn {
  const { usage } = turn;
  const both = costUsd === null || usage.costUsd === null ? null : costUsd + usage.costUsd;
  return { ...turn, usage: { ...usage, costUsd: both } };
}

/** A refused key or request is a mistake that a person must correct. An exhausted quota is not: another account may have one. */
const isOfProvider = (error: AppError): boolean =>
  !isAborted(error) &&
  (error.retryable ||
    ["model_rate_limited", "content_refused"].includes(error.code) ||
    error instanceof ModelAbsent);

/** Whatever a model fails with, except an abort, and a prompt that its loop shortens for it. */
export const isForGood = (error: AppError): boolean => !isAborted(error) && error.code !== "too_large";

/** Of two errors, the one that is temporary, or ends sooner, with the words of both. */
function toReport(error: AppError, second: unknown, name: string): unknown {
  if (!(second instanceof AppError) || isAborted(second)) return second;
  const isSooner = !error.retryable || (second.retryAfterMs ?? Infinity) < (error.retryAfterMs ?? 0);
  const { code, retryable, remedy, retryAfterMs } = second.retryable && isSooner ? second : error;
  return new AppError(code, `${error.message}; ${name} was asked instead and failed too: ${second.message}`, {
    retryable,
    remedy,
    retryAfterMs,
  });
}

/** The request with an answer that fits into the window; null if the prompt does not. */
function fitted(request: ModelRequest, contextTokens: number): ModelRequest | null {
  const maxOutputTokens = Math.min(request.maxOutputTokens, Math.floor(contextTokens * ANSWER_SHARE));
  const characters = JSON.stringify([request.messages.map(withoutExtras), request.tools]).length;
  const isTooLong = characters / CHARACTERS_A_TOKEN + maxOutputTokens > contextTokens;
  return isTooLong ? null : { ...request, maxOutputTokens };
}

/** Extras belong to another model, and are not sent. */
function withoutExtras(message: Message): unknown {
  if (message.role !== "assistant") return message;
  const toolCalls = message.toolCalls.map(({ name, arguments: given }) => [name, given]);
  return [message.content, toolCalls];
}
