import { formatMarker, parseMarker } from "../ledger/marker.ts";
import { emptyState, fitState, type LedgerState, type Pause } from "../ledger/state.ts";
import { byteLength, cutBytes } from "../text/cut.ts";
import type { PublicText } from "../text/inert-text.ts";
import type { Sleep } from "./post-once.ts";
import { findSticky, postSummary, type StickyApi } from "./post-summary.ts";
import { mostBodyBytes, publicText } from "./public-text.ts";
import { untrustedCode } from "./render-untrusted.ts";

/** What is remembered takes at most so much of a comment; the rest is for people. */
export const mostStateBytes = 34_000;

/** What the sticky summary remembers beside its text: of which review it speaks, and what the next one has to know. */
export interface Memory {
  /** Both empty where nothing was reviewed yet. */
  head: string;
  trigger: string;
  state: LedgerState;
}

/** The first words of the line that says that reviews are paused; no other text of ours begins with them. */
const pauseWords = "⏸️ **Reviews of pushes are paused**";

function pauseLine({ by, at }: Pause): string {
  return `${pauseWords} by ${untrustedCode(cutBytes(by, 100))} since ${untrustedCode(cutBytes(at, 40))}; \`/resume\` goes on.`;
}

/**
 * The sticky summary comment of a pull request: whether reviews are paused, the text, and the hidden memory.
 *
 * @param text given how many bytes there are for it
 */
export function renderSticky(
  text: (maxBytes: number) => string,
  { head, trigger, state }: Memory,
): PublicText {
  const marker = formatMarker({ kind: "summary", head, trigger, state });
  const before = state.paused === null ? [] : [pauseLine(state.paused)];
  const taken = [...before, marker].reduce((sum, part) => sum + byteLength(part) + 2, 0);
  return publicText([...before, text(mostBodyBytes - taken), marker].join("\n\n"));
}

/** What stands between the line on a pause and the memory. */
function textOf(body: string): string {
  const text = body.trimEnd();
  const visible = text.slice(0, Math.max(0, text.lastIndexOf("\n"))).trimEnd();
  if (!visible.startsWith(pauseWords)) return visible;
  const end = visible.indexOf("\n");
  return end === -1 ? "" : visible.slice(end).trim();
}

const nothingYet = "Hunkwise has not reviewed this pull request yet.";

/**
 * Changes what is remembered of a pull request without a review, such as that it is paused. The text of the summary comment
 * stays; where there is none yet, a small one is made. May be called again after a fault.
 */
export async function updateState(
  api: StickyApi,
  change: (state: LedgerState) => LedgerState,
  sleep?: Sleep,
): Promise<void> {
  const sticky = await findSticky(api);
  const marker = sticky && parseMarker(sticky.body);
  const before: Memory = marker?.kind === "summary" ? marker : { head: "", trigger: "", state: emptyState };
  const text = sticky === undefined ? nothingYet : textOf(sticky.body);
  const after = { ...before, state: fitState(change(before.state), mostStateBytes) };
  await postSummary(
    api,
    renderSticky(() => text, after),
    sleep,
  );
}
