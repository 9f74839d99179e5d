import { bySeverity, type CodeLocation, type Finding, type Severity } from "../core/finding.ts";
import { byteLength } from "../core/text/cut.ts";
import { escapeUnseen } from "../core/text/escape-invisible.ts";
import type { ReviewResult } from "../tasks/shapes/review-result.ts";
import { anchorOf } from "./code-frame.ts";
import { bodyOf } from "./finding-words.ts";
import { doubtLine } from "./markdown.ts";
import { markLine } from "./proof-markdown.ts";
import { untrustedBlock, untrustedLine, whyNotPosted } from "./safe-markdown.ts";
import { removedNote, ruleOf, sameProblem } from "./sarif.ts";

/*
 * The Reviewdog Diagnostic Format (github.com/reviewdog/reviewdog, proto/rdf/reviewdog.proto): `rdjson` is one `DiagnosticResult`, `rdjsonl`
 * one `Diagnostic` a line. reviewdog 0.18 or later reads all of it. The names are the format's.
 */

const levels: Record<Severity, string> = { critical: "ERROR", high: "ERROR", medium: "WARNING", low: "INFO" };

/** Most bytes of a finding's text, of the second look's note, and most other places. */
const most = { message: 24_000, shortMessage: 6_000, note: 1_000, places: 20 };
/** reviewdog reads lines with Go's `bufio.Scanner`: at 64 KiB it stops, and reports neither an error nor what follows. */
const MOST_LINE_BYTES = 60_000;

const source = { name: "hunkwise" };

/** The whole result as one JSON text with a final line break. It cannot say how far the review got. */
export function renderRdjson({ findings }: ReviewResult): string {
  const diagnostics = bySeverity(findings).map(({ finding }) => diagnosticOf(finding, most.message));
  return `${escapeUnseen(JSON.stringify({ source, diagnostics }, null, 2))}\n`;
}

/** One finding a line, the worst first; empty without findings. */
export function renderRdjsonl({ findings }: ReviewResult): string {
  return bySeverity(findings)
    .map(({ finding }) => lineOf(finding))
    .join("");
}

/** The parts that may be long are left out of a line that reviewdog would not read. */
function lineOf(finding: Finding): string {
  const whole = diagnosticOf(finding, most.message);
  const { related_locations, ...alone } = whole;
  const { suggestions, ...short } = diagnosticOf({ ...finding, places: [] }, most.shortMessage);
  const lines = [whole, alone, short].map((one) => `${escapeUnseen(JSON.stringify(one))}\n`);
  return lines.find((line) => byteLength(line) <= MOST_LINE_BYTES) ?? lines.at(-1) ?? "";
}

function diagnosticOf(finding: Finding, maxBytes: number) {
  const { suggestion, missing } = suggestionOf(finding);
  const parts = [
    `**${untrustedLine(finding.title)}**`,
    doubtLine(finding, most.note),
    markLine(finding),
    finding.side === "LEFT" ? removedNote(finding) : "",
    untrustedBlock(bodyOf(finding), maxBytes),
    missing,
  ];
  return {
    // Markdown: reviewdog posts it as a comment.
    message: parts.filter((part) => part !== "").join("\n\n"),
    location: locationOf(finding),
    severity: levels[finding.severity],
    source,
    code: { value: ruleOf(finding) },
    ...(suggestion && { suggestions: [suggestion] }),
    ...(finding.places.length > 0 && {
      related_locations: finding.places
        .slice(0, most.places)
        .map((place) => ({ message: sameProblem(place), location: locationOf(place) })),
    }),
  };
}

type Place = Omit<CodeLocation, "quote">;

/** Lines are those of the head's version. A removed line is not in it. */
function locationOf(place: Place) {
  const path = place.path.toWellFormed();
  return place.side === "LEFT" ? { path } : { path, range: rangeOf(place) };
}

/** Positions without columns: the range covers whole lines, and the end of its last line is not part of it. */
function rangeOf(place: Place) {
  const { first, last } = anchorOf(place);
  return { start: { line: first }, end: { line: last } };
}

/** The suggestion, and if it is left out, why. */
function suggestionOf(finding: Finding) {
  const { suggestion, side, quote } = finding;
  if (suggestion === null || side === "LEFT") return { missing: "" };
  const why = whyNotPosted(suggestion, quote);
  if (why !== "") return { missing: `The proposed replacement is left out: ${why}.` };
  // The range ends before the last line's end, to which the carriage return belongs.
  return {
    suggestion: { range: rangeOf(finding), text: suggestion.replace(/\r$/, "").toWellFormed() },
    missing: "",
  };
}
