import { z } from "zod";
import { defineTool, ToolError } from "./tool.ts";

const MAX_LINE = 300;
const MAX_REASON = 1_000;
/** For the runs that decide: up to six, one after the other. */
const TIMEOUT_MS = 30 * 60_000;

const line = z
  .string()
  .max(MAX_LINE)
  .default("")
  .transform((text) => text.replaceAll(/\s+/g, " ").trim());

const Input = z.strictObject({
  outcome: z
    .enum(["regression", "reproduced", "ran_right", "none"])
    .describe(
      "regression: the test passes at the merge base and fails at the head. reproduced: it fails at the head and passes with the suggestion. ran_right: the input of the finding was run, and the head does the right thing, whatever the merge base does. none: nothing of this could be shown.",
    ),
  before: line.describe(
    "What happens at the merge base (for `reproduced`: with the suggestion) on the input, with the value. Only what happens, no judgement. Left out for `ran_right`.",
  ),
  now: line.describe(
    "What happens at the head on the same input, with the value or the error that the run printed.",
  ),
  reason: z
    .string()
    .min(1)
    .max(MAX_REASON)
    .describe("One plain sentence: what the test does; for `none`, why it cannot be shown."),
});
type Input = z.infer<typeof Input>;

export const finishProof = defineTool<Input, { outcome: Input["outcome"] }>({
  name: "finish_proof",
  title: "End a proof",
  description:
    "Ends a proof. The last test that was run is run again, twice on each revision, and the runs decide; what you say does not. If they show something else, the answer says so, and you may write a better test.",
  returns: "`outcome` as it was accepted.",
  example: {
    outcome: "regression",
    before: "total([]) returns 0",
    now: "total([]) throws TypeError: Reduce of empty array with no initial value",
    reason: "An empty cart is added up.",
  },
  kind: "report",
  finishes: true,
  input: Input,
  timeoutMs: TIMEOUT_MS,
  async execute(input, { proof }, signal) {
    if (!proof) throw new ToolError("there is no proof to end here");
    const isMark = input.outcome === "regression" || input.outcome === "reproduced";
    if (isMark && (input.before === "" || input.now === ""))
      throw new ToolError("`before` and `now` say what happens on the input, with the values");
    const answer = await proof.finish(input, signal);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: { outcome: input.outcome }, endsLoop: true };
  },
  render: ({ outcome }) => ({ text: `Recorded: ${outcome}.` }),
});
