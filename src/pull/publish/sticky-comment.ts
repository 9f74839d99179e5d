import { AppError } from "../../core/errors.ts";
import type { OwnText } from "../../core/ledger/entry.ts";
import { formatMarker, markerIn, withoutMarker } from "../../core/ledger/marker.ts";
import { emptyState, fitState, type LedgerState, type Pause } from "../../core/ledger/state.ts";
import { byteLength, cutBytes } from "../../core/text/cut.ts";
import type { PublicText } from "../../core/text/inert-text.ts";
import { untrustedCode } from "../../report/safe-markdown.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";
import { removeDoubledComments } from "./existing.ts";
import { postOnce, repeat } from "./post-once.ts";
import { mostBodyBytes, publicText } from "./public-text.ts";

type StickyApi = Pick<
  PullRequestApi,
  "ownComments" | "createComment" | "updateComment" | "deleteComment" | "pause"
>;

/**
 * Writes the summary comment of a pull request: created once, then edited in place, which notifies nobody. Removes duplicates of our
 * comments.
 */
export async function postSummary(api: StickyApi, body: PublicText): Promise<void> {
  const sticky = oldestSummary(await removeDoubledComments(api, await api.ownComments()));
  if (sticky === undefined) return createSticky(api, body);
  if (sticky.body.trimEnd() === body.trimEnd()) return;
  try {
    await repeat(api, () => api.updateComment(sticky.id, body));
  } catch (error) {
    // It was deleted meanwhile, unless it exists and we may not edit it.
    const isGone = error instanceof AppError && error.code === "github_not_found";
    if (!isGone || (await findSticky(api)) !== undefined) throw error;
    await createSticky(api, body);
  }
}

async function createSticky(api: StickyApi, body: PublicText): Promise<void> {
  await postOnce(
    api,
    () => api.createComment(body),
    async () => (await findSticky(api)) !== undefined,
  );
}

/** The oldest if there are two. */
async function findSticky(api: Pick<PullRequestApi, "ownComments">): Promise<OwnText | undefined> {
  return oldestSummary(await api.ownComments());
}

const oldestSummary = (comments: readonly OwnText[]) =>
  comments.filter(({ body }) => markerIn(body, "summary")).toSorted((a, b) => a.id - b.id)[0];

/** The largest part of a comment for the state; the rest is for people. */
export const mostStateBytes = 34_000;

/** The hidden part of the sticky summary: its review, and the state for the next one. */
interface Memory {
  /** Both are empty before the first review. */
  head: string;
  trigger: string;
  state: LedgerState;
}

/** The first words of the line about a pause; no other text of ours begins with them. */
const pauseWords = "⏸️ **Reviews of pushes are paused**";

function pauseLine({ by, at, on }: Pause): string {
  const where = on === "page" ? " on a page of Hunkwise" : "";
  return `${pauseWords} by ${untrustedCode(cutBytes(by, 100))}${where} since ${untrustedCode(cutBytes(at, 40))}. \`/resume\` starts them again.`;
}

/** The summary comment: whether reviews are paused, the text for the number of bytes it is given, and the hidden memory. */
export function renderSticky(
  text: (maxBytes: number) => string,
  { head, trigger, state }: Memory,
): PublicText {
  const marker = formatMarker({ kind: "summary", head, trigger, state });
  const before = state.paused === null ? [] : [pauseLine(state.paused)];
  const taken = [...before, marker].reduce((sum, part) => sum + byteLength(part) + 2, 0);
  return publicText([...before, text(mostBodyBytes - taken), marker].join("\n\n"));
}

/** The text between the line about a pause and the marker. */
function textOf(body: string): string {
  const visible = withoutMarker(body);
  if (!visible.startsWith(pauseWords)) return visible;
  const end = visible.indexOf("\n");
  return end === -1 ? "" : visible.slice(end).trim();
}

const nothingYet = "Hunkwise has not reviewed this pull request yet.";

/** Changes the state of a pull request without a review, such as a pause. May be called again after a fault. */
export async function updateState(
  api: StickyApi,
  change: (state: LedgerState) => LedgerState,
): Promise<void> {
  const sticky = await findSticky(api);
  const nothing: Memory = { head: "", trigger: "", state: emptyState };
  const before = markerIn(sticky?.body ?? "", "summary") ?? nothing;
  const text = sticky === undefined ? nothingYet : textOf(sticky.body);
  const after = { ...before, state: fitState(change(before.state), mostStateBytes) };
  await postSummary(
    api,
    renderSticky(() => text, after),
  );
}
