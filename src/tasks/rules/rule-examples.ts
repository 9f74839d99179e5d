import { createHash } from "node:crypto";
import { z } from "zod";
import type { Masking } from "../../agent/llm/masked-request.ts";
import type { Message, Model, Usage } from "../../agent/llm/model.ts";
import { parseArguments } from "../../agent/tools/run-tool.ts";
import { toDefinition } from "../../agent/tools/to-openai.ts";
import { ToolError } from "../../agent/tools/tool.ts";
import type { NamedRule } from "../../config/named-rules.ts";
import { AppError } from "../../core/errors.ts";
import { wrapUntrusted } from "../../core/text/fence.ts";
import { examplesPrompt } from "../prompts/prompts.ts";

interface Example {
  kind: "right" | "wrong";
  /** Its index in the list of the configuration. */
  at: number;
  code: string;
}

interface MistakenExample extends Pick<Example, "kind" | "at"> {
  why: string;
}

const Verdicts = z.strictObject({
  verdicts: z.array(
    z.strictObject({
      example: z.int().min(1).describe("Its number."),
      breaks: z.boolean(),
      why: z.string().min(1).max(2_000).describe("One plain sentence."),
    }),
  ),
});

const tool = {
  name: "judge_examples",
  description:
    "Says of each example whether it breaks the rule. Called once, with a verdict for every example.",
  input: Verdicts,
};

const TRIES = 3;
const MOST_ANSWER_TOKENS = 16_000;

/** The examples of a rule, in an order that does not tell what they are. */
export function examplesOf({ examples }: Pick<NamedRule, "examples">): Example[] {
  const all = (["right", "wrong"] as const).flatMap((kind) =>
    examples[kind].map((code, at): Example => ({ kind, at, code })),
  );
  const mark = ({ code }: Example) => createHash("sha256").update(code).digest("hex");
  return all.toSorted((a, b) => (mark(a) < mark(b) ? -1 : 1));
}

/**
 * Asks a model which examples of a rule break it. Secrets in them are masked.
 *
 * @throws AppError of the model, and `model_failed` if it gives no verdict on each example in several tries
 */
export async function tryExamplesOf(
  rule: NamedRule,
  model: Model,
  masking: Masking,
  signal: AbortSignal,
): Promise<{ mistaken: MistakenExample[]; usage: Usage[] }> {
  const examples = examplesOf(rule);
  const messages: Message[] = [
    { role: "system", content: examplesPrompt },
    { role: "user", content: questionOf(rule, examples) },
  ];
  const tools = [toDefinition(tool)];
  const usage: Usage[] = [];
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const request = await masking.request({ messages, tools, maxOutputTokens: MOST_ANSWER_TOKENS });
    const turn = await model.respond(request, signal);
    usage.push(turn.usage);
    const { content, toolCalls, extras } = turn;
    const answer = verdictsIn(toolCalls, examples.length);
    if (typeof answer !== "string") {
      const mistaken = examples.flatMap(({ kind, at }, index): MistakenExample[] => {
        const verdict = answer.get(index + 1);
        const isMistaken = verdict !== undefined && verdict.breaks !== (kind === "wrong");
        return isMistaken ? [{ kind, at, why: masking.masks.forPeople(verdict.why) }] : [];
      });
      return { mistaken: mistaken.toSorted(inOrder), usage };
    }
    messages.push({ role: "assistant", content, toolCalls, ...(extras && { extras }) });
    if (toolCalls.length === 0) messages.push({ role: "user", content: answer });
    for (const { id } of toolCalls) messages.push({ role: "tool", callId: id, content: `error: ${answer}` });
  }
  throw new AppError(
    "model_failed",
    `The model ${model.name} gave no verdict on the examples of ${rule.name}`,
    {
      remedy: "Try again, or name another model.",
    },
  );
}

const inOrder = (a: MistakenExample, b: MistakenExample) =>
  (a.kind < b.kind ? -1 : Number(a.kind > b.kind)) || a.at - b.at;

function questionOf({ name, what }: NamedRule, examples: readonly Example[]): string {
  return [
    `# The rule ${name}\n${what.trim()}`,
    ...examples.map(
      ({ code }, at) => `# Example ${at + 1} of ${examples.length}\n${wrapUntrusted("example", code)}`,
    ),
  ].join("\n\n");
}

type Verdict = z.infer<typeof Verdicts>["verdicts"][number];

/** A verdict on each example by its number, or what is wrong with the answer, for the model. */
function verdictsIn(
  calls: readonly { name: string; arguments: string }[],
  count: number,
): Map<number, Verdict> | string {
  const call = calls.find(({ name }) => name === tool.name);
  if (!call) return `call ${tool.name} with a verdict for each of the ${count} examples`;
  try {
    const { verdicts } = Verdicts.parse(parseArguments(tool, call.arguments).input);
    const byNumber = new Map(verdicts.map((one) => [one.example, one]));
    const missing = Array.from({ length: count }, (_, at) => at + 1).filter(
      (number) => !byNumber.has(number),
    );
    return missing.length === 0 ? byNumber : `there is no verdict on example ${missing.join(", ")}`;
  } catch (error) {
    if (error instanceof ToolError) return error.message;
    throw error;
  }
}
