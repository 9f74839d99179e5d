import { z } from "zod";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const MAX_SUMMARY = 8_000;

const Input = z.strictObject({
  summary: z
    .string()
    .min(1)
    .max(MAX_SUMMARY)
    .describe("What the change does and how it stands, in a few sentences, without the findings."),
});
type Input = z.infer<typeof Input>;

async function execute(input: Input, context: ToolContext) {
  const answer = await context.report.finish(input.summary);
  if (!answer.ok) throw new ToolError(answer.reason);
  return { output: { finished: true as const }, endsLoop: true };
}

export const finishReview = defineTool<Input, { finished: true }>({
  name: "finish_review",
  title: "Finish the review",
  description:
    "Ends the review, once everything that matters was reported. Refused while hunks are unread; the answer names their files.",
  returns: "`{finished: true}`, or an error that names each unread file as `diff_file` takes it.",
  example: { summary: "Moves retries into the client. Sound apart from the two findings reported." },
  kind: "report",
  finishes: true,
  input: Input,
  execute,
  render: () => ({ text: "The review is finished." }),
});
