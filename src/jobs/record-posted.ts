import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";
import { parseMarker } from "../ledger/marker.ts";
import type { JobTools } from "../queue/run-job.ts";
import type { ReviewResult } from "../review/review-result.ts";

/**
 * Puts on record which comment holds which finding: GitHub answers a review with the review's id alone. Those of an attempt that died
 * before it could note them down are found as well.
 */
export async function recordPosted(
  api: Pick<PullRequestApi, "ownReviewComments">,
  { head_sha: head, findings }: ReviewResult,
  recorded: readonly TrajectoryEntry[],
  { record }: Pick<JobTools, "record">,
): Promise<void> {
  const known = new Set(
    recorded.flatMap((entry) => (entry.kind === "posted" ? entry.comments.map(({ id }) => id) : [])),
  );
  const found = new Set(findings.map(({ finding }) => finding.id));
  const comments = (await api.ownReviewComments()).flatMap(({ id, url, body }) => {
    const marker = parseMarker(body);
    const isOfIt = marker?.kind === "finding" && marker.head === head && found.has(marker.id);
    return isOfIt && !known.has(id) ? [{ finding: marker.id, id, url }] : [];
  });
  if (comments.length > 0) await record({ kind: "posted", comments });
}
