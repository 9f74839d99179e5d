import type { Ledger, OwnText } from "../../core/ledger/entry.ts";
import { type Marker, markerIn, parseMarker } from "../../core/ledger/marker.ts";
import type { OwnComment, OwnReview, PullRequestApi } from "../github/pull-request-api.ts";
import { type LedgerSource, readLedger } from "../ledger/read-ledger.ts";
import { refusalNotice } from "./post-once.ts";
import { publicText } from "./public-text.ts";
import { annotatedFinding } from "./render-annotation.ts";

/** The present ledger. If GitHub refuses to show our comments in the conversation, there is no state, and comments on lines still count. */
export function currentLedger(api: LedgerSource): Promise<Ledger> {
  const ownComments = async () => {
    try {
      return await api.ownComments();
    } catch (error) {
      // Writing the summary will report the refusal.
      refusalNotice(error, "summary comment");
      return [];
    }
  };
  return readLedger({
    ownComments,
    ownThreads: () => api.ownThreads(),
    ownReviewComments: () => api.ownReviewComments(),
    permissionOf: (login, account) => api.permissionOf(login, account),
  });
}

/**
 * Our texts that repeat an older one. Each marker is written once, so a second text with the same one is from a worker that did not know the
 * first, or from a request that seemed lost. The oldest stays.
 */
export function doublesAmong<T extends OwnText>(texts: readonly T[]): T[] {
  const seen = new Set<string>();
  return texts
    .toSorted((a, b) => a.id - b.id)
    .filter(({ body }) => {
      const identity = identityOf(body);
      if (identity === undefined) return false;
      const isDouble = seen.has(identity);
      seen.add(identity);
      return isDouble;
    });
}

/** By kind of marker, what makes two texts the same; null: nothing does. */
const identifying: {
  [Kind in Marker["kind"]]: readonly (keyof Extract<Marker, { kind: Kind }>)[] | null;
} = {
  review: ["head", "trigger"],
  finding: ["head", "trigger", "id"],
  summary: [],
  fixed: ["comment", "head"],
  dismissed: ["comment", "by"],
  answer: ["comment"],
  acted: ["id"],
  check: null,
  suggested: ["comment", "part"],
};

function identityOf(body: string): string | undefined {
  const marker = parseMarker(body);
  const keys = marker && identifying[marker.kind];
  if (!keys) return undefined;
  const values = new Map<string, unknown>(Object.entries(marker));
  return JSON.stringify([marker.kind, ...keys.map((key) => values.get(key))]);
}

/*
 * Two workers can write the same if one froze between checking its lease and writing, and GitHub has no conditional writes. So a worker
 * that finds a duplicate removes the later one, unless a person answered, reacted to or resolved it.
 */

/** The text of a review that was posted twice. Without a marker it no longer counts as a review. */
const doubledReview = publicText(
  "This is an accidental duplicate. The earlier review of this commit counts.",
);

type LinesApi = Pick<PullRequestApi, "deleteReviewComment" | "editReview" | "ownThreads">;

/** Removes later duplicates among our reviews and their comments, and returns what is left. */
async function removeDoubledLines<T extends OwnComment>(
  api: LinesApi,
  reviews: readonly OwnReview[],
  comments: readonly T[],
): Promise<{ reviews: readonly OwnReview[]; comments: readonly T[] }> {
  const doubledReviews = doublesAmong(reviews.filter(({ pending }) => !pending));
  // All of its comments, including those that the earlier review lacks: the earlier review is the result.
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

/** The same for our comments in the conversation. */
export async function removeDoubledComments(
  api: Pick<PullRequestApi, "deleteComment">,
  comments: readonly OwnText[],
): Promise<readonly OwnText[]> {
  const removable = doublesAmong(comments).filter(({ touched }) => !touched);
  const removed = await whereAllowed(removable, ({ id }) => api.deleteComment(id));
  return comments.filter((one) => !removed.has(one));
}

/** Finds duplicates again and removes them. Rejects if GitHub cannot be reached. */
export async function removeDoubles(
  api: LinesApi & Pick<PullRequestApi, "ownReviews" | "ownReviewComments" | "ownComments" | "deleteComment">,
): Promise<void> {
  await removeDoubledLines(api, await api.ownReviews(), await api.ownReviewComments());
  await removeDoubledComments(api, await api.ownComments());
}

/** Without threads from GitHub, only answers and reactions protect a duplicate. */
async function resolvedThreads(api: Pick<PullRequestApi, "ownThreads">): Promise<Set<number>> {
  try {
    const threads = await api.ownThreads();
    return new Set(threads.filter(({ resolved }) => resolved).map(({ comment }) => comment));
  } catch (error) {
    refusalNotice(error, "state of threads");
    return new Set();
  }
}

/** The texts that it was done for. If GitHub refuses, the next review tries again. */
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
      refusalNotice(error, "removal of duplicates");
    }
  }
  return done;
}

export interface ReviewKey {
  head: string;
  trigger: string;
}

export const checkRunKey = ({ head, trigger }: ReviewKey) => `${head}:${trigger}`;

export interface Existing {
  review: boolean;
  /** An earlier attempt left a pending review of ours, which blocks every comment. */
  pending: boolean;
  /** Comments that an interrupted attempt of this review posted, by id of the finding. */
  mine: ReadonlyMap<string, number>;
  /** Comments of our account without a valid marker: of another program, or written with a key that is gone. */
  visible: readonly OwnComment[];
  ledger: Ledger;
}

/** Reads what exists, and removes duplicates. Reads the ledger again: people and other reviews may have changed it. */
export async function readExisting(api: PullRequestApi, key: ReviewKey): Promise<Existing> {
  const all = [await api.ownReviews(), await api.ownReviewComments()] as const;
  const { reviews, comments } = await removeDoubledLines(api, ...all);
  const mine = new Map<string, number>();
  for (const { id, body } of comments) {
    const marker = markerIn(body, "finding");
    if (marker && isOf(marker, key)) mine.set(marker.id, mine.get(marker.id) ?? id);
  }
  return {
    review: hasReview(reviews, key),
    pending: reviews.some(({ pending }) => pending),
    mine,
    visible: comments.filter(({ body, outdated }) => !outdated && parseMarker(body) === undefined),
    ledger: await currentLedger(api),
  };
}

export const hasReview = (reviews: readonly OwnReview[], key: ReviewKey): boolean =>
  reviews.some(({ body, pending }) => !pending && isOf(markerIn(body, "review"), key));

export const hasFinding = (comments: readonly OwnText[], id: string, key: ReviewKey): boolean =>
  comments.map(({ body }) => markerIn(body, "finding")).some((one) => one?.id === id && isOf(one, key));

const isOf = (marker: ReviewKey | undefined, key: ReviewKey) =>
  marker?.head === key.head && marker.trigger === key.trigger;

/** Findings in annotations of this review's own check run, and of other reviews of the same head. */
export async function readAnnotated(
  api: PullRequestApi,
  key: ReviewKey,
): Promise<Record<"mine" | "earlier", ReadonlySet<string>>> {
  const mine = new Set<string>();
  const earlier = new Set<string>();
  for (const { externalId, details } of await api.ownAnnotations(key.head)) {
    const id = annotatedFinding(details);
    if (id !== undefined) (externalId === checkRunKey(key) ? mine : earlier).add(id);
  }
  return { mine, earlier };
}
