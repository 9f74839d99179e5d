import { z } from "zod";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

/** A few sentences and a little code; for more, people read the code. */
const MAX_TEXT = 6_000;

const Input = z.strictObject({
  text: z
    .string()
    .trim()
    .min(1)
    .max(MAX_TEXT)
    .describe("The answer in Markdown: a few sentences, with the file and line of what you read."),
});
type Input = z.infer<typeof Input>;

async function execute({ text }: Input, context: ToolContext) {
  if (!context.converse) throw new ToolError("nobody has asked anything here");
  context.converse.reply(text);
  return { output: { answered: true as const }, endsLoop: true };
}

export const reply = defineTool<Input, { answered: true }>({
  name: "reply",
  title: "Answer the question",
  description: "Answers the question and ends the conversation. It is posted as it is written.",
  returns: "`{answered: true}`.",
  example: { text: "It retries three times: `send()` in src/client.ts:41 counts down from `retries`." },
  kind: "report",
  finishes: true,
  input: Input,
  execute,
  render: () => ({ text: "Answered." }),
});
