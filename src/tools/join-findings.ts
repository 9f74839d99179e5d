import { z } from "zod";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const MAX_OTHERS = 50;

const Input = z.strictObject({
  keep: z.string().describe("Id of the finding that says it best."),
  others: z.array(z.string()).min(1).max(MAX_OTHERS).describe("Ids of findings with the same root cause."),
});
type Input = z.infer<typeof Input>;

interface JoinOutput {
  keep: string;
  note: string;
}

async function execute({ keep, others }: Input, context: ToolContext) {
  const answer = context.join?.join(keep, others) ?? { ok: false, reason: "there are no findings to join" };
  if (!answer.ok) throw new ToolError(answer.reason);
  return { output: { keep, note: answer.note } };
}

export const joinFindings = defineTool<Input, JoinOutput>({
  name: "join_findings",
  title: "Join findings of one cause",
  description:
    "Makes one finding of several with one root cause. Those on the same lines fall away; those elsewhere become further places of the one that is kept.",
  returns: "`keep` and a `note` that says what became of the others, or an error that names an unknown id.",
  example: { keep: "3f2a9c0d1e4b", others: ["77ab01c2d3e4"] },
  kind: "report",
  input: Input,
  execute,
  render: ({ keep, note }) => ({ text: `${keep}: ${note}.` }),
});
