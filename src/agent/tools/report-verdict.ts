import { z } from "zod";
import { Evidence, Severity, Side } from "../../core/finding.ts";
import { unescapeInvisible } from "../../core/text/escape-invisible.ts";
import { pathOnAnySide } from "./paths.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const MAX_TEXT = 2_000;
const MAX_QUOTE = 2_000;
const MAX_PLACES = 20;
const MAX_TITLE = 200;
const MAX_SENTENCE = 1_000;
const MAX_CORRECTIONS = 40;

const Place = z.strictObject({
  path: z.string(),
  side: Side.default("RIGHT"),
  line: z.int().min(1),
  start_line: z.int().min(1).optional(),
  quote: z.string().min(1).max(MAX_QUOTE).describe("The code of those lines, copied exactly."),
});

const Input = z.strictObject({
  claim: z.int().min(1).optional().describe("Number of the claim; needed if there are several."),
  verdict: z.enum(["confirmed", "refuted", "uncertain"]),
  reason: z
    .string()
    .min(1)
    .max(MAX_TEXT)
    .describe("What the code shows, with file and line; for uncertain, what remains open."),
  failing_input: z
    .string()
    .max(MAX_TEXT)
    .default("")
    .describe("The input, state or order of events on which it goes wrong. Needed to confirm."),
  severity: Severity.optional(),
  reached: z.boolean().optional().describe("False if nothing reaches the fault yet."),
  title: z
    .string()
    .max(MAX_TITLE)
    .optional()
    .describe("The claim as it should read, if only a part of it is true."),
  corrections: z
    .array(
      z.strictObject({
        sentence: z.int().min(1).describe("Its number."),
        text: z
          .string()
          .max(MAX_SENTENCE)
          .nullish()
          .describe("The sentence as it should read. Left out: it is struck."),
      }),
    )
    .max(MAX_CORRECTIONS)
    .default([])
    .describe("Sentences of the claim's text that do not hold."),
  evidence: z
    .array(Evidence)
    .max(MAX_PLACES)
    .default([])
    .describe("What decides. Needed to refute: the lines that make it impossible."),
  places: z
    .array(Place)
    .max(MAX_PLACES)
    .default([])
    .describe("Other places of this change with the same fault."),
});
type Input = z.infer<typeof Input>;

interface VerdictOutput {
  claim: number;
  verdict: Input["verdict"];
  /** Claims that still need a verdict. */
  open: readonly number[];
  note: string | null;
}

async function execute(input: Input, context: ToolContext) {
  if (!context.judge)
    throw new ToolError("there is no claim to judge here: this is the review, not a second look");
  if (input.verdict === "confirmed" && input.failing_input.trim() === "") {
    throw new ToolError(
      "a confirmed finding needs `failing_input`: the input, state or order of events on which it goes wrong. Without one the verdict is uncertain or refuted",
    );
  }
  if (input.verdict !== "refuted" && input.severity === undefined) {
    throw new ToolError("a finding that is not refuted needs `severity`, by the scale in your instructions");
  }
  if (input.verdict === "refuted" && input.evidence.length === 0) {
    throw new ToolError(
      "a refuted finding needs `evidence`: the lines that make it impossible. What only makes it unlikely or harmless lowers its severity",
    );
  }
  const places = await Promise.all(
    input.places.map(async ({ start_line, ...place }) => ({
      ...place,
      path: await pathOnAnySide(place.path, context),
      quote: unescapeInvisible(place.quote),
      start_line: start_line === undefined || start_line >= place.line ? null : start_line,
    })),
  );
  const {
    claim = null,
    failing_input,
    severity = null,
    reached = null,
    title: narrowed = "",
    ...verdict
  } = input;
  const title = narrowed.replaceAll(/\s+/g, " ").trim() || null;
  const answer = await context.judge.judge(claim, {
    ...verdict,
    failingInput: failing_input,
    severity,
    reached,
    title,
    corrections: verdict.corrections.map(({ sentence, text }) => ({
      sentence,
      text: text?.trim() || null,
    })),
    places,
  });
  if (!answer.ok) throw new ToolError(answer.reason);
  const { open, note } = answer;
  return {
    output: { claim: answer.claim, verdict: input.verdict, open, note },
    endsLoop: open.length === 0,
  };
}

export const reportVerdict = defineTool<Input, VerdictOutput>({
  name: "report_verdict",
  title: "Report the verdict on a claim",
  description: "Only in a second look: records the verdict on one claim; the last one ends the check.",
  returns:
    "`claim`, `verdict`, `open` (the claims that still need a verdict), and a `note` if one of `places` was not found in the code and is left out.",
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
  render: ({ claim, verdict, open, note }) => ({
    text: [
      `Recorded: claim ${claim} is ${verdict}.`,
      ...(open.length > 0 ? [`Still open: ${open.join(", ")}.`] : []),
      ...(note === null ? [] : [note]),
    ].join(" "),
  }),
});
