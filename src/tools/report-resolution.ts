import { z } from "zod";
import { defineTool, ToolError } from "./tool.ts";

const MAX_REASON = 2_000;
/** Maximum length shown to people. */
const MAX_SHOWN = 400;

const Input = z.strictObject({
  state: z
    .enum(["fixed", "present", "unsure"])
    .describe("fixed: the code that you read cannot go wrong in this way any more. present: it still does."),
  reason: z
    .string()
    .min(1)
    .max(MAX_REASON)
    .describe(
      "One plain sentence about the code as it is now, with file and line; for unsure, what stays open.",
    ),
});
type Input = z.infer<typeof Input>;

/** One line of limited length. */
function sentence(given: string): string {
  const line = given.replaceAll(/\s+/g, " ").trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 1).toWellFormed()}…` : line;
}

export const reportResolution = defineTool<Input, { state: Input["state"] }>({
  name: "report_resolution",
  title: "Report what became of an earlier finding",
  description:
    "Ends the check of an earlier finding whose code has changed. Fixed only when the code that you read shows it; unsure when that cannot be told.",
  returns: "`state` as it was recorded.",
  example: { state: "fixed", reason: "src/retry.ts:42 now compares with <, so the first attempt counts." },
  kind: "report",
  finishes: true,
  input: Input,
  async execute({ state, reason }, { settle }) {
    if (!settle) throw new ToolError("there is no earlier finding to settle here");
    settle.settle({ state, reason: sentence(reason) });
    return { output: { state }, endsLoop: true };
  },
  render: ({ state }) => ({ text: `Recorded: ${state}.` }),
});
