import type { Evidence, Finding } from "../finding.ts";
import { byteLength, cutBytes } from "../text/cut.ts";
import { fence } from "../text/fence.ts";
import { formatMarker, stripMarkers } from "./markers.ts";
import { findingLink, type LinkBase, placeLink, severityBadge } from "./render-places.ts";
import { untrustedBlock, untrustedCode, untrustedLine } from "./render-untrusted.ts";

/** GitHub refuses more than 65,536 characters; in bytes, and with a margin, nothing can go wrong. */
export const mostBodyBytes = 60_000;

const mostSuggestionBytes = 20_000;
const mostEvidence = 12;

/** "line": the comment stands on the finding's line. "file": on its file. "list": among others, in the summary. */
export type Spot = "line" | "file" | "list";

export interface CommentContext extends LinkBase {
  trigger: string;
}

/** The comment of a finding on its line or file, marker included. */
export function renderComment(finding: Finding, spot: "line" | "file", context: CommentContext): string {
  const marker = formatMarker({
    kind: "finding",
    id: finding.id,
    head: context.headSha,
    trigger: context.trigger,
  });
  const text = renderFinding(finding, spot, context, mostBodyBytes - byteLength(marker) - 2);
  return `${text}\n\n${marker}`;
}

/** A finding in full and without a marker, in at most `maxBytes`. */
export function renderFinding(finding: Finding, spot: Spot, base: LinkBase, maxBytes: number): string {
  const title = `**${severityBadge(finding.severity)}: ${untrustedLine(finding.title)}**`;
  const head = spot === "line" ? [title] : [title, findingLink(finding, base)];
  const extras = [suggestionBlock(finding, spot), checkedBlock(finding, base)];
  const fixed = bytesOf([...head, ...extras]) < maxBytes ? extras : [];
  const body = untrustedBlock(finding.body, maxBytes - bytesOf([...head, ...fixed]));
  return [...head, body, ...fixed].filter((part) => part !== "").join("\n\n");
}

/** With the empty lines between and around the parts. */
const bytesOf = (parts: readonly string[]) => parts.reduce((sum, part) => sum + byteLength(part) + 2, 2);

/** A button to commit it exists on the line alone, and only for a version of the file that the pull request still has. */
function suggestionBlock({ suggestion, side, line, start_line }: Finding, spot: Spot): string {
  if (suggestion === null || side !== "RIGHT") return "";
  const text = stripMarkers(suggestion);
  // What is committed by a click is what was checked, to the letter, or nothing.
  if (text !== suggestion || byteLength(suggestion) > mostSuggestionBytes) return "";
  if (spot === "line") return fence(suggestion, "suggestion");
  const lines = start_line === null ? `line ${line}` : `lines ${start_line} to ${line}`;
  return `Instead of ${lines}:\n\n${fence(suggestion)}`;
}

function checkedBlock(finding: Finding, base: LinkBase): string {
  const shown = finding.evidence.slice(0, mostEvidence).map((one) => evidenceLine(one, base));
  const rest = finding.evidence.length - shown.length;
  const lines = [...shown, ...(rest > 0 ? [`- and ${rest} more places`] : []), `- ${originOf(finding)}`];
  return `<details><summary>How this was checked</summary>\n\n${lines.join("\n")}\n\n</details>`;
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

function originOf({ source, verification, confidence, category }: Finding): string {
  const sure = `${Math.round(confidence * 100)} % sure`;
  const rule = source === "model" ? "" : `Found by ${untrustedCode(cutBytes(source, 200))}. `;
  return `${rule}${verdicts[verification]}; ${sure}; category ${category}.`;
}
