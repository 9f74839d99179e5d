import { z } from "zod";
import { defineTool, ToolError } from "./tool.ts";

const MAX_QUOTE = 1_000;

const Input = z.strictObject({
  asks: z
    .enum(["now", "before", "silent"])
    .describe(
      "now: the change asks for what happens now on this input. before: it asks for the other behaviour. silent: it asks for neither.",
    ),
  quote: z
    .string()
    .max(MAX_QUOTE)
    .default("")
    .describe("The words that ask for it, copied exactly from what is shown. Needed unless it is silent."),
  fits: z
    .boolean()
    .describe(
      "Whether the test shows what the claim says, and what is said to happen is what the test asserts. False if it shows another difference.",
    ),
});
type Input = z.infer<typeof Input>;

export const reportIntent = defineTool<Input, Input>({
  name: "report_intent",
  title: "Report what a change asks for",
  description:
    "Answers whether a pull request means to do what a test shows, with the words that say so: of its title, description, commits, tests, documentation or comments.",
  returns: "`asks`, `quote` and `fits` as they were recorded.",
  example: { asks: "now", quote: "Empty carts are rejected from now on.", fits: true },
  kind: "report",
  finishes: true,
  input: Input,
  async execute(input, { intent }) {
    if (!intent) throw new ToolError("there is no such question here");
    const answer = intent.answer(input);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: input, endsLoop: true };
  },
  render: ({ asks }) => ({ text: `Recorded: ${asks}.` }),
});
