import { AppError } from "../../core/errors.ts";
import { type ParsedTurn, tooMuch } from "./answer.ts";
import { type Joiner, readBody } from "./answer-body.ts";
import {
  chatAnswer,
  type Endpoint,
  type EndpointOptions,
  type HideKey,
  keyHider,
  type Limits,
  modelList,
  type Provider,
  type RetryOptions,
  refusesTools,
  statusError,
  toAppError,
  toolsRefused,
  withoutKey,
  withRetries,
} from "./endpoint.ts";
import { isObject } from "./lenient-json.ts";
import {
  type Avoidable,
  abortedError,
  careful,
  lasting,
  type ModelRequest,
  type ModelTurn,
  type Usage,
} from "./model.ts";
import { costOf, type Price, type PriceTable, priceOf } from "./prices.ts";
import { errorInside, kindOf, type Refusal, Refused, refusalIn, roomLeft, type Sizes } from "./refusal.ts";
import { idsOf, withoutServerSecrets } from "./request.ts";

/** How much a model thinks: words of ours, in the order of effort. */
export type Effort = "minimal" | "low" | "medium" | "high";

export interface ModelOptions extends EndpointOptions, RetryOptions {
  model: string;
  /** Size of the model's context window in tokens. */
  contextTokens: number;
  /** If absent, the model decides. */
  reasoningEffort?: Effort | null;
  prices: PriceTable;
  /** For one try. Node's own fetch gives up after 300 s without data, so a higher value has no effect. */
  timeoutMs: number;
  /** What the endpoint refuses, as far as it is known. Grows with its refusals. */
  avoids?: Set<Avoidable>;
}

export interface Sent {
  request: ModelRequest;
  avoids: ReadonlySet<Avoidable>;
  /** Longest answer that may be requested from the model. */
  mostTokens: number;
}

interface Client {
  get(path: string, options: { signal: AbortSignal }): PromiseLike<unknown>;
  post(path: string, options: object): { asResponse(): Promise<Response> };
}

export interface Api {
  provider: Provider;
  url: URL;
  /** Paths of conversations and of the list of models. */
  paths: readonly [chat: string, list: string];
  createClient(answer: Limits): Client;
  joiner(): Joiner;
  bodyOf(sent: Sent): object;
  /** The next form after a refusal that names a parameter of this API; "none" if there is no other, null if none is named. */
  adapted(sent: Sent, refusal: Refusal): Sent | "none" | null;
  read(
    ...given: [raw: unknown, takenIds: ReadonlySet<string>, promptCharacters: number, hideKey: HideKey]
  ): ParsedTurn & { writtenTokens?: number };
  costOf(usage: Omit<Usage, "costUsd">, price: Price | null): number | null;
}

/** A model behind an API, whose requests take the form that its endpoint accepts. */
export function createApiModel(api: Api, options: ModelOptions) {
  const { provider, url, paths } = api;
  const { model, timeoutMs, avoids = new Set<Avoidable>() } = options;
  const hideKey = keyHider(options.apiKey);
  const endpoint: Endpoint = { provider, model, address: url.href, timeoutMs, hideKey };
  const client = api.createClient(chatAnswer);
  const price = priceOf(model, options.prices);
  let mostTokens = Number.POSITIVE_INFINITY;
  /** Faults of a server that another form may not have, although their words do not say so. */
  const mayBeOfForm = new WeakSet<AppError>();
  const failure = (error: unknown, signal: AbortSignal) =>
    withoutKey(toAppError(error, endpoint, signal), hideKey);

  async function sendOnce(sent: Sent, body: object, signal: AbortSignal): Promise<ModelTurn> {
    const response = await client.post(paths[0], { body, signal }).asResponse();
    const raw = await readBody(response, api.joiner(), () => tooMuch("over two megabytes", provider));
    const inside = errorInside(raw);
    if (inside) throw new Refused("refused", { cause: inside });
    const read = api.read(raw, idsOf(sent.request), JSON.stringify(body).length, hideKey);
    // Only now: a request that is refused in every form says nothing about others.
    mostTokens = sent.mostTokens;
    for (const one of sent.avoids) avoids.add(one);
    const { usage, writtenTokens = 0, ...turn } = read;
    return { ...turn, usage: { ...usage, costUsd: costOf({ ...usage, writtenTokens }, price) } };
  }

  /**
   * Sends a request, and after a refusal the same in another form: without what the refusal names, else once in the most careful form, whose
   * refusal rejects with the first one. Each change is made once or shrinks a number, so this ends.
   */
  async function send(asked: ModelRequest, signal: AbortSignal, avoided = avoids): Promise<ModelTurn> {
    const start: Sent = { request: withoutServerSecrets(asked), avoids: avoided, mostTokens };
    let sent = start;
    let first: AppError | null = null;
    for (;;) {
      const body = api.bodyOf(sent);
      try {
        return await sendOnce(sent, body, signal);
      } catch (error) {
        const refusal = refusalIn(error);
        if (!refusal) throw failure(error, signal);
        const step = afterRefusal(sent, start, JSON.stringify(body), refusal, first);
        if (!step.next) throw failure(step.error, signal);
        if (step.next.avoids !== sent.avoids) first = step.error;
        sent = step.next;
      }
    }
  }

  /** What a refusal leads to: the next form, null if there is none, and the error to report. */
  function afterRefusal(sent: Sent, start: Sent, body: string, refusal: Refusal, first: AppError | null) {
    const { message } = refusal;
    const hasTools = sent.request.tools.length > 0;
    const answer = Math.min(sent.request.maxOutputTokens, sent.mostTokens);
    const sizes = { answer, prompt: Math.ceil(body.length / CHARACTERS_A_TOKEN) };
    const kind = kindOf(refusal, sizes);
    const error = statusError(refusal, endpoint, sizes);
    if (kind === "too_long") return { next: withShorterAnswer(sent, start, refusal, sizes), error };
    if (hasTools && refusesTools(refusal)) return { next: null, error: toolsRefused(refusal, endpoint) };
    if (!isOfForm(kind, refusal)) {
      if (kind === "passing" && isUntold(refusal)) mayBeOfForm.add(error);
      return { next: null, error };
    }
    // In their text, a model can still call the tools.
    const found = hasTools && OF_TOOLS.test(message) ? toolsRefused(refusal, endpoint) : error;
    return { next: otherForm(sent, body, refusal, answer), error: first ?? found };
  }

  /** If the retries fail, the request is sent once more in a plainer form. If that fails too, the first error stands. */
  async function respond(request: ModelRequest, signal: AbortSignal): Promise<ModelTurn> {
    try {
      return await withRetries(() => send(request, signal), options, signal);
    } catch (error) {
      const isCareful = lasting.every((one) => avoids.has(one));
      if (!(error instanceof AppError) || isCareful || !mayBeOfForm.has(error)) throw error;
      return send(request, signal, new Set([...avoids, ...lasting])).catch(() => {
        throw signal.aborted ? abortedError() : error;
      });
    }
  }

  /** The request with a smaller limit or another parameter, else without what the refusal names, else in the most careful form. */
  function otherForm(sent: Sent, body: string, refusal: Refusal, answer: number): Sent | null {
    const { status, words } = refusal;
    if (status < 500 && status !== 400 && status !== 422) return null;
    const own = status < 500 ? (withLimit(sent, answer, refusal) ?? api.adapted(sent, refusal)) : null;
    if (own === "none") return null;
    const found = named.filter(([, pattern]) => pattern.test(words)).map(([one]) => without(sent, one));
    const forms = [...(own ? [own] : []), ...found, without(sent, ...careful)];
    return forms.find((one) => JSON.stringify(api.bodyOf(one)) !== body) ?? null;
  }

  /** The JSON at a path; null if there is no such path. Rejects with an AppError. */
  async function look(path: string, signal: AbortSignal): Promise<unknown> {
    try {
      return await api.createClient(modelList).get(path, { signal });
    } catch (error) {
      if ([404, 405].includes(refusalIn(error)?.status ?? 0)) return null;
      throw failure(error, signal);
    }
  }

  return {
    name: model,
    contextTokens: options.contextTokens,
    protocol: "native" as const,
    avoids,
    look,
    costOf: (usage: Omit<Usage, "costUsd">) => api.costOf(usage, price),
    respond,
    listModels: (signal: AbortSignal) =>
      withRetries(async () => namesIn(await look(paths[1], signal)), options, signal),
  };
}

function namesIn(page: unknown): string[] | null {
  if (!isObject(page) || !Array.isArray(page.data)) return null;
  const names = page.data.map((one) => (isObject(one) ? String(one.id ?? "") : "")).filter((id) => id !== "");
  return names.length > 0 ? names : null;
}

/** For one answer. A model that may not write this much is not useful. */
const LEAST_ANSWER_TOKENS = 256;
const LEAST_MOST_TOKENS = 1_024;
const CHARACTERS_A_TOKEN = 4;

/** Words of a refusal that name what to avoid. */
const named: readonly (readonly [Avoidable, RegExp])[] = [
  ["user_after_tool", /unexpected role|roles? must alternate|message_order/i],
  ["text_beside_calls", /either content or tool_calls/i],
  ["long_ids", /tool[_ ]?call[_ ]?id|tool_use(_id|\.id)/i],
  [
    "rich_schemas",
    /additionalProperties|propertyNames|\$schema|anyOf|\bschema\b|function_?declarations?|\.parameters\b|\benum\b|tools\.function|proto field/i,
  ],
];
const OF_LIMIT = /\bmax_(completion_|new_)?tokens\b/;
const OF_TOOLS = /template|jinja|schema|grammar|\btools?\b|function_?declaration|\.parameters\b/i;
/** The model wrote a broken call, which another try may not repeat. */
const OF_ANSWER = /pars(e|ing) (the )?(tool|function|input|output|response|model)/i;

/** Whether another form may be accepted. A server that fails on a template or a type fails each time, although its status promises more. */
const isOfForm = (kind: string, { message }: Refusal): boolean =>
  kind === "unexplained" ||
  (kind === "passing" && (OF_TOOLS.test(message) || /\btypes?\b/i.test(message)) && !OF_ANSWER.test(message));

/** A template that fails on a list or on null says so in the words of its language. A server that is down mostly has none. */
const isUntold = ({ status, headers, message }: Refusal): boolean =>
  status === 500 && headers?.has("retry-after") === false && message !== "" && !OF_ANSWER.test(message);

/** The request with an answer for which there is room; null if the prompt alone is too long, or nobody knows. */
function withShorterAnswer(sent: Sent, start: Sent, refusal: Refusal, sizes: Sizes): Sent | null {
  const { request } = sent;
  const room =
    roomLeft(refusal, sizes) ??
    (OF_LIMIT.test(refusal.message) ? { tokens: sizes.answer, isSure: false } : null);
  if (!room) return null;
  const isFirst = request.maxOutputTokens === start.request.maxOutputTokens;
  const most = isFirst && room.isSure ? sizes.answer - 1 : Math.floor(sizes.answer / 2);
  const maxOutputTokens = Math.min(room.tokens, most);
  return maxOutputTokens < LEAST_ANSWER_TOKENS ? null : { ...sent, request: { ...request, maxOutputTokens } };
}

/** The request to a model that never writes as much as was asked for. */
function withLimit(sent: Sent, answer: number, { message }: Refusal): Sent | "none" | null {
  if (!OF_LIMIT.test(message) || !/too (large|high|big)|at most|less than|range of|> \d/i.test(message))
    return null;
  const mostTokens = Math.floor(answer / 2);
  return mostTokens < LEAST_MOST_TOKENS ? "none" : { ...sent, mostTokens };
}

export const without = (sent: Sent, ...more: readonly Avoidable[]): Sent => ({
  ...sent,
  avoids: new Set([...sent.avoids, ...more]),
});
