import { AppError } from "../errors.ts";
import type { OwnText, PullRequestApi } from "../github/pull-request-api.ts";
import { parseMarker } from "../ledger/marker.ts";
import { postOnce, type Sleep } from "./post-once.ts";

type StickyApi = Pick<PullRequestApi, "ownComments" | "createComment" | "updateComment">;

/**
 * Writes the one summary comment of a pull request: created once, then edited in place, and left alone while its text is
 * the same. An edit notifies nobody.
 */
export async function postSummary(api: StickyApi, body: string, sleep?: Sleep): Promise<void> {
  const sticky = await findSticky(api);
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

async function createSticky(api: StickyApi, body: string, sleep?: Sleep): Promise<void> {
  await postOnce(
    () => api.createComment(body),
    async () => (await findSticky(api)) !== undefined,
    sleep,
  );
}

/** The oldest, should there ever be two. */
export async function findSticky(api: Pick<PullRequestApi, "ownComments">): Promise<OwnText | undefined> {
  const summaries = (await api.ownComments()).filter(({ body }) => parseMarker(body)?.kind === "summary");
  return summaries.toSorted((a, b) => a.id - b.id)[0];
}
