import { bySeverity, type CodeLocation, type Finding } from "../core/finding.ts";
import { count } from "../core/text/count.ts";
import { type PlacedFinding, type ReviewResult, unplacedLines } from "../tasks/shapes/review-result.ts";
import { codeFrame, type FrameLine, lineRange, type SourceLines, suggestionDiff } from "./code-frame.ts";
import {
  bodyOf,
  doubtOf,
  effortSentence,
  noteBesideEvidence,
  noteOf,
  notShownSentence,
  shownCount,
  whyDropped,
} from "./finding-words.ts";
import {
  countBySeverity,
  duration,
  isUnread,
  maskedSentence,
  nothingFound,
  outcomeOf,
  outcomeSentence,
  predictionSentence,
  ruleCount,
  rulesGap,
  ruleWords,
  summaryOf,
  unreadPlaces,
  usageSentence,
} from "./outcome.ts";
import { markLine, testFold } from "./proof-markdown.ts";
import { untrustedBlock, untrustedCode, untrustedFence, untrustedLine } from "./safe-markdown.ts";
import type { RangeNames } from "./terminal.ts";

/** Most bytes of one text of the model; a tool call has less. */
const MOST_BYTES = 20_000;
/** Most bytes of the second look's note on one finding. */
const MOST_NOTE = 2_000;
/** Most bytes of a test and the output of its runs. */
const MOST_TEST = 60_000;

/** The report as GitHub-flavored Markdown, for job summaries and files. */
export function renderMarkdown(
  result: ReviewResult,
  source: SourceLines,
  { repository, uncommitted: scope }: Pick<RangeNames, "repository" | "uncommitted"> = {},
): string {
  const found = countBySeverity(result.findings.map(({ finding }) => finding));
  const sentence = outcomeSentence(result);
  const blocks = [
    `## Hunkwise${isUnread(result) ? " (offline)" : ""}: ${found || headline(result)}${repository ? ` in ${untrustedCode(repository)}` : ""}`,
    ...(!scope ? [] : [`${untrustedLine(scope)}.`]),
    ...(sentence ? [`**${sentence}.**`] : []),
    ...(result.refused === null ? [] : [untrustedBlock(result.refused, MOST_BYTES)]),
    ...list(
      unreadPlaces(result).map(
        ({ path, what }) => `not read: ${untrustedCode(path)} (${untrustedLine(what)})`,
      ),
    ),
    ...list(unplacedLines(result).map((line) => untrustedLine(line))),
    ...(summaryOf(result) ? [untrustedBlock(summaryOf(result), MOST_BYTES)] : []),
    ...bySeverity(result.findings).flatMap((placed) => findingBlocks(placed, source)),
    ...list(result.warnings.map((warning) => `Warning: ${untrustedLine(warning)}`)),
    detailsBlock(result),
  ];
  return `${blocks.join("\n\n")}\n`;
}

/** The headline without findings. It never says that all is well if something was not read. */
function headline(result: ReviewResult): string {
  return {
    complete: nothingFound(result),
    offline: "nothing found by the analyzers",
    partial: "partial review",
  }[outcomeOf(result)];
}

function findingBlocks({ finding, placement }: PlacedFinding, source: SourceLines): string[] {
  const suggestion = suggestionDiff(finding, source)?.map(
    ({ sign, text }) => `${sign}${text.replace(/\r$/, "")}`,
  );
  const where = placement.kind === "inline" ? [] : [`Not on its line: ${untrustedLine(placement.reason)}.`];
  return [
    `### ${finding.severity.toUpperCase()}: ${untrustedLine(finding.title)}`,
    factsLine(finding),
    doubtLine(finding, MOST_NOTE),
    markLine(finding),
    ...where,
    ...frameBlock(finding, source),
    untrustedBlock(bodyOf(finding), MOST_BYTES),
    ...(suggestion ? ["Suggestion:", untrustedFence(suggestion.join("\n"), "diff")] : []),
    ...otherPlaces(finding),
    ...list(checkedLines(finding)),
    testFold(finding, MOST_TEST),
  ].filter((block) => block !== "");
}

/** The caveat, and the open question of at most `maxBytes`; empty for a finding without doubt. */
export function doubtLine(finding: Finding, maxBytes: number): string {
  const doubt = doubtOf(finding);
  return doubt === null ? "" : `**${doubt}** ${untrustedLine(noteOf(finding) ?? "", maxBytes)}`.trim();
}

function otherPlaces({ places }: Finding): string[] {
  return places.length === 0 ? [] : [`The same at ${places.map(placeWords).join(", ")}.`];
}

function checkedLines(finding: Finding): string[] {
  const note = noteBesideEvidence(finding);
  const evidence = finding.evidence.map(
    ({ path, start_line, end_line, note: text }) =>
      `${untrustedCode(`${path}:${lineRange(start_line, end_line)}`)} ${untrustedLine(text)}`,
  );
  const proof = notShownSentence(finding);
  return [
    ...(note === null ? [] : [untrustedLine(note, MOST_NOTE)]),
    ...evidence,
    ...(proof === "" ? [] : [untrustedLine(proof, MOST_NOTE)]),
  ];
}

function factsLine(finding: Finding): string {
  const sure = `${Math.round(finding.confidence * 100)} % sure`;
  const origin = finding.source === "model" ? sure : untrustedCode(finding.source);
  const rule = finding.rule === undefined ? "" : ` · rule ${untrustedCode(finding.rule)}`;
  return `${placeWords(finding)} · ${finding.category}${rule} · ${origin}`;
}

function placeWords({ path, side, line, start_line }: CodeLocation): string {
  return `${untrustedCode(`${path}:${lineRange(start_line ?? line, line)}`)}${side === "LEFT" ? " (removed)" : ""}`;
}

function frameBlock(finding: Finding, source: SourceLines): string[] {
  const frame = codeFrame(finding, source);
  return frame.length === 0 ? [] : [untrustedFence(frameText(frame))];
}

function frameText(frame: readonly FrameLine[]): string {
  const digits = String(Math.max(...frame.map((line) => line?.number ?? 0))).length;
  return frame
    .map((line) =>
      line === null
        ? "  ..."
        : `${line.anchored ? ">" : " "} ${String(line.number).padStart(digits)} | ${line.text.replace(/\r$/, "")}`.trimEnd(),
    )
    .join("\n");
}

function detailsBlock(result: ReviewResult): string {
  const { coverage } = result;
  const read =
    result.mode === "model"
      ? `${coverage.hunks_served} of ${count(coverage.hunks_total, "hunk")} read by ${untrustedCode(result.model ?? "the model")}`
      : `${count(coverage.hunks_total, "hunk")}, analyzers only${rulesGap(result, untrustedCode)}`;
  const [effort, predicted] = [effortSentence(result), predictionSentence(result)];
  const masked = maskedSentence(result, ({ path, line }) => untrustedCode(`${path}:${line}`));
  const shown = shownCount(result.findings.map(({ finding }) => finding));
  const facts = [
    `${rangeOf(result)}, ${count(coverage.files_total, "file")}`,
    `coverage: ${read}`,
    ...coverage.files_skipped.map(
      ({ path, reason }) => `skipped: ${untrustedCode(path)} (${untrustedLine(reason)})`,
    ),
    ...ruleFacts(result),
    ...(shown === "" ? [] : [`tests: ${shown}`]),
    ...(effort === "" ? [] : [`effort: ${effort}`]),
    ...(masked === "" ? [] : [`masked: ${masked}`]),
    ...result.dropped.map(droppedLine),
    `usage: ${usageSentence(result)}`,
    ...(predicted === "" ? [] : [`predicted: ${predicted}`]),
    `time: ${duration(result.duration_ms)}`,
  ];
  return ["<details><summary>About this review</summary>", ...list(facts), "</details>"].join("\n\n");
}

function ruleFacts({ rules }: ReviewResult): string[] {
  if (rules === undefined) return [];
  const each = rules.applied.map(
    (one) =>
      `rule ${untrustedCode(one.name)}${one.blocking ? " (blocking)" : ""}: ${untrustedLine(ruleWords(one))}`,
  );
  return [`rules: ${ruleCount(rules)}`, ...each];
}

function rangeOf({ merge_base_sha, head_sha, head_tree }: ReviewResult): string {
  const from = merge_base_sha.slice(0, 12);
  return head_tree === null ? `${from}..${head_sha.slice(0, 12)}` : `uncommitted changes since ${from}`;
}

function droppedLine(one: ReviewResult["dropped"][number]): string {
  const place = untrustedCode(`${one.path}:${one.line}`);
  const rule = one.rule === null ? "" : ` (${untrustedCode(one.rule)})`;
  return `left out: ${place} ${untrustedLine(one.title)}${rule}. ${untrustedLine(whyDropped(one), MOST_NOTE)}`;
}

function list(items: readonly string[]): string[] {
  return items.length === 0 ? [] : [items.map((item) => `- ${item}`).join("\n")];
}
