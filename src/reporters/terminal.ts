import type { Coverage, ReviewResult } from "../review/review-result.ts";
import type { SourceLines } from "./code-frame.ts";
import { byFile } from "./order.ts";
import {
  countBySeverity,
  dollars,
  duration,
  isUnread,
  maskedSentence,
  nothingFound,
  outcomeOf,
  outcomeSentence,
  plural,
  predictionSentence,
  summaryOf,
  thousands,
  unreadPlaces,
  usageSentence,
} from "./outcome.ts";
import { effortSentence } from "./second-look.ts";
import { findingLines, proseLines } from "./terminal-finding.ts";
import { createStyle, plainLine, type Style } from "./terminal-style.ts";
import { wrap } from "./terminal-wrap.ts";

/** The reviewed range as the person named it. */
export interface RangeNames {
  base: string;
  head: string;
  /** "3 commits" */
  commits: string;
}

export interface TerminalOptions {
  range: RangeNames;
  source: SourceLines;
  colour: boolean;
  /** Of prose. */
  width: number;
  /** Of code, on a terminal; left out, code is cut nowhere. */
  codeWidth?: number | undefined;
}

/** Skipped files that are named one by one. */
const MOST_SKIPPED = 12;

/** The report for people at a terminal. A complete review that found nothing is one line. */
export function renderTerminal(result: ReviewResult, options: TerminalOptions): string {
  const style = createStyle(options.colour, options.width, options.codeWidth);
  const lists = [result.findings, result.warnings, result.masked];
  const quiet = lists.every((list) => list.length === 0) && outcomeOf(result) === "complete";
  const lines = quiet ? [quietLine(result, options)] : reportLines(result, options, style);
  return `${lines.join("\n")}\n`;
}

function quietLine(result: ReviewResult, { range }: TerminalOptions): string {
  const { coverage, usage } = result;
  const skipped = coverage.files_skipped.length;
  const dropped = result.dropped.length;
  const model = [
    plainLine(result.model ?? ""),
    `${thousands(usage.prompt_tokens + usage.completion_tokens)} tokens`,
    ...(usage.cost_usd === null ? [] : [dollars(usage.cost_usd)]),
  ];
  // Where nothing is to be reviewed no model is asked.
  const spent = [...(usage.requests > 0 ? model : []), duration(result.duration_ms)];
  return [
    `${plainLine(range.base)}...${plainLine(range.head)}: ${nothingFound(result)}`,
    ...(isUnread(result) ? ["offline"] : []),
    ...(coverage.hunks_total > 0 ? [`${plural(coverage.hunks_total, "hunk")} read`] : []),
    ...(skipped > 0 ? [`${plural(skipped, "file")} skipped`] : []),
    ...(dropped > 0 ? [`${plural(dropped, "finding")} checked and left out`] : []),
    spent.join(", "),
  ].join(" · ");
}

function reportLines(result: ReviewResult, options: TerminalOptions, style: Style): string[] {
  const lines = [...outcomeLines(result, style), ...headerLines(result, options, style)];
  if (summaryOf(result)) lines.push("", ...proseLines(summaryOf(result), style));
  for (const [path, findings] of byFile(result.findings)) {
    lines.push("", style.path(plainLine(path)));
    for (const placed of findings) lines.push("", ...findingLines(placed, options.source, style));
  }
  return [...lines, "", ...footerLines(result, style)];
}

/** What was left undone comes before everything else. */
function outcomeLines(result: ReviewResult, style: Style): string[] {
  const sentence = outcomeSentence(result);
  if (!sentence) return [];
  const unread = unreadPlaces(result).map(
    ({ path, what }) => `  not read: ${plainLine(path)} (${plainLine(what)})`,
  );
  // Where the sentence says something else first, such as a limit that was reached.
  const offline = isUnread(result) && !/offline/i.test(sentence) ? "Offline, no model read this. " : "";
  return [...[...wrap(`${offline}${sentence}.`, style.width), ...unread].map(style.alarm), ""];
}

function headerLines(result: ReviewResult, { range }: TerminalOptions, style: Style): string[] {
  const names = `${plainLine(range.base)}...${plainLine(range.head)}`;
  const shas = `${result.merge_base_sha.slice(0, 7)}..${result.head_sha.slice(0, 7)}`;
  const { files_total, hunks_total } = result.coverage;
  const facts = [
    shas,
    range.commits,
    plural(files_total, "file"),
    plural(hunks_total, "hunk"),
    result.mode === "model" ? plainLine(result.model ?? "model") : "offline",
  ];
  return [style.bold(names), ...wrap(facts.join(" · "), style.width).map(style.dim)];
}

function skippedRows({ files_skipped: skipped }: Coverage): [string, string][] {
  const shown = skipped
    .slice(0, MOST_SKIPPED)
    .map(({ path, reason }): [string, string] => ["Skipped", `${plainLine(path)}: ${plainLine(reason)}`]);
  const left = skipped.length - shown.length;
  return left > 0
    ? [...shown, ["Skipped", `${plural(left, "more file")}; --format json names them all`]]
    : shown;
}

function droppedRows({ dropped }: ReviewResult): [string, string][] {
  if (dropped.length === 0) return [];
  return [
    ["Left out", `${plural(dropped.length, "finding")}; --format markdown and json say which, and why`],
  ];
}

function footerLines(result: ReviewResult, style: Style): string[] {
  const { coverage, warnings } = result;
  const found = countBySeverity(result.findings.map(({ finding }) => finding)) || "none";
  const read =
    result.mode === "model"
      ? `${coverage.hunks_served} of ${plural(coverage.hunks_total, "hunk")} read by the model`
      : `analyzers only, ${plural(coverage.hunks_total, "hunk")}`;
  const rows: [string, string][] = [
    ["Findings", found],
    ["Coverage", read],
    ...skippedRows(coverage),
    ["Effort", effortSentence(result)],
    ...droppedRows(result),
    ["Masked", maskedSentence(result, ({ path, line }) => plainLine(`${path}:${line}`))],
    ["Usage", usageSentence(result)],
    ["Predicted", predictionSentence(result)],
    ["Time", duration(result.duration_ms)],
  ];
  const label = (name: string) => name.padEnd(10);
  const show = ([name, text]: [string, string]) =>
    wrap(text, style.width - 10).map((line, index) => label(index ? "" : name) + line);
  return [
    ...rows
      .filter(([, text]) => text !== "")
      .flatMap(show)
      .map(style.dim),
    ...warnings.flatMap((warning) => show(["Warning", plainLine(warning)])).map(style.alarm),
  ];
}
