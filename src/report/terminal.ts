import { bySeverity, type CodeLocation, type Evidence, type Finding } from "../core/finding.ts";
import { markTitles } from "../core/ledger/folds.ts";
import { count, thousands } from "../core/text/count.ts";
import { cutSentence } from "../core/text/cut.ts";
import { NOT_SELECTED } from "../repo/diff/filter.ts";
import {
  type Coverage,
  type PlacedFinding,
  type ReviewResult,
  rejectedMatches,
  unplacedLines,
} from "../tasks/shapes/review-result.ts";
import { codeFrame, type FrameLine, lineRange, type SourceLines, suggestionDiff } from "./code-frame.ts";
import {
  bodyOf,
  doubtSentence,
  effortSentence,
  markOf,
  markParts,
  noteBesideEvidence,
  shownCount,
  testSentence,
} from "./finding-words.ts";
import {
  countBySeverity,
  dollars,
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
import { clip, createStyle, plainLine, plainLines, type Style, wrap } from "./terminal-style.ts";

const INDENT = "  ";

/** One finding as indented lines: what it is, where, the code, why, and the suggested replacement. */
function findingLines({ finding, placement }: PlacedFinding, source: SourceLines, style: Style): string[] {
  const lines = [titleLine(finding, style), ...placeLines(finding, style)];
  if (placement.kind !== "inline") lines.push(style.dim(`not on its line: ${plainLine(placement.reason)}`));
  const width = style.width - INDENT.length;
  const wrapped = (text: string) => (text === "" ? [] : wrap(text, width));
  lines.push(...wrapped(plainLine(doubtSentence(finding))).map(style.alarm), ...markLines(finding, style));
  const frame = frameLines(codeFrame(finding, source), style);
  if (frame.length > 0) lines.push("", ...frame);
  lines.push("", ...proseLines(bodyOf(finding), style));
  const suggestion = suggestionDiff(finding, source);
  if (suggestion) {
    const paint = { " ": style.dim, "-": style.removed, "+": style.added };
    lines.push("", style.bold("Suggestion"));
    // Never cut, even on a narrow terminal: people copy it, and the terminal wraps it.
    for (const { sign, text } of suggestion) lines.push(paint[sign](`  ${sign} ${plainLine(text)}`));
  }
  lines.push(...testLines(finding, style));
  const note = noteBesideEvidence(finding);
  const notes = [
    note === null ? "" : `- ${plainLine(note)}`,
    ...finding.evidence.map(evidenceLine),
    testSentence(finding) && `- ${plainLine(testSentence(finding))}`,
  ];
  const around = [...otherPlaces(finding).flatMap(wrapped), ...notes.flatMap(wrapped).map(style.dim)];
  if (around.length > 0) lines.push("", ...around);
  return lines.map((line) => (line === "" ? "" : INDENT + line));
}

/** What a test shows, as a title and what happens on each side, below one another. */
function markLines(finding: Finding, style: Style): string[] {
  const mark = markOf(finding);
  if (mark === null) return [];
  const width = style.width - INDENT.length;
  const parts = markParts(mark).flatMap(([name, what]) => wrap(`- ${name}: ${plainLine(what)}`, width));
  return [style.bold(markTitles[mark.kind]), ...parts];
}

/** Longer tests are in the file of another format. */
const MOST_TEST_LINES = 40;

/** The test that shows a finding, with numbers: no line of it begins a line of ours. */
function testLines(finding: Finding, style: Style): string[] {
  const mark = markOf(finding);
  if (mark === null) return [];
  const { test, command } = mark;
  const lines = plainLines(test.text.replace(/\n$/, ""));
  const shown = lines.slice(0, MOST_TEST_LINES);
  const digits = String(shown.length).length;
  const rest = lines.length - shown.length;
  return [
    "",
    `${style.bold("Test")}  ${plainLine(test.path)}`,
    ...shown.map((text, at) => style.code(`  ${String(at + 1).padStart(digits)} │ ${text}`.trimEnd())),
    ...(rest > 0 ? [style.dim(`  and ${count(rest, "more line")}; --format json has all`)] : []),
    style.dim(`  run with ${plainLine(command)}`),
  ];
}

const MOST_PLACES = 10;

function otherPlaces({ places }: Finding): string[] {
  const shown = places.slice(0, MOST_PLACES).map((place) => `- the same at ${placeWords(place)}`);
  const rest = places.length - shown.length;
  return rest > 0 ? [...shown, `- and at ${count(rest, "more place")}`] : shown;
}

const placeWords = ({ path, side, line, start_line }: CodeLocation) =>
  `${plainLine(path)}:${lineRange(start_line ?? line, line)}${side === "LEFT" ? " (removed)" : ""}`;

const evidenceLine = ({ path, start_line, end_line, note }: Evidence) =>
  `- see ${plainLine(`${path}:${lineRange(start_line, end_line)}`)}: ${plainLine(note)}`;

function titleLine(finding: Finding, style: Style): string {
  const label = style.severity[finding.severity](finding.severity.toUpperCase());
  const room = style.width - INDENT.length - finding.severity.length - 4;
  return `${label}  ${style.bold(wrap(plainLine(finding.title), room).join(`\n${INDENT}`))}`;
}

function placeLines(finding: Finding, style: Style): string[] {
  const sure = `${Math.round(finding.confidence * 100)} % sure`;
  const rule = finding.rule === undefined ? [] : [`rule ${plainLine(finding.rule)}`];
  const origin = finding.source === "model" ? sure : plainLine(finding.source);
  const { verification } = finding;
  const checked = verification === "confirmed" || verification === "uncertain" ? [verification] : [];
  const facts = [placeWords(finding), finding.category, ...rule, origin, ...checked].join(" · ");
  return wrap(facts, style.width - INDENT.length).map(style.dim);
}

function frameLines(frame: readonly FrameLine[], style: Style): string[] {
  const digits = String(Math.max(...frame.map((line) => line?.number ?? 0))).length;
  return frame.map((line) => {
    if (line === null) return style.dim(`  ${" ".repeat(digits)} ┆`);
    const gutter = `${line.anchored ? ">" : " "} ${String(line.number).padStart(digits)} │`;
    const text = clip(plainLine(line.text), style.codeWidth - INDENT.length - gutter.length - 1);
    if (!line.anchored) return style.dim(`${gutter} ${text}`.trimEnd());
    return `${style.removed(gutter)} ${text}`.trimEnd();
  });
}

/** Markdown as prose for a terminal: wrapped paragraphs, unchanged fenced code, colored code and emphasis. */
function proseLines(markdown: string, style: Style): string[] {
  const width = style.width - INDENT.length;
  const inlineMarks = (line: string) =>
    line.replace(/`([^`]+)`|\*\*([^*]+)\*\*/g, (_, code?: string, strong?: string) =>
      code === undefined ? style.bold(strong ?? "") : style.code(code),
    );
  return blocks(plainLines(markdown.trim())).flatMap(({ code, text }) =>
    code ? [style.code(`    ${text}`)] : wrap(text, width).map(style.color ? inlineMarks : (line) => line),
  );
}

/** Unchanged lines of code, and each paragraph on one line, however its source was wrapped. */
function blocks(lines: readonly string[]) {
  const found: { code: boolean; text: string }[] = [];
  let open: string | null = null;
  let paragraph = false;
  for (const text of lines) {
    const fence = /^\s*(`{3,}|~{3,})/.exec(text)?.[1];
    const before = found.at(-1);
    if (open !== null) {
      // A fence ends with one at least as long; a shorter one inside is code.
      if (fence?.startsWith(open)) open = null;
      else found.push({ code: true, text });
    } else if (fence) {
      open = fence;
      paragraph = false;
    } else if (paragraph && before && !startsBlock.test(text)) {
      before.text += ` ${text.trim()}`;
    } else {
      found.push({ code: false, text });
      paragraph = text.trim() !== "" && !/^#|\|/.test(text);
    }
  }
  return found;
}

/** An empty line, an item of a list, a heading, a quotation, a table or indented code. */
const startsBlock = /^\s*$|^\s*(?:[-*+]|\d+[.)])\s|^#|^>|^\||^ {4}/;

/** The reviewed range in the person's own terms. */
export interface RangeNames {
  /** The folder of the repository: a report begins with it, so that nobody takes one repository for another. */
  repository?: string;
  base: string;
  head: string;
  /** "3 commits" */
  commits: string;
  /** What was reviewed, if that includes uncommitted changes. */
  uncommitted?: string | null;
}

export interface TerminalOptions {
  range: RangeNames;
  source: SourceLines;
  color: boolean;
  /** Width of prose. */
  width: number;
  /** Width of code on a terminal. Default: code is never cut. */
  codeWidth?: number | undefined;
}

/** Most skipped files to name one by one. */
const MOST_SKIPPED = 12;

/** The report for people at a terminal. A complete review that found nothing is one line, unless named rules apply. */
export function renderTerminal(result: ReviewResult, options: TerminalOptions): string {
  const style = createStyle(options.color, options.width, options.codeWidth);
  const rejected = rejectedMatches(result);
  const lists = [result.findings, result.warnings, result.masked, rejected, result.rules?.applied ?? []];
  const isWhole = result.coverage.files_skipped.every(({ reason }) => reason !== NOT_SELECTED);
  const quiet = isWhole && lists.every((list) => list.length === 0) && outcomeOf(result) === "complete";
  const lines = quiet ? [quietLine(result, options)] : reportLines(result, options, style);
  return `${withoutLogCommands(lines.join("\n"))}\n`;
}

/** A runner of GitHub Actions obeys lines of a log that begin with two colons, and `##[` anywhere. Text of others may have either. */
const withoutLogCommands = (text: string) =>
  text.replace(/^([^\S\n]*)(?=::)/gm, "$1\\").replaceAll("##[", "##\\[");

function quietLine(result: ReviewResult, { range }: TerminalOptions): string {
  const { coverage, usage } = result;
  const skipped = coverage.files_skipped.length;
  const dropped = result.dropped.length;
  const model = [
    plainLine(result.model ?? ""),
    `${thousands(usage.prompt_tokens + usage.completion_tokens)} tokens`,
    ...(usage.cost_usd === null ? [] : [dollars(usage.cost_usd)]),
  ];
  // If there is nothing to review, no model is called.
  const spent = [...(usage.requests > 0 ? model : []), duration(result.duration_ms)];
  return [
    `${leadOf(range)}${plainLine(range.uncommitted ?? `${range.base}...${range.head}`)}: ${nothingFound(result)}`,
    ...(isUnread(result) ? ["offline"] : []),
    ...(coverage.hunks_total > 0 ? [`${count(coverage.hunks_total, "hunk")} read`] : []),
    ...(skipped > 0 ? [`${count(skipped, "file")} skipped`] : []),
    ...(dropped > 0 ? [`${count(dropped, "finding")} left out after a check`] : []),
    spent.join(", "),
  ].join(" · ");
}

function reportLines(result: ReviewResult, options: TerminalOptions, style: Style): string[] {
  const { range } = options;
  const lines = [
    // Before everything else: a report about commits says nothing about the files at hand.
    ...(range.uncommitted ? wrap(`${leadOf(range)}${plainLine(range.uncommitted)}.`, style.width) : []),
    ...outcomeLines(result, options, style),
    ...headerLines(result, options, style),
  ];
  if (summaryOf(result)) lines.push("", ...proseLines(summaryOf(result), style));
  for (const [path, findings] of byFile(result.findings)) {
    lines.push("", style.path(plainLine(path)));
    for (const placed of findings) lines.push("", ...findingLines(placed, options.source, style));
  }
  return [...lines, "", ...footerLines(result, style)];
}

const leadOf = ({ repository }: RangeNames) => (repository ? `${plainLine(repository)} · ` : "");

function outcomeLines(result: ReviewResult, { range }: TerminalOptions, style: Style): string[] {
  const sentence = outcomeSentence(result);
  if (!sentence) return [];
  const unread = unreadPlaces(result).map(
    ({ path, what }) => `  not read: ${plainLine(path)} (${plainLine(what)})`,
  );
  const unplaced = unplacedLines(result).flatMap((line) => wrap(`  ${plainLine(line)}`, style.width));
  const lead = range.uncommitted ? "" : leadOf(range);
  // Added if the sentence begins with something else, such as a reached limit.
  const offline =
    isUnread(result) && !/offline/i.test(sentence) ? "Offline: no model read this change. " : "";
  const lines = [...wrap(`${lead}${offline}${sentence}.`, style.width), ...unread, ...unplaced];
  return [...lines.map(style.alarm), ""];
}

function headerLines(result: ReviewResult, { range }: TerminalOptions, style: Style): string[] {
  const lead = range.uncommitted || outcomeSentence(result) ? "" : leadOf(range);
  const names = `${lead}${plainLine(range.base)}...${plainLine(range.head)}`;
  const since = result.merge_base_sha.slice(0, 7);
  const { files_total, hunks_total } = result.coverage;
  const facts = [
    // No commit has uncommitted files.
    result.head_tree === null ? `${since}..${result.head_sha.slice(0, 7)}` : `since ${since}`,
    range.commits,
    count(files_total, "file"),
    count(hunks_total, "hunk"),
    result.mode === "model" ? plainLine(result.model ?? "model") : "offline",
  ];
  return [style.bold(names), ...wrap(facts.join(" · "), style.width).map(style.dim)];
}

function skippedRows({ files_skipped: skipped }: Coverage): [string, string][] {
  const shown = skipped
    .slice(0, MOST_SKIPPED)
    .map(({ path, reason }): [string, string] => ["Skipped", `${plainLine(path)}: ${plainLine(reason)}`]);
  const left = skipped.length - shown.length;
  return left > 0 ? [...shown, ["Skipped", `${count(left, "more file")}; --format json lists all`]] : shown;
}

/** Most rejected matches to show one by one, and characters of a reason. */
const MOST_REJECTED = 20;
const MOST_REASON = 200;

/** Each match that the model rejects has its reason: whether that is true is for people to see. */
function droppedRows(result: ReviewResult): [string, string][] {
  const rejected = rejectedMatches(result);
  const others = result.dropped.length - rejected.length;
  const rows = rejected.slice(0, MOST_REJECTED).map(({ path, line, title, reason }): [string, string] => {
    const why = cutSentence(plainLine(reason), MOST_REASON);
    return ["Rejected", `${plainLine(path)}:${line} ${plainLine(title)}: ${why}`];
  });
  const left = rejected.length - rows.length;
  if (left > 0) rows.push(["Rejected", `${thousands(left)} more; --format json lists all`]);
  if (others > 0)
    rows.push(["Left out", `${count(others, "finding")}; --format markdown and json list them with reasons`]);
  return rows;
}

function ruleRows({ rules }: ReviewResult): [string, string][] {
  if (rules === undefined) return [];
  const rows = rules.applied.map((one): [string, string] => [
    "",
    `${plainLine(one.name)}${one.blocking ? " (blocking)" : ""}: ${plainLine(ruleWords(one))}`,
  ]);
  return [["Rules", ruleCount(rules)], ...rows];
}

function footerLines(result: ReviewResult, style: Style): string[] {
  const { coverage, warnings } = result;
  const found = countBySeverity(result.findings.map(({ finding }) => finding)) || "none";
  const read =
    result.mode === "model"
      ? `${coverage.hunks_served} of ${count(coverage.hunks_total, "hunk")} read by the model`
      : `analyzers only, ${count(coverage.hunks_total, "hunk")}${rulesGap(result, plainLine)}`;
  const rows: [string, string][] = [
    ["Findings", found],
    ["Tests", shownCount(result.findings.map(({ finding }) => finding))],
    ["Coverage", read],
    ...skippedRows(coverage),
    ...ruleRows(result),
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

/** Files by their worst finding, then by path; findings of a file by line. */
function byFile(findings: readonly PlacedFinding[]): [string, PlacedFinding[]][] {
  const groups = Map.groupBy(bySeverity(findings), ({ finding }) => finding.path);
  return [...groups].map(([path, group]) => [
    path,
    group.toSorted((a, b) => a.finding.line - b.finding.line),
  ]);
}
