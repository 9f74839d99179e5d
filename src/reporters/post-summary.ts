import { AppError } from "../errors.ts";
import type { OwnText, PullRequestApi } from "../github/pull-request-api.ts";
import { parseMarker } from "../ledger/marker.ts";
import type { PublicText } from "../text/inert-text.ts";
import { postOnce, type Sleep } from "./post-once.ts";
import { removeDoubledComments } from "./remove-doubles.ts";

export type StickyApi = Pick<
  PullRequestApi,
  "ownComments" | "createComment" | "updateComment" | "deleteComment"
>;

/**
 * Writes the one summary comment of a pull request: created once, then edited in place, and left alone while its text is
 * the same. An edit notifies nobody. Of our comments in the conversation, what stands twice is taken away.
 */
export async function postSummary(api: StickyApi, body: PublicText, sleep?: Sleep): Promise<void> {
  const sticky = oldestSummary(await removeDoubledComments(api, await api.ownComments()));
  if (sticky === undefined) return createSticky(api, body, sleep);
  if (sticky.body.trimEnd() === body.trimEnd()) return;
  try {
    // Sent again after a fault: an edit says the same however often it arrives.
    await postOnce(
      () => api.updateComment(sticky.id, body),
      async () => false,
      sleep,
    );
  } catch (error) {
    // Somebody deleted it since we looked, unless it is there and only closed to us.
    const isGone = error instanceof AppError && error.code === "github_not_found";
    if (!isGone || (await findSticky(api)) !== undefined) throw error;
    await createSticky(api, body, sleep);
  }
}

async function createSticky(api: StickyApi, body: PublicText, sleep?: Sleep): Promise<void> {
  await postOnce(
    () => api.createComment(body),
    async () => (await findSticky(api)) !== undefined,
    sleep,
  );
}

/** The oldest, should there ever be two. */
export async function findSticky(api: Pick<PullRequestApi, "ownComments">): Promise<OwnText | undefined> {
  return oldestSummary(await api.ownComments());
}

const oldestSummary = (comments: readonly OwnText[]) =>
  comments.filter(({ body }) => parseMarker(body)?.kind === "summary").toSorted((a, b) => a.id - b.id)[0];
