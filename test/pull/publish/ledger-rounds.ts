import type { Severity } from "../../../src/core/finding.ts";
import { parseMarker } from "../../../src/core/ledger/marker.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import type { LedgerUpdate, PlacedFinding } from "../../../src/tasks/shapes/review-result.ts";
import { sampleResult, sampleUpdate } from "../../report/sample-result.ts";
import { MemoryGitHub } from "./memory-github.ts";
import { many, placed, publish, summary } from "./publish-to-memory.ts";

export const reply = (github: MemoryGitHub, comment = firstComment(github)) =>
  github.thread(comment).replies.map(({ body }) => body);
export const firstComment = (github: MemoryGitHub) => github.reviews[0]?.comments[0]?.id ?? 0;
export const last = (github: MemoryGitHub) => github.checks.at(-1)?.history.at(-1);
export const stateOf = (github: MemoryGitHub) => {
  const marker = parseMarker(summary(github));
  return marker?.kind === "summary" ? marker.state : emptyState;
};

/** A review after the first one; of the same head, so that no other pull request has to be made up. */
export async function again(
  github: MemoryGitHub,
  findings: PlacedFinding[],
  update: Partial<LedgerUpdate> = {},
  over: Parameters<typeof publish>[2] = {},
) {
  const ledger = sampleUpdate(update);
  const result = sampleResult({ findings, ledger, ...over.result });
  return publish(github, findings, { trigger: "comment:5", ...over, result });
}
export const fixed = (comment: number, reason = "The check is there now") => ({
  resolutions: [{ comment, state: "fixed" as const, reason }],
});
export const repeats = (finding: PlacedFinding, comment: number | null) => ({
  repeats: [{ finding: finding.finding.id, comment }],
});
/** The same problem in other words and at another line, as a model says it again. */
export const reworded = placed({ id: "other", path: "src/a.ts", line: 30, title: "Said in other words" });

export async function withOne(severity: Severity = "high"): Promise<MemoryGitHub> {
  const github = new MemoryGitHub();
  await publish(github, many(1, { severity }));
  return github;
}
