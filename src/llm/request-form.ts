import { isObject } from "./lenient-json.ts";
import type { Avoidable, Message, ModelRequest } from "./model.ts";
import { isShortId, withShortIds } from "./request.ts";

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

/**
 * A schema in the words that every known server understands: one type each, and no null. It accepts what the given one accepts, without
 * null; what it accepts beyond that, the tool refuses.
 */
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
