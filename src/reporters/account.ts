import { isStanding, type Ledger, type LedgerEntry } from "../ledger/entry.ts";
import { Decision, type LedgerState } from "../ledger/state.ts";
import { fileMark, lookAgain } from "../review/followup/content-hash.ts";
import { type LedgerUpdate, type ReviewResult, unfinishedSummary } from "../review/review-result.ts";
import { summaryOf } from "./outcome.ts";
import type { Places } from "./publication.ts";

/** An earlier finding that is held against nobody any more: it is fixed, or it is not reported any more. */
export interface FixedFinding {
  entry: LedgerEntry;
  state: "fixed" | "withdrawn";
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
    if (!isSettled(state)) return [];
    const entry = entries.find((one) => one.comment === comment);
    return entry && !repeated.has(entry) && mayBeFixed(entry) ? [{ entry, state, reason }] : [];
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

const isSettled = (state: LedgerUpdate["resolutions"][number]["state"]): state is FixedFinding["state"] =>
  state === "fixed" || state === "withdrawn";

/** Whether our word that it is fixed counts. If GitHub does not tell what people decided in its thread, the finding stays open. */
function mayBeFixed(entry: LedgerEntry): boolean {
  return entry.state === "fixed" || (isStanding(entry) && entry.thread !== null);
}

/**
 * What the next review has to know of this one. Without an update of the ledger what was known stays.
 *
 * @param told fixed findings in whose threads that was said now
 */
export function stateAfter(
  result: ReviewResult,
  { posted, annotated, standing, listed }: Places,
  { state, entries }: Pick<Ledger, "state" | "entries">,
  told: ReadonlySet<LedgerEntry> = new Set(),
): LedgerState {
  if (result.ledger === null) return state;
  const said = summaryOf(result);
  const { unit, hashes } = result.ledger.reviewed;
  const due = untoldFiles(result.ledger, entries, told);
  const annotatedBefore = standing.filter(({ entry }) => entry === null).map(({ finding }) => finding);
  return {
    reviewed: { unit, hashes: [...hashes, ...due.map((path) => lookAgain(fileMark(path)))] },
    posted: postedBy(state, entries, told, posted),
    carried: [
      ...listed.map(({ finding, reason }) => ({ finding, standing: "listed" as const, reason })),
      ...[...annotated, ...annotatedBefore].map((finding) => {
        return { finding, standing: "annotated" as const, reason: "" };
      }),
    ],
    decided: decisionsIn(entries),
    summary: said === unfinishedSummary(result.stop_reason) ? state.summary : said || state.summary,
    paused: state.paused,
  };
}

/** More are read from their threads again at each review. */
const mostDecisions = 100;

/** Dismissals that are told nowhere in our own words. */
function decisionsIn(entries: readonly LedgerEntry[]): Decision[] {
  return entries
    .flatMap(({ comment, dismissal, newestReply: after }) => {
      const how = Decision.shape.how.safeParse(dismissal?.how).data;
      const by = dismissal?.by ?? null;
      return comment !== null && how !== undefined && by !== null ? [{ comment, how, by, after }] : [];
    })
    .slice(-mostDecisions);
}

/** Ids whose comment has to be there. Not those of what is fixed: whoever deletes such a comment has dismissed nothing. */
function postedBy(
  { posted }: LedgerState,
  entries: readonly LedgerEntry[],
  told: ReadonlySet<LedgerEntry>,
  now: Places["posted"],
): string[] {
  const isFixed = (entry: LedgerEntry) => entry.state === "fixed" || told.has(entry);
  const commented = entries.filter(({ comment }) => comment !== null);
  const fixed = new Set(commented.filter(isFixed).map(({ id }) => id));
  const others = commented.filter((entry) => !isFixed(entry)).map(({ id }) => id);
  return [...new Set([...posted.filter((id) => !fixed.has(id)), ...others, ...now.map(({ id }) => id)])];
}

/** Files with findings that are fixed, which could not be said: nobody else remembers it, so the next review has to look again. */
function untoldFiles(
  { resolutions }: LedgerUpdate,
  entries: readonly LedgerEntry[],
  told: ReadonlySet<LedgerEntry>,
): string[] {
  const fixed = new Set(resolutions.filter(({ state }) => isSettled(state)).map(({ comment }) => comment));
  const untold = entries.filter(
    (entry) => entry.comment !== null && fixed.has(entry.comment) && isStanding(entry) && !told.has(entry),
  );
  return [...new Set(untold.map(({ path }) => path))];
}
