import type { OwnReview, OwnText, PullRequestApi } from "../github/pull-request-api.ts";
import type { Ledger } from "../ledger/entry.ts";
import { parseMarker } from "../ledger/marker.ts";
import { currentLedger } from "./current-ledger.ts";
import { removeDoubledLines } from "./remove-doubles.ts";
import { annotatedFinding } from "./render-annotation.ts";

/** A review is made once for each head and trigger. */
export interface ReviewKey {
  head: string;
  trigger: string;
}

/** What one head and trigger's check run is found by. */
export const checkRunKey = ({ head, trigger }: ReviewKey) => `${head}:${trigger}`;

/** What already stands on the pull request, read from the markers of our own texts. */
export interface Standing {
  /** The review of this head and trigger was posted. */
  review: boolean;
  /** A question to GitHub was interrupted: a pending review of ours is in the way of every comment. */
  pending: boolean;
  /** Findings that this very review posted, before it was interrupted: by id, the comments. */
  mine: ReadonlyMap<string, number>;
  ledger: Ledger;
}

/** Reads what stands, and takes away what stands twice. */
export async function readStanding(api: PullRequestApi, key: ReviewKey): Promise<Standing> {
  const all = [await api.ownReviews(), await api.ownReviewComments()] as const;
  const { reviews, comments } = await removeDoubledLines(api, ...all);
  const mine = new Map<string, number>();
  for (const { id, body } of comments) {
    const marker = parseMarker(body);
    if (marker?.kind === "finding" && isOf(marker, key)) mine.set(marker.id, mine.get(marker.id) ?? id);
  }
  return {
    review: hasReview(reviews, key),
    pending: reviews.some(({ pending }) => pending),
    mine,
    ledger: await currentLedger(api),
  };
}

export function hasReview(reviews: readonly OwnReview[], key: ReviewKey): boolean {
  return reviews.some(({ body, pending }) => {
    const marker = pending ? undefined : parseMarker(body);
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

/** Ids of findings that stand as annotations on this head. */
export interface Annotated {
  /** Of this very review's check run. */
  mine: ReadonlySet<string>;
  /** Of other reviews of the same head. */
  earlier: ReadonlySet<string>;
}

export async function readAnnotated(api: PullRequestApi, key: ReviewKey): Promise<Annotated> {
  const mine = new Set<string>();
  const earlier = new Set<string>();
  for (const { externalId, details } of await api.ownAnnotations(key.head)) {
    const id = annotatedFinding(details);
    if (id !== undefined) (externalId === checkRunKey(key) ? mine : earlier).add(id);
  }
  return { mine, earlier };
}
