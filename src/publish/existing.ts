import type { OwnComment, OwnReview, OwnText, PullRequestApi } from "../github/pull-request-api.ts";
import type { Ledger } from "../ledger/entry.ts";
import { parseMarker } from "../ledger/marker.ts";
import { readLedger } from "../ledger/read-ledger.ts";
import { refusalNotice } from "./post-once.ts";
import { publicText } from "./public-text.ts";
import { annotatedFinding } from "./render-annotation.ts";

type LedgerApi = Pick<PullRequestApi, "ownComments" | "ownThreads" | "ownReviewComments" | "permissionOf">;

/**
 * The ledger as it stands now. Where GitHub refuses to show our comments in the conversation there is no state, and the
 * comments on lines count all the same.
 */
export function currentLedger(api: LedgerApi): Promise<Ledger> {
  const ownComments = async () => {
    try {
      return await api.ownComments();
    } catch (error) {
      // That it is closed is told when the summary is to be written.
      refusalNotice(error, "summary comment");
      return [];
    }
  };
  return readLedger({
    ownComments,
    ownThreads: () => api.ownThreads(),
    ownReviewComments: () => api.ownReviewComments(),
    permissionOf: (login) => api.permissionOf(login),
  });
}

/**
 * Those of our texts that say once more what an older one says. Each is written once, so a second one of the same marker was
 * written by a worker that did not know of the first, or is what became of a request that was given up for lost. The oldest
 * stays. Texts without a marker are nobody's double.
 */
export function doublesAmong<T extends OwnText>(texts: readonly T[]): T[] {
  const seen = new Set<string>();
  return texts
    .toSorted((a, b) => a.id - b.id)
    .filter(({ body }) => {
      const said = identityOf(body);
      if (said === undefined) return false;
      const isDouble = seen.has(said);
      seen.add(said);
      return isDouble;
    });
}

/** What a text of ours is the only one for, by its marker. */
function identityOf(body: string): string | undefined {
  const marker = parseMarker(body);
  if (marker === undefined) return undefined;
  const { kind } = marker;
  switch (kind) {
    case "review":
      return JSON.stringify([kind, marker.head, marker.trigger]);
    case "finding":
      return JSON.stringify([kind, marker.head, marker.trigger, marker.id]);
    case "summary":
      return kind;
    case "fixed":
      return JSON.stringify([kind, marker.comment, marker.head]);
    case "dismissed":
      return JSON.stringify([kind, marker.comment, marker.by]);
    case "answer":
      return JSON.stringify([kind, marker.comment]);
    case "check":
      return undefined;
    case "suggested":
      return JSON.stringify([kind, marker.comment, marker.part]);
  }
}

/*
 * Two workers may write the same where one of them was frozen between asking whether the job is still its own and writing: it
 * writes when it wakes. GitHub knows no condition for a write, so what stands twice is taken away again, the later one, by
 * whoever meets it. What a person has answered, reacted to or resolved stays: it is theirs as well.
 */

/** The text of a review that was posted twice; it has no marker, so that nobody takes it for a review again. */
const doubledReview = publicText(
  "Posted a second time by accident: the earlier review of this commit is the one that counts.",
);

type LinesApi = Pick<PullRequestApi, "deleteReviewComment" | "editReview" | "ownThreads">;

/** Takes away later doubles among our reviews and their comments, and answers what stays of them. */
async function removeDoubledLines<T extends OwnComment>(
  api: LinesApi,
  reviews: readonly OwnReview[],
  comments: readonly T[],
): Promise<{ reviews: readonly OwnReview[]; comments: readonly T[] }> {
  const doubledReviews = doublesAmong(reviews.filter(({ pending }) => !pending));
  // All of it, also what the earlier review does not say: that one is what the review came to.
  const isOfDoubled = ({ review }: T) => doubledReviews.some(({ id }) => id === review);
  const doubled = [
    ...comments.filter(isOfDoubled),
    ...doublesAmong(comments.filter((one) => !isOfDoubled(one))),
  ];
  const resolved = doubled.length > 0 ? await resolvedThreads(api) : new Set();
  const removable = doubled.filter(({ id, touched }) => !touched && !resolved.has(id));
  const removed = await whereAllowed(removable, ({ id }) => api.deleteReviewComment(id));
  const edited = await whereAllowed(doubledReviews, ({ id }) => api.editReview(id, doubledReview));
  return {
    reviews: reviews.filter((one) => !edited.has(one)),
    comments: comments.filter((one) => !removed.has(one)),
  };
}

/** The same among our comments in the conversation. */
export async function removeDoubledComments(
  api: Pick<PullRequestApi, "deleteComment">,
  comments: readonly OwnText[],
): Promise<readonly OwnText[]> {
  const removable = doublesAmong(comments).filter(({ touched }) => !touched);
  const removed = await whereAllowed(removable, ({ id }) => api.deleteComment(id));
  return comments.filter((one) => !removed.has(one));
}

/** Looks for doubles anew, and takes them away. Rejects where GitHub cannot be asked. */
export async function removeDoubles(
  api: LinesApi & Pick<PullRequestApi, "ownReviews" | "ownReviewComments" | "ownComments" | "deleteComment">,
): Promise<void> {
  await removeDoubledLines(api, await api.ownReviews(), await api.ownReviewComments());
  await removeDoubledComments(api, await api.ownComments());
}

/** Where GitHub does not tell of threads, answers and reactions have to do. */
async function resolvedThreads(api: Pick<PullRequestApi, "ownThreads">): Promise<Set<number>> {
  try {
    const threads = await api.ownThreads();
    return new Set(threads.filter(({ resolved }) => resolved).map(({ comment }) => comment));
  } catch (error) {
    refusalNotice(error, "state of threads");
    return new Set();
  }
}

/** Those for which it was done. A double that GitHub does not let us take away hurts nobody: the next review tries again. */
async function whereAllowed<T extends OwnText>(
  texts: readonly T[],
  action: (text: T) => Promise<void>,
): Promise<ReadonlySet<OwnText>> {
  const done = new Set<OwnText>();
  for (const text of texts) {
    try {
      await action(text);
      done.add(text);
    } catch (error) {
      refusalNotice(error, "removal of doubles");
    }
  }
  return done;
}

/** A review is made once for each head and trigger. */
interface ReviewKey {
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
interface Annotated {
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
