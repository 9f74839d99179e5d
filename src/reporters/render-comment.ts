import type { Evidence, Finding } from "../finding.ts";
import { byteLength, cutBytes } from "../text/cut.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";
import { fence } from "../text/fence.ts";
import { formatMarker, stripMarkers } from "./markers.ts";
import { plural } from "./outcome.ts";
import { details, fitting } from "./render-parts.ts";
import { findingLink, type LinkBase, placeLink, severityBadge } from "./render-places.ts";
import { untrustedBlock, untrustedLine } from "./render-untrusted.ts";

/** GitHub refuses more than 65,536 characters; in bytes, and with a margin, nothing can go wrong. */
export const mostBodyBytes = 60_000;

/** Of a comment, a quarter may be evidence and a third a suggestion; the rest is the text's. */
const evidenceShare = 1 / 4;
const suggestionShare = 1 / 3;
const mostEvidence = 12;

/** Where a finding is shown: on its line, on its file, or among others in the summary; and why not on its line. */
export type Spot = { kind: "line" } | { kind: "file" | "list"; reason: string };

export interface CommentContext extends LinkBase {
  trigger: string;
}

/** The comment of a finding on its line or file, marker included. */
export function renderComment(finding: Finding, spot: Spot, context: CommentContext): string {
  const marker = formatMarker({
    kind: "finding",
    id: finding.id,
    severity: finding.severity,
    head: context.headSha,
    trigger: context.trigger,
  });
  const text = renderFinding(finding, spot, context, mostBodyBytes - byteLength(marker) - 2);
  return `${text}\n\n${marker}`;
}

/** A finding in full and without a marker, in at most `maxBytes` (of which there should be thousands). */
export function renderFinding(finding: Finding, spot: Spot, base: LinkBase, maxBytes: number): string {
  const title = `**${severityBadge(finding.severity)}: ${untrustedLine(finding.title)}**`;
  const head = spot.kind === "line" ? title : `${title} in ${findingLink(finding, base)}`;
  const why = spot.kind === "line" ? [] : [`_Not on its line: ${untrustedLine(spot.reason)}._`];
  const { text: suggestion, missing } = suggestionBlock(finding, spot, maxBytes * suggestionShare);
  const checked = checkedBlock(finding, base, missing, maxBytes * evidenceShare);
  const around = [head, suggestion, ...why, checked];
  const body = untrustedBlock(finding.body, maxBytes - bytesOf(around));
  return [head, body, suggestion, ...why, checked].filter((part) => part !== "").join("\n\n");
}

/** With the empty lines between and around the parts. */
const bytesOf = (parts: readonly string[]) => parts.reduce((sum, part) => sum + byteLength(part) + 2, 2);

interface Suggestion {
  text: string;
  /** Why the proposed lines are not there; empty when they are, or when there are none. */
  missing: string;
}

/**
 * A button to commit it exists on the line alone, and only for a version of the file that the pull request still has. What
 * is committed by a click is what was checked and what is seen, to the letter, or there is no button.
 */
function suggestionBlock(finding: Finding, spot: Spot, maxBytes: number): Suggestion {
  const { suggestion, side, line, start_line } = finding;
  if (suggestion === null || side !== "RIGHT") return { text: "", missing: "" };
  if (byteLength(suggestion) > maxBytes) return { text: "", missing: "it is too long to be shown here" };
  if (stripMarkers(suggestion) !== suggestion)
    return { text: "", missing: "it holds what marks comments of Hunkwise" };
  if (holdsHidden(finding, suggestion))
    return { text: "", missing: "it holds characters that nobody can see" };
  if (spot.kind === "line") return { text: fence(suggestion, "suggestion"), missing: "" };
  const lines = start_line === null ? `line ${line}` : `lines ${start_line} to ${line}`;
  return { text: `Instead of ${lines}:\n\n${fence(suggestion)}`, missing: "" };
}

/** Characters that do not show or turn the direction of writing, but those of the code as it is, of emoji and of line ends. */
function holdsHidden({ quote }: Finding, suggestion: string): boolean {
  const added = [...new Set(suggestion)].filter(
    (sign) => !"\r\u200d\ufe0f".includes(sign) && !quote.includes(sign),
  );
  return added.some((sign) => escapeInvisible(sign) !== sign);
}

function checkedBlock(finding: Finding, base: LinkBase, missing: string, maxBytes: number): string {
  const evidence = finding.evidence.slice(0, mostEvidence).map((one) => evidenceLine(one, base));
  const shown = fitting(evidence, maxBytes - 1_000);
  const rest = finding.evidence.length - shown.length;
  const lines = [
    ...shown,
    ...(rest > 0 ? [`- and ${plural(rest, "more place")}`] : []),
    ...(missing === "" ? [] : [`- The proposed replacement is left out: ${missing}.`]),
    `- ${untrustedLine(originWords(finding))}`,
  ];
  return details("How this was checked", lines.join("\n"));
}

function evidenceLine({ path, start_line, end_line, note }: Evidence, base: LinkBase): string {
  const said = untrustedLine(note);
  const place = placeLink(base, base.headSha, path, start_line, Math.max(start_line, end_line));
  return `- ${place}${said === "" ? "" : `: ${said}`}`;
}

const verdicts: Record<Finding["verification"], string> = {
  confirmed: "A second, sceptical look confirmed it",
  uncertain: "A second look could neither confirm nor refute it",
  unverified: "Not checked by a second look",
};

/** Who found it and how sure that is, as plain text. */
export function originWords({ source, verification, confidence, category }: Finding): string {
  const sure = `${Math.round(confidence * 100)} % sure`;
  const rule = source === "model" ? "" : `Found by \`${cutBytes(source, 200)}\`. `;
  return `${rule}${verdicts[verification]}; ${sure}; category ${category}.`;
}
