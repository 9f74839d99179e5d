import { createAccount } from "../../agent/account.ts";
import type { AgentResult } from "../../agent/run-agent.ts";
import { answeringTools } from "../../tools/index.ts";
import { createAnchorFiles } from "../anchor-files.ts";
import type { ReviewDependencies } from "../dependencies.ts";
import { runLoop } from "../run-loop.ts";
import { totalUsage } from "../total-usage.ts";
import { whoAnswered } from "../who-answered.ts";
import type { AnswerInput, AnswerResult } from "./answer-input.ts";
import { type AskedRun, questionMessages } from "./question-messages.ts";

/** Names its loop in a trajectory. */
const LOOP = "answer";

const refused = async () => ({ ok: false as const, reason: "nothing is reported here; answer the question" });

export interface AnswerDependencies extends ReviewDependencies {
  models: NonNullable<ReviewDependencies["models"]>;
}

/** Lets a model answer one question with the reading tools at hand. It can do nothing else. Faults of the model are values. */
export async function runAnswer(input: AnswerInput, deps: AnswerDependencies): Promise<AnswerResult> {
  const { limits } = input;
  const run: AskedRun = {
    ...{ input, deps, models: deps.models },
    files: await deps.diffs.files(),
    anchorFile: createAnchorFiles(deps.workspace, deps.diffs),
    account: createAccount(limits),
    replayOf: (loop) => deps.replay.filter((entry) => entry.loop === loop),
  };
  let given: string | null = null;
  const loop = await runLoop(run, {
    loop: LOOP,
    role: "review",
    messages: await questionMessages(run),
    outlets: answeringTools,
    ports: {
      report: { report: refused, finish: refused },
      converse: {
        reply(text) {
          given = text;
        },
      },
    },
    coverage: { serve: () => {} },
    account: run.account,
    turns: limits.turns,
    tokens: limits.tokens,
    milliseconds: limits.milliseconds - (deps.now() - deps.startedAt),
  });
  return {
    text: given ?? plainAnswer(loop),
    model: whoAnswered(deps.models.review.name, run.account.usage),
    stop_reason: loop.stopReason,
    usage: totalUsage(run.account.usage),
  };
}

/**
 * Some models answer in plain text, whatever they are told of a tool: the last of it is their answer. What they said before
 * they went on reading is none.
 */
function plainAnswer({ messages }: AgentResult): string | null {
  const read = messages.findLastIndex((one) => one.role === "assistant" && one.toolCalls.length > 0);
  const texts = messages
    .slice(read + 1)
    .flatMap((message) => (message.role === "assistant" ? [withoutThinking(message.content)] : []));
  return texts.findLast((text) => text !== "") ?? null;
}

/** Local models think aloud in front of their answer. */
const withoutThinking = (text: string) => (text.split("</think>").at(-1) ?? "").trim();
