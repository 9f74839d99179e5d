import { z } from "zod";
import { defineTool, ToolError } from "./tool.ts";

const MAX_SUMMARY = 2_000;
const MAX_NOTE = 600;
/** A person reviews each repair before it is applied. */
const TIMEOUT_MS = 20 * 60_000;

const Input = z.strictObject({
  summary: z
    .string()
    .max(MAX_SUMMARY)
    .describe(
      "What your edits do, in the words of a commit message: one line, and more only if it is needed. Empty without edits.",
    ),
  findings: z
    .array(
      z.strictObject({
        finding: z.string().describe("The finding's name, as you were given it."),
        repaired: z.boolean(),
        note: z
          .string()
          .trim()
          .min(1)
          .max(MAX_NOTE)
          .describe("One plain sentence: what you did, or why it is left to a person."),
      }),
    )
    .min(1)
    .describe("Each finding that you were given, once."),
});
type Input = z.infer<typeof Input>;

export const finishFix = defineTool<Input, { finished: true }>({
  name: "finish_fix",
  title: "Finish the fix",
  description:
    "Ends the fix: says for each finding whether your edits repair it. It is refused while a finding is missing, or if something counts as repaired and no file was changed, and once if a second look finds a fault still there.",
  returns: "`{finished: true}`, or an error that says what is missing.",
  example: {
    summary: "Compare with < so that the first attempt counts",
    findings: [{ finding: "F1", repaired: true, note: "src/retry.ts:42 compares with < now." }],
  },
  kind: "report",
  finishes: true,
  input: Input,
  timeoutMs: TIMEOUT_MS,
  async execute({ summary, findings }, { fix }) {
    if (!fix) throw new ToolError("there is nothing to fix here");
    const answer = await fix.finish({ summary, repairs: findings });
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: { finished: true as const }, endsLoop: true };
  },
  render: () => ({ text: "The fix is finished." }),
});
