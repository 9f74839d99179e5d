import type { Evidence, Finding, Place } from "../finding.ts";
import type { PlacedFinding } from "../review/review-result.ts";
import { codeFrame, type FrameLine, type SourceLines, suggestionDiff } from "./code-frame.ts";
import { plural } from "./outcome.ts";
import { doubtSentence, noteBesideEvidence } from "./second-look.ts";
import { plainLine, plainLines, type Style } from "./terminal-style.ts";
import { clip, wrap } from "./terminal-wrap.ts";

const INDENT = "  ";

/** One finding as indented lines: what it is, where, the code, why, and what to write instead. */
export function findingLines(
  { finding, placement }: PlacedFinding,
  source: SourceLines,
  style: Style,
): string[] {
  const lines = [titleLine(finding, style), ...placeLines(finding, style)];
  if (placement.kind !== "inline") lines.push(style.dim(`not on its line: ${plainLine(placement.reason)}`));
  lines.push(...doubtLines(finding, style));
  const frame = frameLines(codeFrame(finding, source), style);
  if (frame.length > 0) lines.push("", ...frame);
  lines.push("", ...proseLines(finding.body, style));
  const suggestion = suggestionDiff(finding, source);
  if (suggestion) {
    const paint = { " ": style.dim, "-": style.removed, "+": style.added };
    lines.push("", style.bold("Suggestion"));
    // Whole, on a narrow terminal too: it is there to be copied, and the terminal wraps it.
    for (const { sign, text } of suggestion) lines.push(paint[sign](`  ${sign} ${plainLine(text)}`));
  }
  const around = [
    ...otherPlaces(finding, style),
    ...noteLines(finding, style),
    ...finding.evidence.flatMap((one) => evidenceLines(one, style)),
  ];
  if (around.length > 0) lines.push("", ...around);
  return lines.map((line) => (line === "" ? "" : INDENT + line));
}

function doubtLines(finding: Finding, style: Style): string[] {
  const doubt = plainLine(doubtSentence(finding));
  return doubt === "" ? [] : wrap(doubt, style.width - INDENT.length).map(style.alarm);
}

const MOST_PLACES = 10;

function otherPlaces({ places }: Finding, style: Style): string[] {
  const shown = places.slice(0, MOST_PLACES).map((place) => `- the same at ${placeWords(place)}`);
  const rest = places.length - shown.length;
  const lines = rest > 0 ? [...shown, `- and at ${plural(rest, "more place")}`] : shown;
  return lines.flatMap((line) => wrap(line, style.width - INDENT.length));
}

function placeWords({ path, side, line, start_line }: Place): string {
  const lines = start_line === null ? `${line}` : `${start_line}-${line}`;
  return `${plainLine(path)}:${lines}${side === "LEFT" ? " (removed)" : ""}`;
}

function noteLines(finding: Finding, style: Style): string[] {
  const note = noteBesideEvidence(finding);
  return note === null ? [] : wrap(`- ${plainLine(note)}`, style.width - INDENT.length).map(style.dim);
}

function evidenceLines({ path, start_line, end_line, note }: Evidence, style: Style): string[] {
  const place = `${path}:${start_line === end_line ? start_line : `${start_line}-${end_line}`}`;
  return wrap(`- see ${plainLine(place)}: ${plainLine(note)}`, style.width - INDENT.length).map(style.dim);
}

function titleLine(finding: Finding, style: Style): string {
  const label = style.severity[finding.severity](finding.severity.toUpperCase());
  const room = style.width - INDENT.length - finding.severity.length - 4;
  return `${label}  ${style.bold(wrap(plainLine(finding.title), room).join(`\n${INDENT}`))}`;
}

function placeLines(finding: Finding, style: Style): string[] {
  const sure = `${Math.round(finding.confidence * 100)} % sure`;
  const origin = finding.source === "model" ? sure : plainLine(finding.source);
  const { verification } = finding;
  const checked = verification === "confirmed" || verification === "uncertain" ? [verification] : [];
  const facts = [placeWords(finding), finding.category, origin, ...checked].join(" · ");
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

/** Markdown as prose for a terminal: paragraphs wrapped, fenced code as it stands, code and emphasis coloured. */
export function proseLines(markdown: string, style: Style): string[] {
  const width = style.width - INDENT.length;
  const inlineMarks = (line: string) =>
    line.replace(/`([^`]+)`|\*\*([^*]+)\*\*/g, (_, code?: string, strong?: string) =>
      code === undefined ? style.bold(strong ?? "") : style.code(code),
    );
  return blocks(plainLines(markdown.trim())).flatMap(({ code, text }) =>
    code ? [style.code(`    ${text}`)] : wrap(text, width).map(style.colour ? inlineMarks : (line) => line),
  );
}

interface Block {
  /** A line of a fenced block, to be shown as it is. */
  code: boolean;
  text: string;
}

/** Lines of code as they stand, and paragraphs on one line each, however their source was wrapped. */
function blocks(lines: readonly string[]): Block[] {
  const found: Block[] = [];
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
