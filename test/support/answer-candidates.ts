import type { ModelRequest } from "../../src/agent/llm/model.ts";
import type { ScriptedTurn } from "./scripted.ts";

/** Ids of the rule matches that a request asks the model to answer. */
export function candidateIds({ messages }: { messages: readonly { content: string }[] }): string[] {
  const shown = messages.map(({ content }) => content).join("\n");
  return [...new Set([...shown.matchAll(/^(c\d+) \S.*\(\S+\)(?:: .*)?$/gm)].map(([, id]) => id ?? ""))];
}

/** Makes a turn that finishes also reject every rule match that the model did not report. */
export function rejectingOthers(turn: ScriptedTurn, request: Pick<ModelRequest, "messages">): ScriptedTurn {
  const ids = candidateIds(request);
  const rejected = ids.map((candidate) => ({ candidate, reason: "The code is right here." }));
  const { toolCalls } = turn;
  if (!toolCalls) return turn;
  return {
    ...turn,
    toolCalls: toolCalls.map((call) =>
      call.name === "finish_review" && typeof call.arguments === "object"
        ? { ...call, arguments: { rejected, ...call.arguments } }
        : call,
    ),
  };
}
