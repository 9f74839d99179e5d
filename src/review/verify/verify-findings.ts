import { atLeast, type Finding, type Place } from "../../finding.ts";
import { mapFew } from "../../map-few.ts";

import { overlap, placeOf } from "../merge/same-fault.ts";
import type { DroppedFinding } from "../review-result.ts";
import type { ReviewRun } from "../review-run.ts";
import { lookAgain, type Outcome } from "./sceptic.ts";
import { createSiblingSearch } from "./siblings.ts";

export interface Verified {
  findings: Finding[];
  /** What is not reported after all, each with the reason. */
  dropped: DroppedFinding[];
}

/** Second looks at the same time. */
const CONCURRENCY = 4;

/**
 * Gives each finding to a sceptic. What is refuted is dropped and told as dropped; what could not be settled is kept only when
 * it would be severe, and says so; what could not be checked is kept and says that.
 */
export async function verifyFindings(run: ReviewRun, findings: readonly Finding[]): Promise<Verified> {
  const siblings = createSiblingSearch(run.files, run.deps.diffs);
  let done = 0;
  const judged = await mapFew(findings, CONCURRENCY, async (finding) => {
    const outcome = await lookAgain(run, finding, await siblings.of(finding));
    done += 1;
    run.deps.progress({ type: "verdict", done, total: findings.length });
    return { finding, outcome };
  });
  const all: Verified = { findings: [], dropped: [] };
  for (const { finding, outcome } of judged) {
    const kept = afterLook(finding, outcome);
    if ("reason" in kept) all.dropped.push(kept);
    else all.findings.push(kept);
  }
  return all;
}

/** The finding as it is reported after a second look, or as it is dropped. Its severity is the sceptic's from here on. */
export function afterLook(finding: Finding, outcome: Outcome): Finding | DroppedFinding {
  if (outcome.verdict === null) {
    return { ...finding, verification_note: `The second look came to no end: ${outcome.reason}.` };
  }
  const { verdict, failingInput, reason, evidence, places } = outcome.verdict;
  const severity = outcome.verdict.severity ?? finding.severity;
  if (verdict === "refuted") return dropped(finding, "refuted", reason);
  if (verdict === "uncertain" && !atLeast(severity, "high")) return dropped(finding, "uncertain", reason);
  return {
    ...finding,
    severity,
    verification: verdict,
    verification_note: verdict === "confirmed" ? failingInput : reason,
    evidence: [...finding.evidence, ...evidence],
    places: withPlaces(finding, places),
  };
}

function dropped(
  { id, path, line, title }: Finding,
  verdict: DroppedFinding["verdict"],
  reason: string,
): DroppedFinding {
  return { id, path, line, title, verdict, reason };
}

function withPlaces(finding: Finding, more: readonly Place[]): Place[] {
  const places = [...finding.places];
  for (const place of more) {
    if (![placeOf(finding), ...places].some((one) => overlap(one, place))) places.push(place);
  }
  return places;
}
