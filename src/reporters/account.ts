import { isStanding, type Ledger, type LedgerEntry } from "../ledger/entry.ts";
import type { LedgerState } from "../ledger/state.ts";
import type { LedgerUpdate, ReviewResult } from "../review/review-result.ts";
import { summaryOf } from "./outcome.ts";
import type { Places } from "./publication.ts";

/** An earlier finding that this review saw to be fixed. */
export interface FixedFinding {
  entry: LedgerEntry;
  /** What shows it, in one sentence of a model. */
  reason: string;
}

/** How the findings of a pull request stand after a review, beside those that the review itself found. */
export interface Account {
  /** Held against the change, and neither found again nor settled. */
  open: readonly LedgerEntry[];
  /** Found to be fixed in this round. */
  fixed: readonly FixedFinding[];
  /** The same for findings without a comment. */
  settled: LedgerUpdate["settled"];
  dismissed: readonly LedgerEntry[];
  /** How many were fixed in all rounds. */
  fixedCount: number;
}

/**
 * Counts up the ledger.
 *
 * @param own ids of the comments that this very review posted before it was interrupted
 */
export function accountOf(
  { ledger: update }: Pick<ReviewResult, "ledger">,
  { standing }: Pick<Places, "standing">,
  { entries }: Pick<Ledger, "entries">,
  own: ReadonlySet<number>,
): Account {
  const repeated = new Set(standing.map(({ entry }) => entry));
  const fixed = (update?.resolutions ?? []).flatMap(({ comment, state, reason }) => {
    const entry = state === "fixed" ? entries.find((one) => one.comment === comment) : undefined;
    return entry && !repeated.has(entry) && mayBeFixed(entry) ? [{ entry, reason }] : [];
  });
  const seenFixed = new Set(fixed.map(({ entry }) => entry));
  const isOwn = ({ comment }: LedgerEntry) => comment !== null && own.has(comment);
  const settled = update?.settled ?? [];
  const fixedBefore = entries.filter((entry) => entry.state === "fixed" && !seenFixed.has(entry));
  return {
    open: entries.filter(
      (entry) => isStanding(entry) && !isOwn(entry) && !repeated.has(entry) && !seenFixed.has(entry),
    ),
    fixed,
    settled,
    dismissed: entries.filter(({ state }) => state === "dismissed"),
    fixedCount: fixedBefore.length + fixed.length + settled.length,
  };
}

/**
 * Whether our word that it is fixed counts. Not in a thread in which a person took part, nor where GitHub does not tell whether
 * one did: that one stays open.
 */
function mayBeFixed(entry: LedgerEntry): boolean {
  return entry.state === "fixed" || (isStanding(entry) && !entry.isTheirs && entry.thread !== null);
}

/** What the next review has to know of this one. Without an update of the ledger what was known stays. */
export function stateAfter(
  result: ReviewResult,
  { posted, annotated, standing, listed }: Places,
  { state, entries }: Pick<Ledger, "state" | "entries">,
): LedgerState {
  if (result.ledger === null) return state;
  const commented = entries.filter(({ comment }) => comment !== null).map(({ id }) => id);
  const ids = [...state.posted, ...commented, ...posted.map(({ id }) => id)];
  const annotatedBefore = standing.filter(({ entry }) => entry === null).map(({ finding }) => finding);
  return {
    reviewed: result.ledger.reviewed,
    posted: [...new Set(ids)],
    carried: [
      ...listed.map(({ finding, reason }) => ({ finding, standing: "listed" as const, reason })),
      ...[...annotated, ...annotatedBefore].map((finding) => {
        return { finding, standing: "annotated" as const, reason: "" };
      }),
    ],
    summary: summaryOf(result) || state.summary,
    paused: state.paused,
  };
}
