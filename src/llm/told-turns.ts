import type { Message } from "./model.ts";

/**
 * A conversation whose first part is told instead of shown: up to the last turn without anything that its provider could have
 * signed. For providers that take no call of the model without it (Gemini, DeepSeek, Kimi), where another model began the
 * conversation. A made-up signature would pass with some of them, and they answer worse. The same messages always become the
 * same text, so that a request begins with all of the one before.
 */
export function withToldTurns(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLastIndex(isUnsigned);
  if (last < 0) return messages;
  const first = messages.findIndex(({ role }) => role === "assistant");
  const next = messages.findIndex((message, index) => index > last && message.role !== "tool");
  const end = next < 0 ? messages.length : next;
  const told = tell(messages.slice(first, end));
  const [before, task] = [messages.slice(0, first), messages[first - 1]];
  // Many templates insist on turns that alternate.
  if (task?.role !== "user") return [...before, { role: "user", content: told }, ...messages.slice(end)];
  const joined: Message = { role: "user", content: `${task.content}\n\n${told}` };
  return [...before.slice(0, -1), joined, ...messages.slice(end)];
}

export const hasUnsigned = (messages: readonly Message[]): boolean => messages.some(isUnsigned);

const isUnsigned = (message: Message): boolean =>
  message.role === "assistant" && !message.extras && !message.toolCalls.some(({ extras }) => extras);

function tell(messages: readonly Message[]): string {
  const names = new Map<string, string>();
  const parts = messages.flatMap((message) => {
    if (message.role === "tool")
      return [`Answer of ${names.get(message.callId) ?? "a tool"}:\n${message.content}`];
    if (message.role !== "assistant") return [message.content];
    for (const { id, name } of message.toolCalls) names.set(id, name);
    const calls = message.toolCalls.map((call) => `Called ${call.name} with ${call.arguments}`);
    return message.content === "" ? calls : [message.content, ...calls];
  });
  return ["# What was done until here", ...parts, "# From here on it is up to you"].join("\n\n");
}
