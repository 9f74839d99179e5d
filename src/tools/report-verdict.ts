import { z } from "zod";
import { Evidence, Severity, Side } from "../finding.ts";
import { unescapeInvisible } from "../text/escape-invisible.ts";
import { pathOnAnySide } from "./paths.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const MAX_TEXT = 2_000;
const MAX_QUOTE = 2_000;
const MAX_PLACES = 20;

const Place = z.strictObject({
  path: z.string(),
  side: Side.default("RIGHT"),
  line: z.int().min(1),
  start_line: z.int().min(1).optional(),
  quote: z.string().min(1).max(MAX_QUOTE).describe("The code of those lines, copied exactly."),
});

const Input = z.strictObject({
  verdict: z
    .enum(["confirmed", "refuted", "uncertain"])
    .describe("refuted: it cannot happen. uncertain: it could not be settled with what can be read."),
  reason: z
    .string()
    .min(1)
    .max(MAX_TEXT)
    .describe("What the code that you read shows, with file and line; for uncertain, what stays open."),
  failing_input: z
    .string()
    .max(MAX_TEXT)
    .default("")
    .describe("The input, state or order of events on which it goes wrong. Needed to confirm."),
  severity: Severity.optional().describe("By the scale in your instructions, whatever was claimed."),
  evidence: z.array(Evidence).max(MAX_PLACES).default([]).describe("Places that you read to decide."),
  places: z
    .array(Place)
    .max(MAX_PLACES)
    .default([])
    .describe("Other places of this change with the same fault; each was read."),
});
type Input = z.infer<typeof Input>;

interface VerdictOutput {
  verdict: Input["verdict"];
  note: string | null;
}

async function execute(input: Input, context: ToolContext) {
  if (!context.judge) throw new ToolError("there is no finding to judge here");
  if (input.verdict === "confirmed" && input.failing_input.trim() === "") {
    throw new ToolError(
      "a confirmed finding needs `failing_input`: the input, state or order of events on which it goes wrong. Without one the verdict is uncertain or refuted",
    );
  }
  if (input.verdict !== "refuted" && input.severity === undefined) {
    throw new ToolError("a finding that stands needs `severity`, by the scale in your instructions");
  }
  const places = await Promise.all(
    input.places.map(async ({ start_line, ...place }) => ({
      ...place,
      path: await pathOnAnySide(place.path, context),
      quote: unescapeInvisible(place.quote),
      start_line: start_line === undefined || start_line >= place.line ? null : start_line,
    })),
  );
  const { failing_input, severity = null, ...verdict } = input;
  const note = await context.judge.judge({ ...verdict, failingInput: failing_input, severity, places });
  return { output: { verdict: input.verdict, note }, endsLoop: true };
}

export const reportVerdict = defineTool<Input, VerdictOutput>({
  name: "report_verdict",
  title: "Report the verdict on a finding",
  description:
    "Ends the check of a finding. Confirm only what you can make happen on paper: name the input or the path. Refute when a guard, a caller or a contract makes it impossible.",
  returns: "`verdict`, and a `note` where one of `places` was not found in the code and is left out.",
  example: {
    verdict: "confirmed",
    reason: "src/retry.ts:42 compares with <=, and send() at line 61 is reached once more.",
    failing_input: "retries: 0 and a first request that fails",
    severity: "medium",
  },
  kind: "report",
  finishes: true,
  input: Input,
  execute,
  render: ({ verdict, note }) => ({ text: `Recorded: ${verdict}.${note === null ? "" : ` ${note}`}` }),
});
