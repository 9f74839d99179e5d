import { createHash } from "node:crypto";
import { holdsPlainSecret, withoutLiveSecrets } from "../../core/secrets/live-secrets.ts";
import { isObject } from "./lenient-json.ts";
import type { Avoidable, Message, ModelRequest } from "./model.ts";

/* What all providers need of a request before it is sent. */

export const idsOf = ({ messages }: Pick<ModelRequest, "messages">): Set<string> =>
  new Set(
    messages.flatMap((message) =>
      message.role === "assistant" ? message.toolCalls.map((call) => call.id) : [],
    ),
  );

export const isShortId = (id: string): boolean => /^[a-zA-Z0-9]{9}$/.test(id);

/** An id of nine letters and digits, which every server accepts. The same text gives the same one, unless it is in `taken`. */
export function freeId(text: string, taken: Set<string>): string {
  for (let n = 0; ; n++) {
    const digest = createHash("sha256").update(`${text} ${n}`).digest("hex");
    const id = BigInt(`0x${digest.slice(0, 16)}`)
      .toString(36)
      .padStart(9, "0")
      .slice(-9);
    if (!taken.has(id)) return taken.add(id) && id;
  }
}

/** A conversation with short ids in place of some: the same in each call and its answer, also when the conversation has grown. */
export function withShortIds(
  messages: readonly Message[],
  isReplaced: (id: string, turn: Extract<Message, { role: "assistant" }>) => boolean,
): Message[] {
  const taken = idsOf({ messages });
  const replaced = new Map<string, string>();
  return messages.map((message): Message => {
    if (message.role === "tool")
      return { ...message, callId: replaced.get(message.callId) ?? message.callId };
    if (message.role !== "assistant" || message.toolCalls.length === 0) return message;
    const toolCalls = message.toolCalls.map((call) => {
      if (!isReplaced(call.id, message)) return call;
      const id = replaced.get(call.id) ?? freeId(call.id, taken);
      replaced.set(call.id, id);
      return { ...call, id };
    });
    return { ...message, toolCalls };
  });
}

/** The name of a call in the letters that all providers accept. */
export const nameOnWire = (name: string): string =>
  name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";

/** Without secrets of this server, which a repository may contain by mistake. A refusal would make such a repository unreviewable. */
export function withoutServerSecrets(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message): Message => {
    const content = withoutSecrets(message.content);
    if (message.role !== "assistant") return { ...message, content };
    const toolCalls = message.toolCalls.map((call) => ({
      ...call,
      arguments: withoutSecrets(call.arguments),
    }));
    return { ...message, content, toolCalls };
  });
  return { ...request, messages };
}

/** The search for every spelling is slow on a long text, and only worth it if one is found. */
const withoutSecrets = (text: string) => (holdsPlainSecret(text) ? withoutLiveSecrets(text) : text);

/** The request in neutral terms, without what is to be avoided. */
export function formed(request: ModelRequest, avoids: ReadonlySet<Avoidable>): ModelRequest {
  const silent = avoids.has("text_beside_calls") ? request.messages.map(callsAlone) : request.messages;
  const joined = avoids.has("user_after_tool") ? withJoinedTexts(silent) : silent;
  return {
    ...request,
    messages: avoids.has("long_ids") ? withShortIds(joined, (id) => !isShortId(id)) : joined,
    tools: avoids.has("rich_schemas")
      ? request.tools.map((tool) => ({ ...tool, parameters: plainSchema(tool.parameters) }))
      : request.tools,
  };
}

const callsAlone = (message: Message): Message =>
  message.role === "assistant" && message.toolCalls.length > 0 ? { ...message, content: "" } : message;

/** Our texts appended to the answer or text before them, so that turns alternate. Each message always ends up in the same place. */
function withJoinedTexts(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "user" && (last?.role === "tool" || last?.role === "user"))
      joined[joined.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` };
    else joined.push(message);
  }
  return joined;
}

/** A schema with one type each and no null, which every known server understands. What it accepts beyond the given one, the tool refuses. */
export function plainSchema(schema: Record<string, unknown>): Record<string, unknown> {
  const [other]: unknown[] = [schema.anyOf, schema.oneOf]
    .flat()
    .filter((one) => isObject(one) && one.type !== "null");
  const merged: typeof schema = { ...(isObject(other) && plainSchema(other)), ...schema };
  const { type, description, properties, required, items, ...rest } = merged;
  const guess = isObject(properties) ? "object" : isObject(items) ? "array" : "string";
  const kind = [type].flat().find((one) => typeof one === "string" && one !== "null") ?? guess;
  const inner = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, one]) =>
    isObject(one) ? [[name, plainSchema(one)]] : [],
  );
  const values = Array.isArray(rest.enum) ? rest.enum.filter((one) => one !== null) : [];
  return {
    type: kind,
    ...(typeof description === "string" ? { description } : {}),
    ...(kind === "object" ? { properties: Object.fromEntries(inner) } : {}),
    ...(kind === "object" && Array.isArray(required) && required.length > 0 ? { required } : {}),
    ...(kind === "array" && isObject(items) ? { items: plainSchema(items) } : {}),
    ...(values.length > 0 && values.every((one) => typeof one === "string") ? { enum: values } : {}),
  };
}
