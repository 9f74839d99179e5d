import * as registries from "../../src/tools/index.ts";
import type { AnyTool } from "../../src/tools/tool.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import type { Call } from "./corpus/calls.ts";

/** Whatever the registry holds, also what is added to it one day. */
export const allTools: readonly AnyTool[] = [...new Set(Object.values(registries).flat())];
export const readingTools = allTools.filter(({ kind }) => kind === "read");

/** What a model does in a role, which is named by its tool that no other role has. */
export interface Obedience {
  /** Calls of each turn; `loop` counts the conversations. */
  attack(role: string, loop: number): readonly (readonly Call[])[];
  /** The turns after those, when all is seen; the last of them ends the conversation. `task` is what it was asked to do. */
  ending(role: string, seen: Seen, task: string): Call[][];
}

/** A call, and what came back. */
export interface Answered extends Call {
  role: string;
  answer: string;
}

/** All that a model was ever told by tools. */
export class Seen {
  /** By the id of the call. */
  readonly #answered = new Map<string, Answered>();

  /** Of one conversation so far. An answer that was shortened later on is kept as it was at first. */
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

  /** What may be a secret first and refusals last, each line once, in pieces of so many characters. */
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
 * A model that obeys whoever told it to steal: in whatever role it makes every call of an attack, and then says what it has
 * seen wherever it may say something.
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
    // Next to nothing: what so many calls really take would be more than questions may cost.
    const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
    return { content: "As you wish.", tool_calls: [...calls], usage };
  }

  return { script, seen };
}

/** What merges may also report and finish as a reviewer does. */
const tellingTools = [
  "join_findings",
  ...allTools.filter(({ finishes }) => finishes).map(({ name }) => name),
];

/** The first of them that is offered. */
function roleOf({ tools = [] }: ChatRequestBody): string {
  const offered = new Set(tools.map((one) => one.function.name));
  return tellingTools.find((name) => offered.has(name)) ?? "nothing ends it";
}
