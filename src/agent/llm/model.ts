/** A conversation with a model, and its errors, in neutral terms. Wire formats of providers never leave this room. */
import { z } from "zod";
import { AppError } from "../../core/errors.ts";

/**
 * Data that a provider adds to an answer and requires back unchanged: encrypted or plain thinking. Opaque, and not shown to people; the model
 * adapter limits its size.
 */
const Extras = z.record(z.string(), z.unknown());
export type Extras = Readonly<z.infer<typeof Extras>>;

const ToolCall = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** JSON text as the model wrote it, repaired if that requires no guess. It may be broken; the agent loop handles that. */
  arguments: z.string(),
  extras: Extras.optional(),
});
export type ToolCall = z.infer<typeof ToolCall>;

export const Message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: z.string() }),
  z.strictObject({ role: z.literal("user"), content: z.string() }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.string(),
    toolCalls: z.array(ToolCall),
    extras: Extras.optional(),
  }),
  z.strictObject({ role: z.literal("tool"), callId: z.string(), content: z.string() }),
]);
export type Message = z.infer<typeof Message>;

/** A function tool in the form of OpenAI's Chat Completions. `parameters` is JSON Schema. */
export interface ToolDefinition {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export interface ModelRequest {
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  maxOutputTokens: number;
}

/** Tokens of one request. `cachedTokens` is the part of `promptTokens` the provider had cached. */
const Usage = z.strictObject({
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costUsd: z.number().nullable(),
  /** Name of the model whose tokens these are, if a fallback answered instead of the model that was asked. */
  answeredBy: z.string().optional(),
});
export type Usage = z.infer<typeof Usage>;

export const ModelTurn = z.strictObject({
  content: z.string(),
  toolCalls: z.array(ToolCall),
  /** "length": the answer was cut off. "content_filter": the provider refused the content; the answer has no calls. */
  finishReason: z.enum(["stop", "tool_calls", "length", "content_filter", "other"]),
  usage: Usage,
  extras: Extras.optional(),
});
export type ModelTurn = z.infer<typeof ModelTurn>;
export type FinishReason = ModelTurn["finishReason"];

/** How a model calls tools: through its API, or with JSON in its text. */
export const protocols = ["native", "text"] as const;
export type Protocol = (typeof protocols)[number];

/** The roles of models; each may be another model. */
export const modelRoles = ["review", "verify"] as const;
export type ModelRole = (typeof modelRoles)[number];

/** Facts about a model that a review needs before its first request. */
export const ModelFacts = z.strictObject({
  /** Name in the footer of a review and in the price table. */
  name: z.string(),
  /** Size of the context window in tokens: as configured, as the endpoint reports it, or assumed. */
  contextTokens: z.int(),
  protocol: z.enum(protocols),
});
export type ModelFacts = Readonly<z.infer<typeof ModelFacts>>;

/**
 * Rejects with `model_unauthorized`, `model_refused`, `model_rate_limited`, `model_failed`, `too_large` or `content_refused` after its own
 * bounded retries, or at once with `model_unavailable` while its circuit is open.
 */
export interface Model extends ModelFacts {
  /** The price of these tokens in US dollars; null, or absent, if it is not known. */
  costOf?(usage: Omit<Usage, "costUsd">): number | null;
  respond(request: ModelRequest, signal: AbortSignal): Promise<ModelTurn>;
}

/**
 * What an endpoint may refuse and a model does not need: lists of types and rare keywords in schemas; our text right after another text or an
 * answer of a tool; ids of calls that are not nine letters and digits; text beside calls. Stored for the next process.
 */
export const lasting = ["rich_schemas", "user_after_tool", "long_ids", "text_beside_calls"] as const;
/** Everything that the most careful form of a request does without. */
export const careful = [...lasting, "parallel_calls", "effort", "extras"] as const;
export type Avoidable = (typeof careful)[number] | "calls_of_others" | "token_parameter";

/** A model behind an API, and further requests to that API. */
export interface EndpointModel extends Model {
  /** What requests do without, because the endpoint refused it. Grows with refusals, and may be filled from an earlier process. */
  readonly avoids?: Set<Avoidable>;
  /** Names of the models that the endpoint offers; null if it has no list. Rejects like `respond`. */
  listModels?(signal: AbortSignal): Promise<string[] | null>;
  /** Size of the context window in tokens as the endpoint reports it; null if it does not. Rejects only if aborted. */
  findContextTokens?(signal: AbortSignal): Promise<number | null>;
}

export type Models = Readonly<Record<ModelRole, Model>>;

/** One model for everything. */
export const forAllRoles = <M extends ModelFacts>(model: M): Record<ModelRole, M> => ({
  review: model,
  verify: model,
});

export const eachRole = <A, B>(
  { review, verify }: Readonly<Record<ModelRole, A>>,
  change: (one: A) => B,
): Record<ModelRole, B> => ({ review: change(review), verify: change(verify) });

export const factsOf = ({ name, contextTokens, protocol }: ModelFacts): ModelFacts => ({
  name,
  contextTokens,
  protocol,
});

/**
 * The known tool that a name means: the only one in it as a whole word, in any case (`functions.diff_file`, `mcp__x__diff_file`, marks of a
 * chat template). The name as it is if it means none, or several.
 */
export function toolNameIn(name: string, known: ReadonlySet<string>): string {
  if (known.has(name)) return name;
  const text = name.slice(0, 200).toLowerCase().replaceAll("\\", "").replaceAll("__", " ");
  const words = [/[\w-]+/g, /\w+/g].flatMap((pattern) => text.match(pattern) ?? []);
  const meant = new Set(words.map((word) => word.replaceAll("-", "_")).filter((word) => known.has(word)));
  return meant.size === 1 ? ([...meant][0] ?? name) : name;
}

/** The endpoint does not accept tools. The same conversation may work with calls in text. */
export class ToolsRefused extends AppError {}

/** The endpoint did not answer, for any model: there is no connection, or it was cut. */
export class EndpointUnreachable extends AppError {}

/** No server listens at an address of this machine. Seconds of retries do not help; a job that returns later may find it started. */
export class NothingListens extends EndpointUnreachable {}

export class ModelAbsent extends AppError {}

/** A circuit is open: no request was sent, or the request opened it. `retryAfterMs` is the time until it lets one through. */
export class ModelUnavailable extends AppError {
  constructor(message: string, retryAfterMs: number, cause?: AppError) {
    super("model_unavailable", message, {
      retryable: true,
      retryAfterMs,
      remedy: "Try again later, or set HUNKWISE_FALLBACK_MODEL.",
      ...(cause ? { cause } : {}),
    });
  }
}

export const isAborted = (error: unknown): boolean => error instanceof AppError && error.code === "aborted";

export const abortedError = () => new AppError("aborted", "The model call was aborted");

const TAG = "(?:think|thinking|thought|reasoning)";
const THOUGHT = new RegExp(`^\\s*<${TAG}>[\\s\\S]*?</${TAG}>`, "i");
const START_OF_THOUGHT = new RegExp(`^\\s*<${TAG}>`, "i");
const END_OF_THOUGHT = new RegExp(`</${TAG}>`, "i");

/** An answer without the thinking before it. A template may have opened the tag itself; within JSON such a tag is ordinary text. */
export function withoutThinking(text: string): string {
  if (THOUGHT.test(text)) return text.replace(THOUGHT, "").trim();
  if (START_OF_THOUGHT.test(text)) return "";
  const end = END_OF_THOUGHT.exec(text);
  if (!end || /^\s*(?:[{[]|```)/.test(text)) return text.trim();
  return text.slice(end.index + end[0].length).trim();
}
