import { z } from "zod";
import { Category, Evidence, type Finding, Severity, Side } from "../../core/finding.ts";
import { unescapeInvisible } from "../../core/text/escape-invisible.ts";
import { showPath } from "../../repo/show.ts";
import { isObject, readLenientObject } from "../llm/lenient-json.ts";
import { pathOnAnySide } from "./paths.ts";
import { readArguments, wholeNumber } from "./read-arguments.ts";
import {
  type AnyTool,
  defineTool,
  type ReportedFinding,
  type ToolContext,
  ToolError,
  WithheldError,
} from "./tool.ts";

const MAX_TITLE = 200;
const MAX_BODY = 8_000;
const MAX_QUOTE = 8_000;
const MAX_EVIDENCE = 20;
const MAX_CANDIDATES = 100;

const Input = z.strictObject({
  path: z.string(),
  side: Side.default("RIGHT").describe("RIGHT: a line at head. LEFT: a removed line."),
  line: z.int().min(1).describe("As diff_file numbers it on that side; the last of a range."),
  start_line: wholeNumber(1).optional().describe("First line of a range."),
  quote: z
    .string()
    .min(1)
    .max(MAX_QUOTE)
    .describe("The code of that line or range, copied exactly, without number and sign. Wins over line."),
  severity: Severity,
  category: Category,
  title: z.string().min(1).max(MAX_TITLE).describe("The problem in one line."),
  body: z
    .string()
    .min(1)
    .max(MAX_BODY)
    .describe("Markdown: what goes wrong, on which input or state, what to do instead."),
  suggestion: z
    .string()
    .max(MAX_BODY)
    .optional()
    .describe("Replaces exactly the lines start_line to line, with indentation. Only when sure."),
  confidence: z.number().min(0).max(1).describe("That the problem is real, 0 to 1."),
  reached: z
    .boolean()
    .default(true)
    .describe("False if nothing in the repository reaches the fault yet; its severity is then low."),
  evidence: z.array(Evidence).max(MAX_EVIDENCE).default([]).describe("Places that you read to establish it."),
  candidates: z
    .array(z.string())
    .max(MAX_CANDIDATES)
    .default([])
    .describe("Ids of rule matches that this confirms, of any files."),
});
type Input = z.infer<typeof Input>;

/** The kept finding for the model: its id, and its anchor. */
interface ReportedAnchor {
  id: string;
  path: string;
  side: Side;
  line: number;
  start_line: number | null;
  note: string | null;
}

/** Without an id, the finding is not kept, and the note says why: there is nothing to correct. */
type ReportOutput = ReportedAnchor | { id: null; note: string };

async function execute(input: Input, context: ToolContext): Promise<{ output: ReportOutput }> {
  const { candidates, ...finding } = input;
  const { start_line: first = input.line } = input;
  if (first > input.line) {
    throw new ToolError(`start_line ${first} is after line ${input.line}; line is the last one of a range`);
  }
  const reported: ReportedFinding = {
    ...finding,
    path: await pathOnAnySide(input.path, context),
    title: input.title.replaceAll(/\s+/g, " ").trim(),
    severity: input.reached ? input.severity : "low",
    start_line: first === input.line ? null : first,
    quote: unescapeInvisible(input.quote),
    suggestion: input.suggestion ?? null,
  };
  if (!context.report) throw new WithheldError("no finding can be reported here");
  const answer = await context.report.report(reported, candidates);
  if (!answer.ok) throw new (answer.isWithheld ? WithheldError : ToolError)(answer.reason);
  return { output: answer.finding ? toAnchor(answer.finding, answer.note) : { id: null, note: answer.note } };
}

function toAnchor({ id, path, side, line, start_line }: Finding, note: string | null): ReportedAnchor {
  return { id, path, side, line, start_line, note };
}

function render(output: ReportOutput) {
  if (output.id === null) return { text: `Not kept: ${output.note}.` };
  const lines =
    output.start_line === null ? `line ${output.line}` : `lines ${output.start_line}-${output.line}`;
  const place = `${showPath(output.path)} ${lines} (${output.side})`;
  return { text: `Recorded as ${output.id} at ${place}.${output.note === null ? "" : ` ${output.note}`}` };
}

/** The tools. If there are named rules, `report_finding` takes the name of one; without any, they are unchanged. */
export function withNamedRules(tools: readonly AnyTool[], names: readonly string[]): readonly AnyTool[] {
  if (names.length === 0) return tools;
  const rule = z
    .enum(names)
    .optional()
    .describe("The rule of this repository that the code breaks; left out if it breaks none.");
  const input = Input.extend({ rule });
  return tools.map((tool) => (tool === reportFinding ? { ...reportFinding, input } : tool));
}

export const reportFinding = defineTool<Input, ReportOutput>({
  name: "report_finding",
  title: "Report a finding",
  description:
    "Records one problem that the change introduces or exposes, anchored to a line. One call for each root cause, verified in the code.",
  returns:
    "`id`, `path`, `side`, `line`, `start_line` as resolved, and a `note` if the anchor was moved. A finding below the configured severity is not kept: `id` is null, and `note` says why. If the quote is not found, an error that shows the most similar lines.",
  example: {
    path: "src/retry.ts",
    side: "RIGHT",
    line: 42,
    quote: "  for (let attempt = 0; attempt <= retries; attempt++) {",
    severity: "medium",
    category: "correctness",
    title: "One attempt too many",
    body: "With `retries: 0` the request is sent once more after it failed: `<=` counts the first attempt too.",
    confidence: 0.9,
  },
  kind: "report",
  input: Input,
  execute,
  render,
});

/** What a call says about a finding, whether or not it is accepted. */
export interface Claim {
  path: string | null;
  line: number | null;
  title: string;
  body: string;
  quote: string;
  /** Null if it cannot be read. */
  severity: Severity | null;
}

/** What a report says, as far as it can be read: also in arguments that were refused, or whose end is missing. */
export const claimIn = (json: string): Claim => claimOf(argumentsIn(json));

function claimOf({ path, line, title, body, quote, severity, reached }: Record<string, unknown>): Claim {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const named = reached === false ? "low" : severity;
  return {
    path: text(path).trim() || null,
    line: typeof line === "number" ? line : null,
    title: text(title).trim(),
    body: text(body).trim(),
    quote: text(quote),
    severity: Severity.safeParse(named).data ?? null,
  };
}

function argumentsIn(json: string): Record<string, unknown> {
  const given = readLenientObject(json) ?? fieldsIn(json)[0] ?? {};
  try {
    return readArguments(reportFinding, given).input;
  } catch (error) {
    if (error instanceof ToolError) return given;
    throw error;
  }
}

/** A field of a report in any spelling: JSON that is broken or within a text, `key="value"`, `key: value`, or between marks. */
const FIELD =
  /\b(path|file_path|file|line|title|body|description|quote|severity)\b(?:["'] [^<>\n]{1,80}>|[\\"'\s]{0,9}(?:<\/arg_key>\s{0,9}<arg_value>|[=:>]))[\\"'\s]{0,9}(?:(\d{1,9})(?=\W)|([^<\n]{0,2000}?)(?=\\?["']\s{0,9}(?:[,)}\]\\\n]|$)|\\?["']?\s{0,9}<|\n|$)|([^<\n]{2000}))/g;
const sameField: Readonly<Record<string, string>> = { file: "path", file_path: "path", description: "body" };

/** The fields in a text, one group for each report: a field that comes again begins the next. */
function fieldsIn(text: string): Record<string, unknown>[] {
  const groups: Record<string, unknown>[] = [];
  for (const [, key = "", number, value, long] of text.slice(0, 50_000).matchAll(FIELD)) {
    const name = sameField[key] ?? key;
    if (groups.length === 0 || Object.hasOwn(groups.at(-1) ?? {}, name)) groups.push({});
    Object.assign(groups.at(-1) ?? {}, {
      [name]: number === undefined ? unescaped(value ?? long ?? "") : Number(number),
    });
  }
  return groups;
}

/** What a call that ends a review says about findings. */
export const claimsBesideSummary = (json: string): Claim[] =>
  claimsIn(JSON.stringify({ ...readLenientObject(json), summary: undefined }));

/** What reports in a text say that no call reads. Each names a file, and has a title or a body. */
export const claimsIn = (text: string): Claim[] =>
  fieldsIn(text)
    .map(claimOf)
    .filter(({ path, title, body }) => path !== null && (title !== "" || body !== ""));

function unescaped(text: string): string {
  const value = readLenientObject(`{"text":"${text}"}`);
  return isObject(value) && typeof value.text === "string" ? value.text : text;
}
