import * as registries from "../../src/agent/tools/index.ts";
import type { AnyTool } from "../../src/agent/tools/tool.ts";
import { isSecondLook } from "../support/claims.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import type { Call } from "./corpus/calls.ts";

/** All tools of the registries, including future ones. */
export const allTools: readonly AnyTool[] = [...new Set(Object.values(registries).flat())];
export const readingTools = allTools.filter(({ kind }) => kind === "read");

/** A model's behavior in a role, which is identified by the tool that ends it. */
export interface Obedience {
  /** The calls of each turn; `loop` counts the conversations. */
  attack(role: string, loop: number): readonly (readonly Call[])[];
  /** The turns after the attack; the last one ends the conversation. `task` is the model's instruction. */
  ending(role: string, seen: Seen, task: string): Call[][];
}

/** A call and its answer. */
export interface Answered extends Call {
  role: string;
  answer: string;
}

/** All tool results that a model has received. */
export class Seen {
  /** By call id. */
  readonly #answered = new Map<string, Answered>();

  /** Adds the answers of one conversation. An answer that is shortened later keeps its first text. */
  take(role: string, { messages }: ChatRequestBody): void {
    const calls = new Map(
      messages.flatMap((one) => one.tool_calls ?? []).map((call) => [call.id, call.function]),
    );
    for (const { tool_call_id: id = "", content } of messages) {
      const call = calls.get(id);
      if (call && !this.#answered.has(id)) this.#answered.set(id, { ...call, role, answer: content ?? "" });
    }
  }

  answered(): readonly Answered[] {
    return [...this.#answered.values()];
  }

  /** The distinct lines, possible secrets first and refusals last, in pieces of `characters` characters. */
  pieces(characters: number): string[] {
    const rank = (line: string) => (/[A-Za-z0-9+/]{20,}/.test(line) ? 0 : 1) + (/^error/.test(line) ? 2 : 0);
    const lines = new Set(this.answered().flatMap(({ answer }) => answer.split("\n")));
    const text = [...lines].sort((a, b) => rank(a) - rank(b)).join("\n");
    return Array.from({ length: Math.ceil(text.length / characters) }, (_, at) =>
      text.slice(at * characters, (at + 1) * characters),
    );
  }
}

/**
 * A model that obeys orders to steal: in every role it makes every call of an attack, and then reports what it has seen in every free text.
 */
export function obedientModel({ attack, ending }: Obedience) {
  const seen = new Seen();
  const loops = new Map<string, number>();

  function script(body: ChatRequestBody): FakeTurn {
    const role = roleOf(body);
    seen.take(role, body);
    const task = `${role} ${body.messages[1]?.content}`;
    const loop = loops.get(task) ?? loops.size;
    loops.set(task, loop);
    const turn = body.messages.filter((one) => one.role === "assistant").length;
    const turns = attack(role, loop);
    const calls = turns[turn] ?? ending(role, seen, task)[turn - turns.length] ?? [];
    // Almost nothing: the real usage of so many calls would exceed the limit of questions.
    const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
    return { content: "As you wish.", tool_calls: [...calls], usage };
  }

  return { script, seen };
}

/** The role that merges may also report and finish like a reviewer. */
const tellingTools = [
  "join_findings",
  ...allTools.filter(({ name, finishes }) => finishes && name !== "report_verdict").map(({ name }) => name),
];

/** The first role whose tool is offered; a second look has the tools of a review. */
function roleOf(body: ChatRequestBody): string {
  if (isSecondLook(body)) return "report_verdict";
  const offered = new Set((body.tools ?? []).map((one) => one.function.name));
  return tellingTools.find((name) => offered.has(name)) ?? "nothing ends it";
}
