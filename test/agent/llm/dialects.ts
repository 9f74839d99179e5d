import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type ClaudeAnswer, type MessagesBody, startFakeAnthropic } from "../../support/fake-anthropic.ts";
import type { ChatRequestBody } from "../../support/fake-openai.ts";
import { complaintAbout } from "../../support/openai-request-rules.ts";

/** An answer of a server in its own words: status, body, headers. */
export type Reply = [status: number, body: unknown, headers?: Record<string, string>];

/** A row of `fixtures/dialects.json`: a server with which reviews are tried, as strict and as odd as the real one is known to be. */
export interface Dialect {
  name: string;
  /** Its sources, and where the double ends. */
  about: string;
  /** Default: Chat Completions. */
  api?: "anthropic";
  /** What leads the program to the server. */
  env: Record<string, string>;
  /** Of its conversations. */
  path: string;
  /** Answers at other paths; elsewhere 404. */
  looks?: Record<string, unknown>;
  /** What it refuses of a request: the name of a check, what the check needs, and the answer. */
  refuses?: [keyof typeof checks, string[], Reply][];
  answers?: Form;
  /** Refusals of content and of an account that is used up; none for servers that know neither. */
  content?: Reply[];
  quota?: Reply[];
  /** If the conversation alone, or with its answer, is longer than the window. A server without either cuts it, and does not say so. */
  tooLong: { prompt?: Reply; sum?: Reply };
}

/** How a server's answers differ from OpenAI's, with `{n}` (of the request), `{i}` (of the call) and `{text}` in its texts. */
interface Form {
  id: string;
  /** Null leaves out a key. */
  call?: object;
  index?: boolean;
  message?: object;
  choice?: object;
  whole?: object;
  /** It writes an empty list where there are no calls. */
  noCalls?: boolean;
  /** It sends events, although nobody asks for them. */
  stream?: boolean;
}

export const dialects: readonly Dialect[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../fixtures/dialects.json"), "utf8"),
);

/** What a model says in one turn. */
export interface Said {
  text: string;
  calls: { name: string; arguments: Record<string, unknown> }[];
}

/** A request to a model, of either API. Tokens are counted at four characters each. */
export interface Asked {
  tools: string[];
  messages: { role: string; content: string }[];
  /** Turns of the model so far, in this conversation. */
  turns: number;
  promptTokens: number;
  answerTokens: number;
}

export type Script = (asked: Asked) => Said | Reply;

/** A text of the fixture with what it leaves open; a text that is a number as a whole becomes one. */
export function filled<T>(value: T, holes: Record<string, string | number>): T {
  const text = JSON.stringify(value).replaceAll(/"\{(\w+)\}"|\{(\w+)\}/g, (all, whole, part) => {
    const given = holes[whole ?? part];
    if (given === undefined) return all;
    return whole && typeof given === "number"
      ? String(given)
      : JSON.stringify(String(given)).slice(whole ? 0 : 1, whole ? undefined : -1);
  });
  return JSON.parse(text);
}

/** Why a conversation of this length is refused; null if it is not. */
export function tooLong({ tooLong: { prompt, sum } }: Dialect, asked: Asked, window: number): Reply | null {
  const { promptTokens, answerTokens } = asked;
  const total = promptTokens + answerTokens;
  const reply = promptTokens > window ? (prompt ?? sum) : total > window ? sum : undefined;
  const vllm = { least: window + 1 - answerTokens, over: window + 1 };
  return reply
    ? filled(reply, { window, prompt: promptTokens, answer: answerTokens, sum: total, ...vllm })
    : null;
}

type Holes = Record<string, string | number>;

/** The first place in the tools' schemas that a server refuses; the keys of `properties` are names, and no keywords. */
function inSchemas(
  { tools = [] }: ChatRequestBody,
  refuses: (key: string, value: unknown) => boolean,
): Holes | null {
  const search = (schema: unknown, place: string, tool: number): Holes | null => {
    if (typeof schema !== "object" || schema === null) return null;
    const found = Object.entries(schema).map(([key, value]) => {
      const inner = key === "properties" ? Object.entries(value as object) : [["", value] as const];
      if (!Array.isArray(schema) && refuses(key, value)) return { place, key, tool };
      return inner.map(([name, one]) => search(one, `${place}.${name || key}`, tool)).find(Boolean);
    });
    return found.find(Boolean) ?? null;
  };
  return tools.map((tool, at) => search(tool.function.parameters, "parameters", at)).find(Boolean) ?? null;
}

const keyed = (key: string | undefined) => (key === undefined ? null : { key });

/** What servers refuse of requests: null if there is nothing, else what fills their words. */
const checks = {
  key: (body: ChatRequestBody, keys: string[]) => keyed(Object.keys(body).find((key) => keys.includes(key))),
  otherKey: (body: ChatRequestBody, known: string[]) =>
    keyed(Object.keys(body).find((key) => !known.includes(key))),
  otherMessageKey: ({ messages }: ChatRequestBody, known: string[]) =>
    keyed(messages.flatMap((message) => Object.keys(message)).find((key) => !known.includes(key))),
  id: ({ messages }: ChatRequestBody, [pattern = ""]: string[]) =>
    keyed(
      messages.flatMap((one) => one.tool_calls ?? []).find(({ id }) => !new RegExp(pattern).test(id))?.id,
    ),
  userAfterTool: ({ messages }: ChatRequestBody) =>
    messages.some(({ role }, at) => role === "user" && messages[at - 1]?.role === "tool") ? {} : null,
  textBesideCalls: ({ messages }: ChatRequestBody) =>
    messages.some(({ content, tool_calls: calls }) => content && calls?.[0]) ? {} : null,
  /** Calls without the signature that this server gave them. */
  unsigned: ({ messages }: ChatRequestBody) =>
    messages.some(({ tool_calls: calls }) => calls?.[0] && !("extra_content" in calls[0])) ? {} : null,
  typeList: (body: ChatRequestBody) =>
    inSchemas(body, (key, value) => key === "type" && Array.isArray(value)),
  nullInEnum: (body: ChatRequestBody) =>
    inSchemas(body, (key, value) => key === "enum" && Array.isArray(value) && value.includes(null)),
  keyword: (body: ChatRequestBody, known: string[]) => inSchemas(body, (key) => !known.includes(key)),
};

function refusalOf({ refuses = [] }: Dialect, body: ChatRequestBody): Reply | null {
  for (const [check, needs, reply] of refuses) {
    const holes: Holes | null = checks[check](body, needs);
    if (holes) return filled(reply, holes);
  }
  return null;
}

function completion(said: Said, body: ChatRequestBody, n: number, { answers }: Dialect): unknown {
  const form = answers ?? { id: "{n}{i}" };
  const digits = String(n).padStart(2, "0");
  const calls = said.calls.map((call, i) => {
    const made = { name: call.name, arguments: JSON.stringify(call.arguments) };
    const wire = { type: "function", ...(form.index && { index: i }), ...form.call };
    const kept = Object.entries(wire).filter(([, value]) => value !== null);
    return { id: filled(form.id, { n: digits, i }), ...Object.fromEntries(kept), function: made };
  });
  const message = {
    ...{ role: "assistant", content: said.text || null, ...filled(form.message ?? {}, { text: said.text }) },
    ...(calls.length > 0 || form.noCalls ? { tool_calls: calls } : {}),
  };
  const finish = calls.length > 0 ? "tool_calls" : "stop";
  const prompt = tokensOf(body);
  const usage = { prompt_tokens: prompt, completion_tokens: 50, total_tokens: prompt + 50 };
  const head = { id: `chatcmpl-${n}`, created: 1_790_000_000, model: body.model };
  if (form.stream) return streamed(head, message, finish, usage);
  const choices = [{ index: 0, message, finish_reason: finish, ...form.choice }];
  return { ...head, object: "chat.completion", choices, usage, ...form.whole };
}

/** The same as a stream of events, in small pieces. */
function streamed(
  head: object,
  message: { content: string | null; tool_calls?: object[] },
  finish: string,
  usage: object,
): string {
  const pieces = (text: string) => text.match(/[\s\S]{1,30}/g) ?? [];
  const calls = (message.tool_calls ?? []) as { id: string; function: { name: string; arguments: string } }[];
  const deltas = [
    ...pieces(message.content ?? "").map((content) => ({ content })),
    ...calls.flatMap(({ id, function: { name, arguments: json } }, index) => [
      { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
      ...pieces(json).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ];
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...more })}\n\n`;
  const choices = [
    ...deltas.map((delta) => ({ delta, finish_reason: null })),
    { delta: {}, finish_reason: finish },
  ];
  const sent = choices.map((choice) => chunk({ choices: [{ index: 0, ...choice }] })).join("");
  return `: keep-alive\n\n${sent}${chunk({ choices: [], usage })}data: [DONE]\n\n`;
}

export interface DialectServer {
  url: string;
  /** Every request that reached a model, with the answer if it was a refusal. */
  exchanges: { asked: Asked; refusal: Reply | null }[];
  /** Mistakes that no server takes. Empty in a sound test. */
  complaints: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

const tokensOf = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4);

const turnsIn = (messages: readonly { role: string }[]) =>
  messages.filter(({ role }) => role === "assistant").length;

export function startDialect(dialect: Dialect, script: Script): Promise<DialectServer> {
  return dialect.api === "anthropic" ? startClaude(script) : startChat(dialect, script);
}

async function startChat(dialect: Dialect, script: Script): Promise<DialectServer> {
  const exchanges: DialectServer["exchanges"] = [];
  const complaints: string[] = [];
  const key = dialect.env.OPENAI_API_KEY || dialect.env.AZURE_OPENAI_API_KEY;
  function answerTo(body: ChatRequestBody, authorization: string | undefined): Reply {
    const complaint = authorization === (key && `Bearer ${key}`) ? complaintAbout(body) : "wrong key";
    if (complaint) complaints.push(complaint);
    const asked: Asked = {
      tools: (body.tools ?? []).map((tool) => tool.function.name),
      messages: body.messages.map(({ role, content }) => ({ role, content: content ?? "" })),
      turns: turnsIn(body.messages),
      promptTokens: tokensOf([body.tools ?? [], body.messages]),
      answerTokens: body.max_tokens ?? body.max_completion_tokens ?? 0,
    };
    const answer = refusalOf(dialect, body) ?? script(asked);
    const refusal = Array.isArray(answer) ? answer : null;
    const n = exchanges.push({ asked, refusal });
    return Array.isArray(answer) ? answer : [200, completion(answer, body, n, dialect)];
  }
  const server = createServer(async (request, response) => {
    let raw = "";
    for await (const chunk of request.setEncoding("utf8")) raw += chunk;
    const path = request.url ?? "";
    const look = dialect.looks?.[path];
    const missing: Reply = look === undefined ? [404, { error: { message: "Not Found" } }] : [200, look];
    const [status, body, headers] =
      path === dialect.path ? answerTo(JSON.parse(raw), request.headers.authorization) : missing;
    const isStream = typeof body === "string";
    response.writeHead(status, {
      "content-type": isStream ? "text/event-stream" : "application/json",
      ...headers,
    });
    response.end(isStream ? body : JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ exchanges, complaints },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

const textOf = (content: MessagesBody["messages"][number]["content"] | undefined): string =>
  typeof content === "string"
    ? content
    : (content ?? []).map((one) => one.text ?? textOf(one.content)).join("\n");

async function startClaude(script: Script): Promise<DialectServer> {
  const exchanges: DialectServer["exchanges"] = [];
  const fake = await startFakeAnthropic({
    script({ tools = [], system, messages, max_tokens }): ClaudeAnswer {
      const asked: Asked = {
        tools: tools.map(({ name }) => name),
        messages: messages.map(({ role, content }) => ({ role, content: textOf(content) })),
        turns: turnsIn(messages),
        promptTokens: tokensOf([tools, system, messages]),
        answerTokens: max_tokens,
      };
      const answer = script(asked);
      exchanges.push({ asked, refusal: Array.isArray(answer) ? answer : null });
      if (!Array.isArray(answer))
        return { content: answer.text, tool_calls: answer.calls, thinking: ["I look first."] };
      const [status, body] = answer;
      return status === 200 ? (body as ClaudeAnswer) : { fault: "status", status, body };
    },
  });
  return { ...fake, exchanges };
}
