import type { CodeLocation, Evidence, Finding, Severity } from "../../core/finding.ts";
import { count } from "../../core/text/count.ts";
import { byteLength, cutAtLine, cutBytes } from "../../core/text/cut.ts";
import { escapeInvisible } from "../../core/text/escape-invisible.ts";
import { anchorOf, lineRange, linesWords } from "../../report/code-frame.ts";
import {
  bodyOf,
  doubtSentence,
  markSentence,
  noteBesideEvidence,
  originWords,
  testSentence,
} from "../../report/finding-words.ts";
import type { CheckAnnotation } from "../github/pull-request-api.ts";
import { publicPlain } from "./public-text.ts";

/** GitHub accepts 64 KB, and does not document its behavior at that limit. */
const mostBytes = 60_000;
const mostTitleBytes = 250;
const mostNoteBytes = 400;
const mostLookBytes = 1_000;
const mostPlaces = 10;

const levels: Record<Severity, CheckAnnotation["level"]> = {
  critical: "failure",
  high: "failure",
  medium: "warning",
  low: "notice",
};

/** A finding on lines of the head as an annotation. The last line of its details says which finding it is. */
export function renderAnnotation(finding: Finding): CheckAnnotation {
  const { severity, path, line, start_line, id, title } = finding;
  const word = `${severity.charAt(0).toUpperCase()}${severity.slice(1)}`;
  const last = `Hunkwise finding ${id}`;
  const headline = plainLine(`${word}: ${title}`, mostTitleBytes);
  const doubt = cutBytes(doubtSentence(finding), mostLookBytes);
  const mark = cutBytes(markSentence(finding), mostLookBytes);
  const first = [doubt, mark].filter((part) => part !== "").join("\n\n");
  const details = plainBlock(detailsOf(finding), mostBytes - byteLength(last) - 2);
  return {
    path,
    startLine: start_line ?? line,
    endLine: line,
    level: levels[severity],
    title: publicPlain(headline),
    // GitHub rejects an annotation without a message.
    message: publicPlain(plainBlock(`${first}\n\n${bodyOf(finding)}`, mostBytes) || headline),
    details: publicPlain(`${details}\n\n${last}`),
  };
}

/** Id of the finding whose annotation has these details; undefined if they are not a finding's. */
export function annotatedFinding(details: string): string | undefined {
  const text = details.trimEnd();
  return /^Hunkwise finding (.+)$/.exec(text.slice(text.lastIndexOf("\n") + 1))?.[1];
}

/** The unescaped suggestion, for copying, and how the finding was checked. */
function detailsOf(finding: Finding): string {
  const { suggestion, rule } = finding;
  const { first, last } = anchorOf(finding);
  const note = plainLine(noteBesideEvidence(finding) ?? "", mostLookBytes);
  const proof = plainLine(testSentence(finding), mostLookBytes);
  const checked = [
    "How this was checked:",
    ...(note === "" ? [] : [`- ${note}`]),
    ...finding.evidence.map(evidenceLine),
    ...(proof === "" ? [] : [`- ${proof}`]),
    `- ${originWords(finding)}`,
  ];
  return [
    ...(rule === undefined ? [] : [`Rule of this repository: ${plainLine(rule, mostNoteBytes)}`]),
    ...(suggestion === null ? [] : [`Replace ${linesWords(first, last)} with:\n\n${suggestion}`]),
    ...otherPlaces(finding),
    checked.join("\n"),
  ].join("\n\n");
}

function otherPlaces({ places }: Finding): string[] {
  const shown = places.slice(0, mostPlaces).map(placeLine);
  const rest = places.length - shown.length;
  if (rest > 0) shown.push(`- and ${count(rest, "more place")}`);
  return shown.length === 0 ? [] : [["The same at:", ...shown].join("\n")];
}

function placeLine({ path, start_line, line, side }: CodeLocation): string {
  const removed = side === "LEFT" ? " (removed)" : "";
  return `- ${plainLine(`${path}:${lineRange(start_line ?? line, line)}`, mostNoteBytes)}${removed}`;
}

function evidenceLine({ path, start_line, end_line, note }: Evidence): string {
  const text = plainLine(note, mostNoteBytes);
  return `- ${plainLine(`${path}:${lineRange(start_line, end_line)}`, mostNoteBytes)}${text === "" ? "" : `: ${text}`}`;
}

/**
 * Untrusted text for a place that GitHub shows as plain text: only invisible characters are spelled out, and URLs kept from becoming links.
 */
function plain(text: string): string {
  const shown = escapeInvisible(text.toWellFormed().replace(/\r\n?/g, "\n"));
  return shown.replace(/:\/\/|(?<=\bwww)\./gi, (found) => (found === "." ? "\u200b." : ":/\u200b/"));
}

function plainLine(text: string, maxBytes: number): string {
  const flat = text.replace(/\s+/g, " ").trim();
  // Spelling out invisible characters makes a text longer, never shorter.
  const head = cutBytes(flat, maxBytes);
  const line = plain(head);
  const isWhole = head.length === flat.length && byteLength(line) <= maxBytes;
  return isWhole ? line : `${cutBytes(line, maxBytes - 3)}…`;
}

function plainBlock(text: string, maxBytes: number): string {
  const { text: head, omittedLines } = cutAtLine(plain(text).trim(), maxBytes - 60);
  return omittedLines === 0 ? head : `${head}\n\n… (${omittedLines} more lines)`;
}
