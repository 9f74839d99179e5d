/** The neutral conversation types. Wire formats of providers never leave this room. */

/**
 * What a provider gave with an answer and wants back unchanged with the conversation: encrypted or plain thinking. Nobody
 * looks into it, and no person is shown it.
 */
export type Extras = Readonly<Record<string, unknown>>;

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text as the model wrote it, mended where that takes no guess: it may be broken, and the loop answers that. */
  arguments: string;
  extras?: Extras | undefined;
}

export type Message =
  | { role: "system"; content: string }
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; toolCalls: ToolCall[]; extras?: Extras | undefined }
  | { role: "tool"; callId: string; content: string };

/** A function tool as OpenAI's Chat Completions takes it. `parameters` is JSON Schema. */
export interface ToolDefinition {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export interface ModelRequest {
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Upper bound for the answer in tokens. */
  maxOutputTokens: number;
}

/** Tokens of one request. `cachedTokens` is the part of `promptTokens` the provider had cached. */
export interface Usage {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  /** In US dollars; null when the price of the model is not known. */
  costUsd: number | null;
  /** Name of the model whose tokens these are, where it is another one than was asked: it stood in. */
  answeredBy?: string | undefined;
}

/** Why the model stopped: "length" means that the answer was cut off and must not be taken as whole. */
export type FinishReason = "stop" | "tool_calls" | "length" | "content_filter" | "other";

export interface ModelTurn {
  content: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  usage: Usage;
  extras?: Extras | undefined;
}

/** How a model calls tools: through its API, or with JSON in its text. */
export const protocols = ["native", "text"] as const;
export type Protocol = (typeof protocols)[number];

/** What a model is asked for; each may be another model. */
export const modelRoles = ["review", "verify", "summarize"] as const;
export type ModelRole = (typeof modelRoles)[number];

/** What a review has to know of a model before it asks it anything. */
export interface ModelFacts {
  /** As it stands in the footer of a review and in the price table. */
  readonly name: string;
  /** Size of the context window in tokens: as configured, as the endpoint tells, or assumed. */
  readonly contextTokens: number;
  readonly protocol: Protocol;
}

/**
 * A language model. Rejects with an AppError: `model_unauthorized`, `model_refused`, `model_rate_limited` or
 * `model_failed`, after the bounded retries of its own, or at once with `model_unavailable` while it is left alone.
 */
export interface Model extends ModelFacts {
  /** US dollars that so many tokens cost; null, or left out, where the price is not known. */
  costOf?(usage: Omit<Usage, "costUsd">): number | null;
  respond(request: ModelRequest, signal: AbortSignal): Promise<ModelTurn>;
}

/** The models of one review by role. */
export type Models = Readonly<Record<ModelRole, Model>>;

/** One model for everything. */
export const forAllRoles = <M extends ModelFacts>(model: M): Record<ModelRole, M> => ({
  review: model,
  verify: model,
  summarize: model,
});

/** The same change for the model of each role. */
export const eachRole = <A, B>(
  { review, verify, summarize }: Readonly<Record<ModelRole, A>>,
  change: (one: A) => B,
): Record<ModelRole, B> => ({ review: change(review), verify: change(verify), summarize: change(summarize) });

export const factsOf = ({ name, contextTokens, protocol }: ModelFacts): ModelFacts => ({
  name,
  contextTokens,
  protocol,
});
