import type { Finding } from "../../finding.ts";
import type { PlacedFinding } from "../review-result.ts";
import { withoutSuggestion } from "../suggestion/check-suggestion.ts";
import type { AnchorFile } from "./anchor.ts";

/**
 * Decides where a finding is published. GitHub takes a review comment only on lines its own diff shows (`-U3 -M`), a range
 * only within one hunk and side (https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request answers 422
 * otherwise). A range that leaves its hunk is clipped; then its suggestion would replace other lines than it was written for
 * and becomes prose.
 */
export function placeFinding(finding: Finding, file: AnchorFile): PlacedFinding {
  if (!file.inChange)
    return { finding, placement: { kind: "summary", reason: "the file is not part of the change" } };
  const hunk = file.hunkAt(finding.side, finding.line);
  if (hunk === undefined) {
    const reason = file.hidden ?? "the line is outside the diff";
    return { finding: withoutSuggestion(finding, reason), placement: { kind: "file", reason } };
  }
  return { finding: inHunk(finding, file, hunk), placement: { kind: "inline" } };
}

function inHunk(finding: Finding, file: AnchorFile, hunk: number): Finding {
  const first = finding.start_line ?? finding.line;
  if (first >= finding.line) return onRight({ ...finding, start_line: null });
  let start = finding.line;
  while (start > first && file.hunkAt(finding.side, start - 1) === hunk) start--;
  if (start === first) return onRight(finding);
  const clipped = withoutSuggestion(finding, "it was written for more lines than the diff shows here");
  return { ...clipped, start_line: start < finding.line ? start : null };
}

/** GitHub applies suggestions to the head's file only. */
function onRight(finding: Finding): Finding {
  return finding.side === "RIGHT" ? finding : withoutSuggestion(finding, "it would replace removed lines");
}
