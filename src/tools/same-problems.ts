import { z } from "zod";
import { defineTool, ToolError } from "./tool.ts";

const MAX_PAIRS = 200;

const Input = z.strictObject({
  pairs: z
    .array(z.strictObject({ finding: z.string(), earlier: z.string() }))
    .max(MAX_PAIRS)
    .describe("Pairs of those listed that tell of one problem; empty where none does."),
});
type Input = z.infer<typeof Input>;

export const sameProblems = defineTool<Input, { pairs: number }>({
  name: "same_problems",
  title: "Name findings that earlier comments tell of",
  description:
    "Ends the comparison of new findings with earlier comments. Names every listed pair in which both tell of the same problem, and no other.",
  returns: "`pairs`: how many were taken, or an error that names a pair which was not listed.",
  example: { pairs: [{ finding: "3f2a9c0d1e4b", earlier: "2417" }] },
  kind: "report",
  finishes: true,
  input: Input,
  async execute({ pairs }, { compare }) {
    if (!compare) throw new ToolError("there is nothing to compare here");
    const answer = compare.same(pairs);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: { pairs: pairs.length }, endsLoop: true };
  },
  render: ({ pairs }) => ({ text: `Recorded: ${pairs === 1 ? "1 pair" : `${pairs} pairs`}.` }),
});
