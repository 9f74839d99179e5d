import type { Finding } from "../finding.ts";
import { fence } from "../text/fence.ts";
import type { AnchorFile } from "./anchor.ts";
import { checkSuggestion } from "./suggestion/check-suggestion.ts";

type Suggesting = Pick<Finding, "path" | "side" | "line" | "start_line" | "body" | "suggestion">;

/** A finding whose suggestion may be committed by a click, and what was done to get there. */
export interface Checked<T> {
  finding: T;
  /** In words for the model; null when the suggestion is as it was, or there was none. */
  note: string | null;
}

/**
 * Offers what a suggestion proposes only when it was tried on a copy of the file; otherwise keeps it as prose.
 */
export async function withCheckedSuggestion<T extends Suggesting>(
  finding: T,
  { lines }: Pick<AnchorFile, "lines">,
): Promise<Checked<T>> {
  const { path, side, line, start_line, suggestion } = finding;
  if (suggestion === null) return { finding, note: null };
  // GitHub applies suggestions to the head's file only.
  if (side === "LEFT" || lines.RIGHT === null) return asProse(finding, "it would replace removed lines");
  const checked = await checkSuggestion({
    ...{ path, lines: lines.RIGHT, suggestion },
    start: start_line ?? line,
    end: line,
  });
  if (!checked.ok) return asProse(finding, checked.reason);
  const note = checked.repairs.length > 0 ? `the suggestion was mended: ${checked.repairs.join(", ")}` : null;
  return { finding: { ...finding, suggestion: checked.suggestion }, note };
}

function asProse<T extends Suggesting>(finding: T, reason: string): Checked<T> {
  return {
    finding: withoutSuggestion(finding, reason),
    note: `the suggestion becomes prose, because ${reason}`,
  };
}

/** Keeps the proposed code as prose, so that nothing the review found is lost. `reason` is a clause of ours. */
export function withoutSuggestion<T extends Pick<Finding, "body" | "suggestion">>(
  finding: T,
  reason: string,
): T {
  if (finding.suggestion === null) return finding;
  const proposal = `Proposed replacement (not offered as a suggestion: ${reason}):`;
  return {
    ...finding,
    suggestion: null,
    body: `${finding.body}\n\n${proposal}\n\n${fence(finding.suggestion)}`,
  };
}
