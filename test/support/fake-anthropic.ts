import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import {
  type ClaudeBlock,
  complaintAbout,
  isThinking,
  type MessagesBody,
  positions,
  prefixBefore,
  promptTokens,
  type Service,
  type Thought,
  thoughtsSentBack,
  tokensOf,
  unmarked,
} from "./anthropic-request-rules.ts";
import { type FakeFault, type FakeTurn, sendFault, sendJson } from "./fake-openai.ts";
import { listenHere } from "./local-server.ts";

export type { ClaudeBlock, ClaudeMessage, ClaudeTool, MessagesBody } from "./anthropic-request-rules.ts";

/**
 * A turn of the fake model. Each answer's `input` is an object: `arguments` that are a string must hold one, unless `max_tokens` cut the
 * answer in its last call, which then has the input that the script gives or none.
 */
export interface ClaudeTurn extends FakeTurn {
  /** Blocks before the text. Left out if the request turned thinking off. */
  thinking?: string[];
  /** The number of encrypted blocks after those. */
  redacted?: number;
  /** Default: from `finish_reason`, else `tool_use` or `end_turn`. */
  stop_reason?: string;
}

export type ClaudeAnswer = ClaudeTurn | FakeFault;

/** Answers request number `n` (from 0, messages only). */
export type ClaudeScript =
  | ClaudeAnswer[]
  | ((body: MessagesBody, n: number) => ClaudeAnswer | Promise<ClaudeAnswer>);

export interface FakeAnthropicOptions {
  script: ClaudeScript;
  /** The only accepted key. Default "test-key". */
  apiKey?: string;
  /** The available models; others answer 404. Null (default) accepts every name and lists "claude-fake". */
  models?: string[] | null;
  /** Which thinking the models take: `adaptive` (default) as Claude 4.7 and later, `budget` as Claude 4.5 and earlier. */
  family?: "adaptive" | "budget";
  /**
   * True: as Claude Fable 5.1 and later for an account of September 2026 or later. A block with thinking is only valid while nothing
   * before it changed, a tool cannot be forced, and thinking cannot be turned off. Default false.
   */
  preserved?: boolean;
  /** The context window. Default 200,000. */
  contextTokens?: number;
  /** The largest `max_tokens`. Default 64,000. */
  mostOutputTokens?: number;
}

export interface FakeClaudeRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: MessagesBody;
  /** True if the client hung up before the answer. */
  hungUp: boolean;
}

export interface FakeAnthropic {
  /** Base URL as a client takes it, without `/v1`. */
  url: string;
  /** Every request to /v1/messages, refused ones too, in order of arrival. */
  requests: FakeClaudeRequest[];
  /** Requests that the service would refuse, and errors of the script. Empty in a sound test. */
  complaints: string[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The service is overloaded. docs: api/errors. */
export const overloaded: FakeFault = {
  fault: "status",
  status: 529,
  body: errorBody("overloaded_error", "Overloaded"),
};

/** The account asked too often. docs: api/rate-limits. */
export const rateLimited = (retryAfterSeconds: number): FakeFault => ({
  fault: "status",
  status: 429,
  headers: { "retry-after": String(retryAfterSeconds) },
  body: errorBody("rate_limit_error", "This request would exceed your organization's rate limit."),
});

/** A classifier stopped the model before it wrote anything. docs: build-with-claude/handling-stop-reasons; NousResearch/hermes-agent#43084. */
export const refused: ClaudeTurn = { stop_reason: "refusal" };

/** The answer is cut by `max_tokens`. */
export const cutAnswer = (content: string): ClaudeTurn => ({ content, stop_reason: "max_tokens" });

/** Starts a service on 127.0.0.1 that speaks `/v1/messages` and `/v1/models` from a script, without streams. */
export async function startFakeAnthropic(options: FakeAnthropicOptions): Promise<FakeAnthropic> {
  const served: Served = { options, requests: [], complaints: [], thoughts: new Map(), cached: new Set() };
  const server = createServer((request, response) => {
    handle(request, response, served).catch((error: unknown) => {
      served.complaints.push(String(error));
      if (!response.headersSent) sendError(response, 400, "invalid_request_error", `script failed: ${error}`);
    });
  });
  const { origin: url, close } = await listenHere(server);
  const { requests, complaints } = served;
  return { url, requests, complaints, close, [Symbol.asyncDispose]: close };
}

interface Served {
  options: FakeAnthropicOptions;
  requests: FakeClaudeRequest[];
  complaints: string[];
  thoughts: Map<string, Thought>;
  /** Hashes of the prefixes in the prompt cache. */
  cached: Set<string>;
}

async function handle(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const { options, requests, complaints } = served;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const raw = Buffer.concat(chunks);
  const { pathname: path } = new URL(request.url ?? "", "http://fake");
  const { headers, method = "" } = request;
  const refuse = (complaint: string) => {
    complaints.push(complaint);
    sendError(response, 400, "invalid_request_error", complaint);
  };
  const asksModels = method === "GET" && /^\/v1\/models(\/|$)/.test(path);
  if (!asksModels && (method !== "POST" || path !== "/v1/messages")) {
    return sendError(response, 404, "not_found_error", "Not found");
  }
  const seen = { method, path, headers, body: parsed(raw) as MessagesBody, hungUp: false };
  const n = asksModels ? -1 : requests.push(seen) - 1;
  response.on("close", () => {
    seen.hungUp = !response.writableFinished;
  });
  // types, ClientOptions: since 1.0 the official client sends the key as a bearer token; x-api-key wins (qiita.com/Synthorai 01a0067e).
  const key = options.apiKey ?? "test-key";
  if ((headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /, "")) !== key) {
    return sendError(response, 401, "authentication_error", "invalid x-api-key");
  }
  // docs: api/versioning. strict: older versions answer, too.
  const version = headers["anthropic-version"];
  if (version !== "2026-10-21") return refuse(`anthropic-version: "${version}" is not a valid version`);
  if (asksModels) return sendModels(response, path, options);
  // docs: api/errors, "Request size limits".
  if (raw.length > 32 * 2 ** 20) {
    return sendError(response, 413, "request_too_large", "Request exceeds the maximum size");
  }
  if (!headers["content-type"]?.startsWith("application/json")) return refuse("Content-Type must be JSON");
  const { body } = seen;
  if (typeof body !== "object" || body === null) return refuse("The request body is not valid JSON.");
  if (raw.includes(key)) return refuse("The request body holds the key.");
  const service: Service = {
    family: options.family ?? "adaptive",
    mostOutputTokens: options.mostOutputTokens ?? 64_000,
    contextTokens: options.contextTokens ?? 200_000,
    preserved: options.preserved ?? false,
    thoughts: served.thoughts,
  };
  const complaint = complaintAbout(body, service);
  if (complaint) return refuse(complaint);
  if (options.models && !options.models.includes(body.model)) {
    return sendError(response, 404, "not_found_error", `model: ${body.model}`);
  }
  const answer = Array.isArray(options.script) ? options.script[n] : await options.script(body, n);
  if (answer === undefined) throw new Error(`the script ended before request ${n}`);
  if ("delay" in answer && answer.delay) await new Promise((done) => setTimeout(done, answer.delay));
  if (response.destroyed) return;
  if ("fault" in answer) {
    const error = (status: number) => errorBody("api_error", `fault ${status}`);
    return sendFault(response, answer, { answer: { type: "message", content: [{ type: "text" }] }, error });
  }
  sendClaude(response, 200, message(body, answer, n, served, service));
}

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString("utf8"));
  } catch {
    return null;
  }
}

const stopReasons: Record<string, string> = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  content_filter: "refusal",
};

/** An answer as types, Message, has it. */
function message(body: MessagesBody, turn: ClaudeTurn, n: number, served: Served, service: Service) {
  const asked = turn.stop_reason ?? (turn.finish_reason ? stopReasons[turn.finish_reason] : undefined);
  const stop = asked ?? (turn.tool_calls?.length ? "tool_use" : "end_turn");
  const { last } = thoughtsSentBack(body, service);
  const thoughts = thinks(body, service) ? thoughtBlocks(body, turn, n, served.options) : [];
  const content: ClaudeBlock[] = [
    ...thoughts,
    ...(turn.content ? [{ type: "text", text: turn.content, citations: null }] : []),
    ...(turn.tool_calls ?? []).map((call, index, calls) => ({
      type: "tool_use",
      id: call.id ?? `toolu_${n}_${index}`,
      name: call.name,
      input: inputOf(call, stop === "max_tokens" && index === calls.length - 1),
      caller: { type: "direct" },
    })),
  ];
  const thought: Thought = { model: body.model, blocks: content, prefix: prefixBefore(body), before: last };
  for (const block of thoughts) served.thoughts.set(String(block.signature ?? block.data), thought);
  const refusal = { type: "refusal", category: null, explanation: null };
  return {
    id: `msg_${n}`,
    type: "message",
    role: "assistant",
    model: body.model,
    container: null,
    diagnostics: null,
    content,
    stop_reason: stop,
    stop_sequence: null,
    stop_details: stop === "refusal" ? refusal : null,
    ...(turn.usage === null ? {} : { usage: usageOf(body, content, turn, served) }),
  };
}

const thinks = ({ thinking }: MessagesBody, { family }: Service) =>
  family === "adaptive" || thinking?.type === "enabled";

/** docs: build-with-claude/thinking, "Controlling thinking display": newer models leave the text empty. */
function thoughtBlocks(body: MessagesBody, turn: ClaudeTurn, n: number, options: FakeAnthropicOptions) {
  const opaque = (...of: unknown[]) =>
    createHash("sha512")
      .update(JSON.stringify([options.apiKey, body.model, n, ...of]))
      .digest("base64");
  return [
    ...(turn.thinking ?? []).map(
      (text, index): ClaudeBlock => ({
        type: "thinking",
        thinking: options.family === "budget" ? text : "",
        signature: opaque("thinking", index, text),
      }),
    ),
    ...Array.from(
      { length: turn.redacted ?? 0 },
      (_, index): ClaudeBlock => ({ type: "redacted_thinking", data: opaque("redacted", index) }),
    ),
  ];
}

function inputOf(
  { name, arguments: given = {} }: { name: string; arguments?: unknown },
  cut: boolean,
): unknown {
  const input = typeof given === "string" ? parsed(Buffer.from(given)) : given;
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input;
  if (cut) return {};
  throw new Error(
    `the script gives '${name}' an input that is no object, which the service never does: ${given}`,
  );
}

/**
 * Usage as the real cache makes it. docs: build-with-claude/prompt-caching, "How automatic prefix checking works": an entry is written at each
 * mark, and the longest is read that an earlier request wrote at one of the 20 positions up to a mark. A run of calls or results is one
 * position. Thinking, effort and the tool choice are part of the messages' prefix. Neither a time to live nor a least length is modeled.
 */
function usageOf(body: MessagesBody, content: ClaudeBlock[], turn: ClaudeTurn, { cached }: Served) {
  const thinkingTokens = tokensOf(
    content.filter(isThinking).concat(turn.thinking?.map((text) => ({ type: text })) ?? []),
  );
  const output = turn.usage?.completion_tokens ?? tokensOf(content);
  const rest = {
    output_tokens: output,
    output_tokens_details: {
      thinking_tokens: content.some(isThinking) ? Math.min(output, thinkingTokens) : 0,
    },
    ...{ inference_geo: null, server_tool_use: null, service_tier: "standard", speed: "standard" },
  };
  if (turn.usage) {
    const { prompt_tokens: all, cached_tokens: read = 0 } = turn.usage;
    return { input_tokens: all - read, ...cacheFields(0, read), ...rest };
  }
  const settings = JSON.stringify([body.thinking, body.output_config?.effort, body.tool_choice]);
  const total = promptTokens(body);
  let [text, hash, step, kind] = ["", body.model, 0, ""];
  const steps = positions(body).map(({ part, block, isMarked }) => {
    const inMessage = part !== "tools" && part !== "system";
    const type = inMessage ? String(block.type) : part;
    if (type !== kind || !type.startsWith("tool_")) step++;
    kind = type;
    text += unmarked(block);
    hash = createHash("sha256")
      .update(JSON.stringify([hash, part, inMessage && settings, unmarked(block)]))
      .digest("hex");
    const tokens = Math.min(total, Math.ceil(text.length / 4));
    return { step, hash, tokens, isMarked };
  });
  const marked = steps.filter(({ isMarked }) => isMarked);
  const hit = steps.findLast(
    (one) =>
      cached.has(one.hash) && marked.some((mark) => mark.step >= one.step && mark.step - one.step < 20),
  );
  for (const mark of marked) cached.add(mark.hash);
  const read = hit?.tokens ?? 0;
  const written = Math.max(read, marked.at(-1)?.tokens ?? 0);
  return { input_tokens: total - written, ...cacheFields(written - read, read), ...rest };
}

const cacheFields = (written: number, read: number) => ({
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: written },
  cache_creation_input_tokens: written,
  cache_read_input_tokens: read,
});

/** Of types, ModelInfo, what a client of ours could read. */
function sendModels(response: ServerResponse, path: string, options: FakeAnthropicOptions) {
  const names = options.models ?? ["claude-fake"];
  const [, , , name] = path.split("/").map(decodeURIComponent);
  const info = (id: string) => ({
    ...{ id, type: "model", display_name: id, created_at: "2026-01-01T00:00:00Z" },
    max_input_tokens: options.contextTokens ?? 200_000,
    max_tokens: options.mostOutputTokens ?? 64_000,
  });
  if (name === undefined) {
    const ends = { has_more: false, first_id: names[0] ?? null, last_id: names.at(-1) ?? null };
    return sendClaude(response, 200, { data: names.map(info), ...ends });
  }
  if (options.models && !names.includes(name)) {
    return sendError(response, 404, "not_found_error", `model: ${name}`);
  }
  sendClaude(response, 200, info(name));
}

function errorBody(type: string, message: string) {
  return { type: "error", error: { type, message }, request_id: "req_fake" };
}

const sendError = (response: ServerResponse, status: number, type: string, message: string) =>
  sendClaude(response, status, errorBody(type, message));

const sendClaude = (response: ServerResponse, status: number, body: unknown) =>
  sendJson(response, status, body, { "request-id": "req_fake" });
