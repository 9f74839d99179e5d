import Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import {
  finishReason,
  MAX_CALLS,
  MAX_EXTRAS,
  MAX_WRITTEN,
  type ParsedTurn,
  parseAnswer,
  tooMuch,
  withUniqueIds,
} from "./answer.ts";
import { joinEvents } from "./answer-body.ts";
import {
  type EndpointOptions,
  endpointFetch,
  type HideKey,
  type Limits,
  type Provider,
  parseUrl,
} from "./endpoint.ts";
import { createApiModel, type Effort, type ModelOptions, type Sent, without } from "./endpoint-model.ts";
import { isObject, readStrict } from "./lenient-json.ts";
import type { EndpointModel, Extras, Message, ModelRequest, ToolCall } from "./model.ts";
import { allWritten, costOf } from "./prices.ts";
import { isFiltered, type Refusal } from "./refusal.ts";
import { formed, nameOnWire } from "./request.ts";

/** A model behind Anthropic's Messages API. Throws `config_invalid` for a bad address. */
export function createAnthropicModel(options: ModelOptions): Required<EndpointModel> {
  const url = endpointUrl(options);
  const { model, reasoningEffort: effort = null } = options;
  const { look, ...shared } = createApiModel(
    {
      provider: anthropic,
      url,
      paths: ["/v1/messages", "/v1/models?limit=1000"],
      joiner: joinEvents,
      createClient: (answer) => createClient(options, url, answer),
      bodyOf: (sent) => toRequestBody(model, sent, effort),
      adapted,
      read: readAnswer,
      costOf: (usage, price) => costOf(allWritten(usage), price),
    },
    options,
  );
  return {
    ...shared,
    async findContextTokens(signal) {
      const found = await look(`/v1/models/${encodeURIComponent(model)}`, signal).catch((error: unknown) => {
        if (signal.aborted) throw error;
        return null;
      });
      const tokens = isObject(found) ? found.max_input_tokens : null;
      return typeof tokens === "number" && tokens > 0 ? tokens : null;
    },
  };
}

/** The next form to try after a refusal that names a parameter of this API. */
function adapted(sent: Sent, { message }: Refusal): Sent | "none" | null {
  const { request, avoids } = sent;
  // Thinking of another account, or bound to a text that has changed since, because a secret in it is masked now.
  if (/signature|thinking` blocks?\b|cannot be modified/i.test(message) && request.messages.some(hasThinking))
    return { ...sent, request: { ...request, messages: request.messages.map(withoutThinking) } };
  // Models before Claude 4.6 do not know adaptive thinking.
  if (/\bthinking\b|\bbudget_tokens\b|\badaptive\b|\beffort\b|\boutput_config\b/i.test(message))
    return avoids.has("effort") ? null : without(sent, "effort");
  return /\bmax_tokens\b/.test(message) ? "none" : null;
}

const hasThinking = (message: Message) =>
  message.role === "assistant" && blocksIn(message.extras)?.some(isThinking) === true;

const withoutThinking = (message: Message): Message =>
  message.role === "assistant" ? { ...message, extras: undefined } : message;

const isThinking = ({ type }: { type: string }) => type === "thinking" || type === "redacted_thinking";

type Body = Anthropic.MessageCreateParamsNonStreaming;
type Block = Anthropic.ContentBlockParam;

function toRequestBody(
  model: string,
  { request: asked, avoids, mostTokens }: Sent,
  effort: Effort | null,
): Body {
  const request = formed(asked, avoids);
  // Thoughts are only valid beside the calls as they were.
  const isThoughtless = avoids.has("extras") || avoids.has("long_ids");
  const system = request.messages.flatMap((message): Anthropic.TextBlockParam[] =>
    message.role === "system" ? [textBlock(message.content)] : [],
  );
  const messages = toWireMessages(isThoughtless ? request.messages.map(withoutThinking) : request.messages);
  if (request.tools.length > 0) markCached(system, messages);
  return {
    model,
    max_tokens: Math.min(request.maxOutputTokens, mostTokens),
    ...(system.length > 0 ? { system } : {}),
    messages,
    ...toolsOf(request),
    ...thinkingOf(avoids.has("effort") ? null : effort),
  };
}

/** The tools; without any, those that the conversation called, which the service has to know and the model may not call again. */
function toolsOf({ tools, messages }: ModelRequest): Pick<Body, "tools" | "tool_choice"> {
  if (tools.length > 0) {
    return {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters as Anthropic.Tool.InputSchema,
      })),
    };
  }
  const called = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ name }) => nameOnWire(name)) : [],
  );
  if (called.length === 0) return {};
  const known = [...new Set(called)].map((name) => ({ name, input_schema: { type: "object" as const } }));
  return { tools: known, tool_choice: { type: "none" } };
}

/** The model decides when it thinks; `minimal` asks it not to. */
function thinkingOf(effort: Effort | null): Pick<Body, "thinking" | "output_config"> {
  if (effort === null) return {};
  if (effort === "minimal") return { output_config: { effort: "low" } };
  return { thinking: { type: "adaptive" }, output_config: { effort } };
}

interface WireMessage {
  role: "user" | "assistant";
  content: Block[];
}

/** Turns alternate: results of tools, which come first, and the text after them are one message. */
function toWireMessages(messages: readonly Message[]): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) {
    if (message.role === "system") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...blocksOf(message));
    else wire.push({ role, content: blocksOf(message) });
  }
  return wire;
}

function blocksOf(message: Exclude<Message, { role: "system" }>): Block[] {
  if (message.role === "user") return [textBlock(message.content)];
  if (message.role === "assistant") return turnBlocks(message);
  const content = message.content.toWellFormed();
  return [
    { type: "tool_result", tool_use_id: message.callId, ...(content.trim() === "" ? {} : { content }) },
  ];
}

/** No text block may be empty. A lone surrogate would make the body invalid UTF-8. */
const textBlock = (text: string): Anthropic.TextBlockParam => ({
  type: "text",
  text: text.trim() === "" ? "(empty)" : text.toWellFormed(),
});

/** A turn of the model: with its own thinking block for block as the model gave it, else its text and its calls. */
function turnBlocks({ content, toolCalls, extras }: Extract<Message, { role: "assistant" }>): Block[] {
  const calls = [...toolCalls];
  const blocks = blocksIn(extras) ?? [];
  const lengths = blocks.reduce((sum, block) => sum + ("length" in block ? Number(block.length) : 0), 0);
  const isWhole =
    blocks.filter(({ type }) => type === "tool_use").length === toolCalls.length &&
    // A secret that was removed changes the length of a text; then all of it is one block.
    (lengths === content.length || blocks.filter(({ type }) => type === "text").length === 1);
  if (!isWhole || blocks.length === 0) {
    const text = content.trim() === "" ? [] : [textBlock(content)];
    const written = [...text, ...toolCalls.map(toolUse)];
    return written.length > 0 ? written : [textBlock("(no answer)")];
  }
  let start = 0;
  return blocks.flatMap((block): Block[] => {
    if (isThinking(block)) return [block as unknown as Block];
    if (block.type === "tool_use") {
      // In their order: the ids may be others, if this turn is sent to another provider and back.
      const call = calls.shift();
      return call ? [toolUse(call)] : [];
    }
    const end =
      lengths === content.length && "length" in block ? start + Number(block.length) : content.length;
    const text = content.slice(start, end);
    start = end;
    return text.trim() === "" ? [] : [textBlock(text)];
  });
}

/** A call as the model made it, within the limits of the service. */
function toolUse({ id, name, arguments: text }: ToolCall): Anthropic.ToolUseBlockParam {
  const input = readStrict(text.toWellFormed());
  return {
    type: "tool_use",
    id,
    name: nameOnWire(name),
    input: isObject(input) ? input : { not_json: text.toWellFormed() },
  };
}

/**
 * Marks the stable beginnings of a conversation: the tools and instructions, which all loops of a review share, the task, and our last two
 * messages. Four marks are allowed (https://platform.claude.com/docs/en/build-with-claude/prompt-caching); turns with thinking take none.
 */
function markCached(system: Anthropic.TextBlockParam[], messages: readonly WireMessage[]): void {
  const ours = messages.filter(({ role }) => role === "user");
  const ends = new Set([
    system.at(-1),
    ours[0]?.content.at(-1),
    ours.at(-2)?.content.at(-1),
    ours.at(-1)?.content.at(-1),
  ]);
  for (const block of ends) {
    if (block && "type" in block && (block.type === "text" || block.type === "tool_result"))
      block.cache_control = { type: "ephemeral" };
  }
}

const ANTHROPIC_URL = "https://api.anthropic.com";

/** The address without the `/v1` that the paths of the API begin with. Throws `config_invalid` for a bad one. */
function endpointUrl({ baseUrl }: Pick<EndpointOptions, "baseUrl">): URL {
  const url = parseUrl(baseUrl ?? ANTHROPIC_URL, anthropic);
  return new URL(url.href.replace(/\/+(?:v1\/*)?$/, ""));
}

function createClient(options: EndpointOptions, url: URL, answer: Limits): Anthropic {
  return new Anthropic({
    apiKey: options.apiKey ?? "none",
    baseURL: url.href.replace(/\/$/, ""),
    timeout: options.timeoutMs,
    // `withRetries` does the retries and explains why.
    maxRetries: 0,
    // If absent, each of these would be read from the environment or from files, and ANTHROPIC_LOG=debug would print requests.
    authToken: null,
    credentials: null,
    config: null,
    profile: null,
    webhookKey: null,
    logLevel: "off",
    openTelemetry: false,
    fetch: endpointFetch(url, options, answer, anthropic, { authorization: `Bearer ${options.apiKey}` }),
  });
}

/** Anthropic, and everyone who speaks its Messages API. */
const anthropic: Provider = {
  api: "Anthropic's Messages API",
  host: "api.anthropic.com",
  baseUrl: "ANTHROPIC_BASE_URL",
  addressHint: "it has no /v1 at its end",
  keyOf: () => "ANTHROPIC_API_KEY",
  errors: Anthropic,
};

/** Blocks of an answer; those of other kinds are none that a review asks for. */
const Text = z.looseObject({ type: z.literal("text"), text: z.string() });
const ToolUse = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
});
const Thinking = z.looseObject({ type: z.enum(["thinking", "redacted_thinking"]) });
const Other = z.looseObject({ type: z.string() });
const Block = z.union([Text, ToolUse, Thinking, Other]);

const Count = z.number().min(0).nullish().catch(null);
const Answer = z.looseObject({
  // Counted before any is read.
  content: z.array(z.unknown()).max(MAX_CALLS).pipe(z.array(Block)),
  stop_reason: z.string().nullish().catch(null),
  usage: z
    .looseObject({
      input_tokens: Count,
      output_tokens: Count,
      cache_creation_input_tokens: Count,
      cache_read_input_tokens: Count,
    })
    .nullish()
    .catch(null),
});

/** A block of a turn for its replay: thinking as it was, for others only their place. Texts and calls are in the turn, where secrets are masked. */
const Replayed = z.union([
  Thinking,
  z.object({ type: z.literal("text"), length: z.int().min(1) }),
  z.object({ type: z.literal("tool_use") }),
]);
type Replayed = z.infer<typeof Replayed>;

/** The blocks of a turn's extras; null if they are not those of this API. */
function blocksIn(extras: Extras | undefined): Replayed[] | null {
  const blocks = z.array(Replayed).safeParse(extras?.blocks);
  return blocks.success ? blocks.data : null;
}

/** Reads an answer; throws `model_failed` if it is none. Usage is estimated from `promptCharacters` if the service reports none. */
export function readAnswer(
  raw: unknown,
  takenIds: ReadonlySet<string>,
  promptCharacters: number,
  hideKey: HideKey,
): ParsedTurn & { writtenTokens: number } {
  const { content: blocks, stop_reason, usage } = parseAnswer(Answer, raw, anthropic, hideKey);
  const length = JSON.stringify(blocks).length;
  if (length > MAX_WRITTEN) throw tooMuch(`${length} characters`, anthropic);
  const isRefused = isFiltered(stop_reason ?? "");
  const uses = isRefused ? [] : blocks.filter((block) => is(ToolUse, block));
  const toolCalls = withUniqueIds(
    uses.map(({ id, name, input }) => ({
      id,
      name,
      arguments: JSON.stringify(isObject(input) ? input : {}),
    })),
    takenIds,
  );
  const content = blocks.map((block) => (is(Text, block) ? block.text : "")).join("");
  const extras = isRefused ? undefined : extrasOf(blocks);
  const [fresh, read, wrote] = [
    usage?.input_tokens,
    usage?.cache_read_input_tokens,
    usage?.cache_creation_input_tokens,
  ];
  const promptTokens = (fresh ?? 0) + (read ?? 0) + (wrote ?? 0) || Math.ceil(promptCharacters / 4);
  return {
    content,
    toolCalls,
    finishReason: finishReason(stop_reason, toolCalls.length > 0),
    usage: {
      promptTokens,
      cachedTokens: Math.min(read ?? 0, promptTokens),
      completionTokens: usage?.output_tokens ?? Math.ceil(length / 4),
    },
    // To the cache. They are part of the prompt, and cost more.
    writtenTokens: wrote ?? 0,
    ...(extras ? { extras } : {}),
  };
}

const is = <Schema extends z.ZodType>(schema: Schema, value: unknown): value is z.infer<Schema> =>
  schema.safeParse(value).success;

/**
 * A turn's thinking and its place between texts and calls, which the service requires unchanged in a tool loop
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks). Undefined without any, and for a turn
 * that was cut off within it, which no later request may have.
 */
function extrasOf(blocks: readonly z.infer<typeof Block>[]): Extras | undefined {
  // No request may have a text without a letter.
  const last = blocks.findLast((block) => !is(Text, block) || block.text.trim() !== "");
  const shown = blocks.filter((block) => !is(Text, block) || block.text !== "");
  if (!shown.some((block) => is(Thinking, block)) || last === undefined || is(Thinking, last))
    return undefined;
  const replayed = shown.flatMap((block): Replayed[] => {
    if (is(Thinking, block)) return [block];
    if (is(Text, block)) return [{ type: "text", length: block.text.length }];
    return is(ToolUse, block) ? [{ type: "tool_use" }] : [];
  });
  const extras = { blocks: replayed };
  return JSON.stringify(extras).length <= MAX_EXTRAS ? extras : undefined;
}
