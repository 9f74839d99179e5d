import { isDeepStrictEqual } from "node:util";
import type { AnswerResult } from "../review/answer/answer-input.ts";
import type { FixResult, Repair } from "../review/fix/fix-input.ts";
import type { PlacedFinding, ReviewResult } from "../review/review-result.ts";
import { firstDifference } from "./replay-text.ts";
import type { WorkEnd } from "./replay-work.ts";

/** What differs in what came of a run. Snake case: `--format json` of a replay prints it. */
export type EndDifference =
  | {
      kind: "finding";
      id: string;
      path: string;
      line: number;
      title: string;
      change: "missing" | "new" | "changed";
      fields: string[];
    }
  | { kind: "dropped"; id: string; path: string; line: number; title: string; change: "missing" | "new" }
  /** Some other part of what a review, an answer or a fix came to. */
  | { kind: "result"; field: string; recorded: string; today: string };

/** What differs in what two runs came to; nothing where one of them came to nothing. */
export function endDifferences(recorded: WorkEnd | null, today: WorkEnd | null): EndDifference[] {
  if (recorded?.what === "review" && today?.what === "review")
    return reviewDifferences(recorded.result, today.result);
  if (recorded?.what === "answer" && today?.what === "answer")
    return answerDifferences(recorded.result, today.result);
  if (recorded?.what === "fix" && today?.what === "fix") return fixDifferences(recorded.result, today.result);
  return [];
}

function reviewDifferences(recorded: ReviewResult, today: ReviewResult): EndDifference[] {
  return [
    ...findingDifferences(recorded.findings, today.findings),
    ...droppedDifferences(recorded, today),
    ...fields(recorded, today, {
      merge_base_sha: (one) => one.merge_base_sha,
      mode: (one) => one.mode,
      stop_reason: (one) => one.stop_reason,
      summary: (one) => one.summary,
      coverage: ({ coverage: { hunks_served, hunks_total } }) =>
        `${hunks_served} of ${hunks_total} hunks read`,
      earlier_findings: ({ ledger }) =>
        (ledger?.resolutions ?? []).map(({ comment, state }) => `comment ${comment}: ${state}`).join("\n"),
      config_changes: (one) => one.config_changes.join("\n"),
    }),
  ];
}

const answerDifferences = (recorded: AnswerResult, today: AnswerResult): EndDifference[] =>
  fields(recorded, today, { stop_reason: (one) => one.stop_reason, text: (one) => one.text ?? "" });

/** How it was tried out hangs on the machine, and stands among the answers of tools. */
function fixDifferences(recorded: FixResult, today: FixResult): EndDifference[] {
  const paths = new Set([...recorded.edits, ...today.edits].map(({ path }) => path));
  const files = [...paths].map((path) => [path, (fix: FixResult) => textOf(fix, path)] as const);
  return fields(recorded, today, {
    stop_reason: (one) => one.stop_reason,
    summary: (one) => one.summary,
    repairs: (one) => one.repairs.map(repairLine).join("\n"),
    ...Object.fromEntries(files),
  });
}

const repairLine = ({ id, repaired, note, check }: Repair) =>
  `${id} ${repaired ? "repaired" : "left"}: ${note} ${check?.state ?? ""}`.trimEnd();

function textOf({ edits }: FixResult, path: string): string {
  const edit = edits.find((one) => one.path === path);
  if (!edit) return "(not changed)";
  if (edit.after === null) return "(removed)";
  return `mode ${edit.after.mode}\n${Buffer.from(edit.after.base64, "base64").toString("utf8")}`;
}

function fields<Result>(
  recorded: Result,
  today: Result,
  parts: Record<string, (one: Result) => string>,
): EndDifference[] {
  return Object.entries(parts).flatMap(([field, of]) => {
    const [then, now] = [of(recorded), of(today)];
    if (then === now) return [];
    const first = firstDifference(then, now);
    return [{ kind: "result", field, recorded: first.recorded, today: first.today }];
  });
}

function findingDifferences(
  recorded: readonly PlacedFinding[],
  today: readonly PlacedFinding[],
): EndDifference[] {
  const left = [...today];
  const gone = recorded.flatMap((placed) => {
    const index = left.findIndex(({ finding }) => finding.id === placed.finding.id);
    const now = index < 0 ? undefined : left.splice(index, 1)[0];
    const fields = now ? changedFields(placed, now) : [];
    if (now && fields.length === 0) return [];
    return [findingDifference(placed, now ? "changed" : "missing", fields)];
  });
  return [...gone, ...left.map((placed) => findingDifference(placed, "new", []))];
}

function changedFields(one: PlacedFinding, other: PlacedFinding): string[] {
  const fields = Object.keys(one.finding) as (keyof PlacedFinding["finding"])[];
  const changed: string[] = fields.filter(
    (field) => !isDeepStrictEqual(one.finding[field], other.finding[field]),
  );
  return isDeepStrictEqual(one.placement, other.placement) ? changed : [...changed, "placement"];
}

function findingDifference(
  { finding: { id, path, line, title } }: PlacedFinding,
  change: "missing" | "new" | "changed",
  fields: string[],
): EndDifference {
  return { kind: "finding", id, path, line, title, change, fields };
}

function droppedDifferences(recorded: ReviewResult, today: ReviewResult): EndDifference[] {
  const lacks = (all: ReviewResult["dropped"], one: ReviewResult["dropped"][number]) =>
    !all.some(({ id, verdict }) => id === one.id && verdict === one.verdict);
  const differing = (
    all: ReviewResult["dropped"],
    than: ReviewResult["dropped"],
    change: "missing" | "new",
  ) =>
    all
      .filter((one) => lacks(than, one))
      .map(({ id, path, line, title }) => ({ kind: "dropped", id, path, line, title, change }) as const);
  return [
    ...differing(recorded.dropped, today.dropped, "missing"),
    ...differing(today.dropped, recorded.dropped, "new"),
  ];
}
