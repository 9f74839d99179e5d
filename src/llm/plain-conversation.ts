import type { Message, ToolCall } from "./model.ts";

type Assistant = Extract<Message, { role: "assistant" }>;

export interface PlainOptions {
  /** Goes to the end of the system message. */
  rule: string;
  /** What the model said in an earlier turn, its calls included, as it should say it again. */
  write(turn: Assistant): string;
  /** How the answer to a call is headed; `number` counts the calls of its turn from 1. */
  heading(call: ToolCall, number: number): string;
}

/**
 * A conversation with tools as one of text alone. Each message becomes the same text every time, so that a request begins
 * with all of the one before; what stands between two of the model's turns is one message, for many templates insist on
 * turns that alternate.
 */
export function plainConversation(messages: readonly Message[], options: PlainOptions): Message[] {
  const plain: Message[] = [];
  const headings = new Map<string, string>();
  for (const message of withRule(messages, options.rule)) {
    if (message.role === "assistant") {
      for (const [index, call] of message.toolCalls.entries()) {
        headings.set(call.id, options.heading(call, index + 1));
      }
      plain.push({ role: "assistant", content: options.write(message), toolCalls: [] });
      continue;
    }
    if (message.role === "system") {
      plain.push(message);
      continue;
    }
    const text =
      message.role === "tool"
        ? `${headings.get(message.callId) ?? "Answer"}:\n${message.content}`
        : message.content;
    const before = plain.at(-1);
    if (before?.role === "user")
      plain[plain.length - 1] = { ...before, content: `${before.content}\n\n${text}` };
    else plain.push({ role: "user", content: text });
  }
  return plain;
}

function withRule(messages: readonly Message[], rule: string): Message[] {
  const [first, ...others] = messages;
  if (first?.role !== "system") return [{ role: "system", content: rule }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${rule}` }, ...others];
}

/** Ids for the calls of the next turn: a conversation only grows, so none of them was given before. */
export const idsAfter = (messages: readonly Message[]) => (index: number) =>
  `text_${messages.length}_${index}`;
