import type { Finding } from "../finding.ts";
import type { OwnText, PullRequestApi } from "../github/pull-request-api.ts";
import type { PlacedFinding } from "../review/review-result.ts";
import { parseMarker } from "./markers.ts";
import { bySeverity } from "./order.ts";
import type { ListedFinding } from "./render-summary.ts";

/** A review is made once for each head and trigger. */
export interface ReviewKey {
  head: string;
  trigger: string;
}

/** What already stands on the pull request, read from the markers of our own texts. */
export interface Standing {
  /** The review of this head and trigger was posted. */
  review: boolean;
  /** Ids of findings that this very review posted, before it was interrupted. */
  mine: ReadonlySet<string>;
  /** Ids of findings that earlier reviews posted. */
  earlier: ReadonlySet<string>;
}

export async function readStanding(api: PullRequestApi, key: ReviewKey): Promise<Standing> {
  const [reviews, comments] = [await api.ownReviews(), await api.ownReviewComments()];
  const mine = new Set<string>();
  const earlier = new Set<string>();
  for (const { body } of comments) {
    const marker = parseMarker(body);
    if (marker?.kind === "finding") (isOf(marker, key) ? mine : earlier).add(marker.id);
  }
  return { review: hasReview(reviews, key), mine, earlier };
}

export function hasReview(reviews: readonly OwnText[], key: ReviewKey): boolean {
  return reviews.some(({ body }) => {
    const marker = parseMarker(body);
    return marker?.kind === "review" && isOf(marker, key);
  });
}

export function hasFinding(comments: readonly OwnText[], id: string, key: ReviewKey): boolean {
  return comments.some(({ body }) => {
    const marker = parseMarker(body);
    return marker?.kind === "finding" && marker.id === id && isOf(marker, key);
  });
}

const isOf = (marker: ReviewKey, key: ReviewKey) =>
  marker.head === key.head && marker.trigger === key.trigger;

/** Where each finding goes; every finding of the result is in exactly one of the lists. */
export interface Publication {
  /** On their lines, still to be posted. */
  inline: Finding[];
  /** On their files, still to be posted. */
  file: Finding[];
  /** Posted by this review in an earlier attempt. */
  posted: Finding[];
  /** Posted by earlier reviews. */
  standing: Finding[];
  /** For the summary, each with its reason. */
  listed: ListedFinding[];
}

/** File comments are requests of their own, and each notifies people. */
const mostFileComments = 5;

/** Divides findings among the channels, the most severe first. */
export function planPublication(
  findings: readonly PlacedFinding[],
  standing: Standing,
  maxComments: number,
): Publication {
  const plan: Publication = { inline: [], file: [], posted: [], standing: [], listed: [] };
  const seen = new Set<string>();
  let [inlineSoFar, filesSoFar] = [0, 0];
  for (const { finding, placement } of bySeverity(findings)) {
    const isRepeated = seen.has(finding.id);
    seen.add(finding.id);
    if (standing.mine.has(finding.id) && !isRepeated) {
      plan.posted.push(finding);
      if (placement.kind === "file") filesSoFar++;
      else inlineSoFar++;
    } else if (standing.earlier.has(finding.id)) {
      plan.standing.push(finding);
    } else if (placement.kind === "summary") {
      plan.listed.push({ finding, reason: placement.reason });
    } else if (isRepeated) {
      plan.listed.push({ finding, reason: "the same problem has a comment at another place" });
    } else if (placement.kind === "file") {
      if (filesSoFar++ < Math.min(mostFileComments, maxComments)) plan.file.push(finding);
      else
        plan.listed.push({ finding, reason: `${placement.reason}; no more comments on files in one review` });
    } else if (standing.review) {
      plan.listed.push({ finding, reason: "the review of this commit was posted without it" });
    } else if (inlineSoFar++ < maxComments) {
      plan.inline.push(finding);
    } else {
      plan.listed.push({ finding, reason: `a review has at most ${maxComments} comments on lines` });
    }
  }
  return plan;
}
