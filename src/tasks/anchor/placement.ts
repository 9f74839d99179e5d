import { blockingRules } from "../../config/named-rules.ts";
import { type EffectiveConfig, minimumSeverityAt } from "../../config/repo-config.ts";
import { atLeast, bySeverity, type Finding, isCertain } from "../../core/finding.ts";
import type { Choice, PlacedFinding } from "../shapes/review-result.ts";
import type { AnchorFile } from "./anchor.ts";
import { withoutSuggestion } from "./suggestion/check-suggestion.ts";

export async function placeFindings(
  findings: readonly Finding[],
  config: EffectiveConfig,
  anchorFile: (path: string) => Promise<AnchorFile | undefined>,
  quiet: ReadonlySet<string> = new Set(),
  choice: Choice | null = null,
): Promise<PlacedFinding[]> {
  const placed = await Promise.all(
    findings
      .filter((finding) => isWanted(finding, config))
      .map(async (finding) => {
        const file = await anchorFile(finding.path);
        if (!file) return listed(finding, "the file could not be read");
        const reason = quiet.has(finding.id) ? READ_BEFORE : whyNoComment(finding, config, choice);
        return reason === null ? placeFinding(finding, file) : listed(finding, reason);
      }),
  );
  return bySeverity(placed);
}

const READ_BEFORE = "an earlier review has read this code, and nothing new shows the problem";

/** From this severity findings are comments if no model chose. */
export const UNCHOSEN = "medium";

/** Why a finding is only listed. Null if it may be a comment; a certain or blocking one always may. */
function whyNoComment(finding: Finding, config: EffectiveConfig, choice: Choice | null): string | null {
  if (isCertain(finding) || isBlocking(finding, config)) return null;
  if (choice?.asked.includes(finding.id)) return choice.comments.includes(finding.id) ? null : NOT_CHOSEN;
  const least = config.comment_severity === "auto" ? UNCHOSEN : config.comment_severity;
  if (atLeast(finding.severity, least)) return null;
  return finding.reached ? `findings below ${least} severity get no comment` : "nothing reaches it yet";
}

const NOT_CHOSEN = "it need not be dealt with before merging, or another comment says it";

const listed = (finding: Finding, reason: string): PlacedFinding => ({
  finding,
  placement: { kind: "summary", reason },
});

/** It fails the check whatever its severity, so people must see it and be able to dismiss it. */
export const isBlocking = ({ rule }: Finding, config: EffectiveConfig): boolean =>
  rule !== undefined && blockingRules(config).has(rule);

/** Whether the configuration wants a finding of this severity reported at all. */
export const isWanted = (finding: Finding, config: EffectiveConfig): boolean =>
  isBlocking(finding, config) || atLeast(finding.severity, minimumSeverityAt(config, finding.path));

/** Says how many findings are below the minimum severity: none may disappear silently. */
export function milderWarning(findings: readonly Finding[], config: EffectiveConfig): string[] {
  const milder = findings.filter((finding) => !isWanted(finding, config)).length;
  if (milder === 0) return [];
  const count = milder === 1 ? "1 finding is" : `${milder} findings are`;
  const minimum = config.severity_by_path
    ? `minimum severity of ${milder === 1 ? "its folder" : "their folders"}`
    : `configured minimum severity "${config.minimum_severity}"`;
  return [`${count} below the ${minimum} and not reported.`];
}

/**
 * Decides where a finding is published. GitHub accepts review comments only on lines that its diff shows (`-U3 -M`), and ranges
 * only within one hunk and side; otherwise it answers 422
 * (https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request). A range that leaves its hunk is clipped, and its
 * suggestion becomes prose, because it was written for other lines.
 */
export function placeFinding(finding: Finding, file: AnchorFile): PlacedFinding {
  if (!file.inChange) return listed(finding, "the file is not part of the change");
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

function onRight(finding: Finding): Finding {
  return finding.side === "RIGHT" ? finding : withoutSuggestion(finding, "it would replace removed lines");
}
