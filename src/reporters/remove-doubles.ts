import type { OwnComment, OwnReview, OwnText, PullRequestApi } from "../github/pull-request-api.ts";
import { doublesAmong } from "../ledger/doubles.ts";
import { publicText } from "./public-text.ts";
import { refusalNotice } from "./refusal-notice.ts";

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
export async function removeDoubledLines<T extends OwnComment>(
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
