import { z } from "zod";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const MAX_SUMMARY = 8_000;
const MAX_REJECTED = 100;
const MAX_REASON = 500;

const Input = z.strictObject({
  summary: z
    .string()
    .min(1)
    .max(MAX_SUMMARY)
    .describe("What the change does and how good it is, in a few sentences, without the findings."),
  rejected: z
    .array(
      z.strictObject({
        candidate: z.string().min(1),
        reason: z.string().min(1).max(MAX_REASON).describe("Why the code is right, in one sentence."),
      }),
    )
    .max(MAX_REJECTED)
    .default([])
    .describe("Ids of rule matches that are not faults. Each match is either reported or rejected."),
});
type Input = z.infer<typeof Input>;

async function execute(input: Input, context: ToolContext) {
  if (!context.report)
    throw new ToolError(
      "there is no review to finish here: a second look ends with the verdict on the last claim",
    );
  const answer = await context.report.finish(input.summary, input.rejected);
  if (!answer.ok) throw new ToolError(answer.reason);
  return { output: { finished: true as const }, endsLoop: true };
}

export const finishReview = defineTool<Input, { finished: true }>({
  name: "finish_review",
  title: "Finish the review",
  description:
    "Ends the review, once everything that matters was reported. Refused beside reading calls, and while hunks are unread or rule matches unanswered; the answer names them.",
  returns:
    "`{finished: true}`, or an error that names each unread file in the form that `diff_file` accepts, or each rule match without an answer.",
  example: { summary: "Moves retries into the client. Sound apart from the two findings reported." },
  kind: "report",
  finishes: true,
  input: Input,
  execute,
  render: () => ({ text: "The review is finished." }),
});
