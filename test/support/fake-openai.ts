import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { listenHere } from "./local-server.ts";
import { type ChatRequestBody, complaintAbout } from "./openai-request-rules.ts";

export type { ChatRequestBody, WireMessage, WireTool } from "./openai-request-rules.ts";

export interface FakeUsage {
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens?: number;
}

/** A turn of the fake model. Objects as `arguments` are written as JSON; a string is sent unchanged, even if it is broken. */
export interface FakeTurn {
  content?: string | null;
  tool_calls?: { id?: string; name: string; arguments?: Record<string, unknown> | string }[];
  /** Null omits the usage. If omitted, it is estimated from the request and the prefix it shares with the previous one. */
  usage?: FakeUsage | null;
  finish_reason?: string | null;
  /** Milliseconds before the answer begins. */
  delay?: number;
}

/** A fault instead of an answer. */
export type FakeFault =
  | { fault: "status"; status: number; headers?: Record<string, string>; body?: unknown; delay?: number }
  | { fault: "html"; status?: number; delay?: number }
  /** The connection is cut before the first byte of the answer. */
  | { fault: "reset"; delay?: number }
  /** The answer is cut in the middle of its JSON. */
  | { fault: "truncated"; delay?: number }
  /** No answer until the client gives up or the server is closed. */
  | { fault: "hang" }
  /** Exactly this JSON with status 200, for servers that deviate from the dialect. */
  | { fault: "json"; body: unknown; delay?: number }
  /** Exactly these bytes with status 200, in this encoding. */
  | { fault: "packed"; body: Buffer; encoding: "gzip" | "identity"; delay?: number };

export type FakeAnswer = FakeTurn | FakeFault;

/** Answers request number `n` (from 0, chat completions only). */
export type FakeScript =
  | FakeAnswer[]
  | ((body: ChatRequestBody, n: number) => FakeAnswer | Promise<FakeAnswer>);

export interface FakeOpenAiOptions {
  script: FakeScript;
  /** The only accepted key. Default "test-key". */
  apiKey?: string;
  /** The available models; others answer 404. Null (default) accepts every name and lists "fake-model". */
  models?: string[] | null;
  /** The supported limit on the answer: OpenAI's reasoning models refuse `max_tokens`, many local servers the other. */
  tokenParameter?: "max_tokens" | "max_completion_tokens";
}

export interface FakeRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: ChatRequestBody;
  /** True if the client hung up before the answer. */
  hungUp: boolean;
}

export interface FakeOpenAi {
  /** Base URL as a client takes it, with `/v1`. */
  url: string;
  /** Every request to /chat/completions, refused ones too, in order of arrival. */
  requests: FakeRequest[];
  /** Requests that a real endpoint would refuse (answered with 400), and errors of the script. Empty in a sound test. */
  complaints: string[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts an endpoint on 127.0.0.1 that speaks `/v1/chat/completions` and `/v1/models` from a script. */
export async function startFakeOpenAi(options: FakeOpenAiOptions): Promise<FakeOpenAi> {
  const requests: FakeRequest[] = [];
  const complaints: string[] = [];
  const server = createServer((request, response) => {
    handle(request, response, { options, requests, complaints }).catch((error: unknown) => {
      complaints.push(String(error));
      if (!response.headersSent) sendError(response, 400, `script failed: ${error}`);
    });
  });
  const { origin, close } = await listenHere(server);
  return { url: `${origin}/v1`, requests, complaints, close, [Symbol.asyncDispose]: close };
}

interface Served {
  options: FakeOpenAiOptions;
  requests: FakeRequest[];
  complaints: string[];
}

async function handle(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const { options, requests, complaints } = served;
  let raw = "";
  for await (const chunk of request.setEncoding("utf8")) raw += chunk;
  const path = request.url ?? "";
  const models = options.models ?? null;
  const authorized = request.headers.authorization === `Bearer ${options.apiKey ?? "test-key"}`;
  const unauthorized = () =>
    sendError(response, 401, `Incorrect API key provided: ${request.headers.authorization}.`, {
      code: "invalid_api_key",
    });

  if (request.method === "GET" && path === "/v1/models") {
    if (!authorized) return unauthorized();
    const data = (models ?? ["fake-model"]).map((id) => ({
      id,
      object: "model",
      created: 1,
      owned_by: "fake",
    }));
    return sendJson(response, 200, { object: "list", data });
  }
  if (request.method !== "POST" || path !== "/v1/chat/completions") {
    return sendError(response, 404, `Invalid URL (${request.method} ${path})`);
  }

  const body = JSON.parse(raw) as ChatRequestBody;
  const seen: FakeRequest = { method: request.method, path, headers: request.headers, body, hungUp: false };
  response.on("close", () => {
    seen.hungUp = !response.writableFinished;
  });
  const n = requests.push(seen) - 1;
  if (!authorized) return unauthorized();
  const complaint = complaintAbout(body);
  if (complaint) {
    complaints.push(complaint);
    return sendError(response, 400, complaint);
  }
  if (models && !models.includes(body.model)) {
    const message = `The model \`${body.model}\` does not exist or you do not have access to it.`;
    return sendError(response, 404, message, { code: "model_not_found" });
  }
  if (sendRefusedParameter(response, body, options.tokenParameter)) return;

  const answer = Array.isArray(options.script) ? options.script[n] : await options.script(body, n);
  if (answer === undefined) throw new Error(`the script ended before request ${n}`);
  if ("delay" in answer && answer.delay) await new Promise((done) => setTimeout(done, answer.delay));
  if (response.destroyed) return;
  if ("fault" in answer) return sendFault(response, answer);
  sendJson(response, 200, completion(body, answer, n, requests[n - 1]?.body));
}

function sendRefusedParameter(
  response: ServerResponse,
  body: ChatRequestBody,
  known: FakeOpenAiOptions["tokenParameter"],
): boolean {
  const refused = known === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  if (known === undefined || body[refused] === undefined) return false;
  const message = `Unsupported parameter: '${refused}' is not supported with this model. Use '${known}' instead.`;
  sendError(response, 400, message, { code: "unsupported_parameter", param: refused });
  return true;
}

/** The bodies of a dialect that faults have. */
export interface FaultBodies {
  /** An answer, to be cut. */
  answer: unknown;
  error(status: number): unknown;
}

const openAiFaults: FaultBodies = {
  answer: { id: "x", choices: [{ message: { role: "assistant", content: "cut" } }] },
  error: (status) => ({ error: { message: `fault ${status}`, type: "fault", param: null, code: null } }),
};

export function sendFault(response: ServerResponse, answer: FakeFault, bodies = openAiFaults): void {
  switch (answer.fault) {
    case "hang":
      return;
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "html":
      response.writeHead(answer.status ?? 200, { "content-type": "text/html" });
      response.end("<!doctype html><html><head><title>Welcome</title></head><body>Not an API</body></html>");
      return;
    case "packed":
      response.writeHead(200, { "content-type": "application/json", "content-encoding": answer.encoding });
      response.end(answer.body);
      return;
    case "truncated": {
      const text = JSON.stringify(bodies.answer);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(text.slice(0, text.length / 2));
      return;
    }
    case "json":
      sendJson(response, 200, answer.body);
      return;
    case "status": {
      sendJson(response, answer.status, answer.body ?? bodies.error(answer.status), answer.headers);
      return;
    }
  }
}

/** About four characters per token; real tokenizers differ by model, and no test depends on them. */
const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4);

function completion(body: ChatRequestBody, turn: FakeTurn, n: number, before: ChatRequestBody | undefined) {
  const toolCalls = turn.tool_calls?.map((call, index) => ({
    id: call.id ?? `call_${n}_${index}`,
    type: "function",
    function: {
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {}),
    },
  }));
  const message = {
    role: "assistant",
    content: turn.content ?? null,
    refusal: null,
    ...(toolCalls?.length ? { tool_calls: toolCalls } : {}),
  };
  const usage = turn.usage === undefined ? estimate(body, message, before) : turn.usage;
  const finishReason =
    turn.finish_reason === undefined ? (toolCalls?.length ? "tool_calls" : "stop") : turn.finish_reason;
  return {
    id: `chatcmpl-${n}`,
    object: "chat.completion",
    created: 1_700_000_000 + n,
    model: body.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    ...(usage === null ? {} : { usage: wireUsage(usage) }),
  };
}

/** Like a provider's prompt cache: the prefix that the request shares with the previous one is cached. */
function estimate(body: ChatRequestBody, message: unknown, before: ChatRequestBody | undefined): FakeUsage {
  const differs = body.messages.findIndex(
    (one, i) => JSON.stringify(one) !== JSON.stringify(before?.messages[i]),
  );
  const shared = differs < 0 ? body.messages.length : differs;
  const sameTools = JSON.stringify(body.tools) === JSON.stringify(before?.tools);
  return {
    prompt_tokens: tokens([body.tools ?? [], body.messages]),
    completion_tokens: tokens(message),
    cached_tokens:
      before && sameTools && shared > 0 ? tokens([body.tools ?? [], body.messages.slice(0, shared)]) : 0,
  };
}

const wireUsage = (usage: FakeUsage) => ({
  prompt_tokens: usage.prompt_tokens,
  completion_tokens: usage.completion_tokens,
  total_tokens: usage.prompt_tokens + usage.completion_tokens,
  prompt_tokens_details: { cached_tokens: usage.cached_tokens ?? 0 },
});

function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  more: { code?: string; param?: string } = {},
) {
  const error = {
    message,
    type: "invalid_request_error",
    param: more.param ?? null,
    code: more.code ?? null,
  };
  sendJson(response, status, { error });
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", "x-request-id": "req_fake", ...headers });
  response.end(JSON.stringify(body));
}
