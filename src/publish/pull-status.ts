import { isOpenFinding, type Ledger, type PostedFinding } from "../ledger/entry.ts";
import { Decision, type LedgerState } from "../ledger/state.ts";
import { summaryOf } from "../reporters/outcome.ts";
import { fileMark, lookAgain } from "../review/followup/content-hash.ts";
import { type LedgerUpdate, type ReviewResult, unfinishedSummary } from "../review/review-result.ts";
import type { FindingsByState } from "./publication.ts";

/** An earlier finding that no longer counts: it is fixed, or it is no longer reported. */
export interface ResolvedFinding {
  entry: PostedFinding;
  state: "fixed" | "withdrawn";
  /** The evidence, in one sentence of a model. */
  reason: string;
}

/** The earlier findings of a pull request after a review. */
export interface PullStatus {
  /** Still open, and not found again by this review. */
  open: readonly PostedFinding[];
  /** Found to be fixed by this review. */
  fixed: readonly ResolvedFinding[];
  /** The same for findings without a comment. */
  settled: LedgerUpdate["settled"];
  dismissed: readonly PostedFinding[];
  /** How many were fixed in all rounds. */
  fixedCount: number;
}

/**
 * Sorts the findings of the ledger by this review's result.
 *
 * @param own ids of the comments that an interrupted attempt of this review posted
 */
export function pullStatus(
  { ledger: update }: Pick<ReviewResult, "ledger">,
  { standing }: Pick<FindingsByState, "standing">,
  { entries }: Pick<Ledger, "entries">,
  own: ReadonlySet<number>,
): PullStatus {
  const repeated = new Set(standing.map(({ entry }) => entry));
  const fixed = (update?.resolutions ?? []).flatMap(({ comment, state, reason }) => {
    if (!isSettled(state)) return [];
    const entry = entries.find((one) => one.comment === comment);
    return entry && !repeated.has(entry) && mayBeFixed(entry) ? [{ entry, state, reason }] : [];
  });
  const seenFixed = new Set(fixed.map(({ entry }) => entry));
  const isOwn = ({ comment }: PostedFinding) => comment !== null && own.has(comment);
  const settled = update?.settled ?? [];
  const fixedBefore = entries.filter((entry) => entry.state === "fixed" && !seenFixed.has(entry));
  return {
    open: entries.filter(
      (entry) => isOpenFinding(entry) && !isOwn(entry) && !repeated.has(entry) && !seenFixed.has(entry),
    ),
    fixed,
    settled,
    dismissed: entries.filter(({ state }) => state === "dismissed"),
    fixedCount: fixedBefore.length + fixed.length + settled.length,
  };
}

const isSettled = (state: LedgerUpdate["resolutions"][number]["state"]): state is ResolvedFinding["state"] =>
  state === "fixed" || state === "withdrawn";

/** Whether it may be called fixed. If GitHub does not show its thread, people's decisions are unknown, and it stays open. */
function mayBeFixed(entry: PostedFinding): boolean {
  return entry.state === "fixed" || (isOpenFinding(entry) && entry.thread !== null);
}

/**
 * The state for the next review. Unchanged if this review does not update the ledger.
 *
 * @param told fixed findings that this review answered
 */
export function nextState(
  result: ReviewResult,
  { posted, annotated, standing, listed }: FindingsByState,
  { state, entries }: Pick<Ledger, "state" | "entries">,
  told: ReadonlySet<PostedFinding> = new Set(),
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

/** Any others are read from their threads again at each review. */
const mostDecisions = 100;

/** Dismissals without an answer of ours that records them. */
function decisionsIn(entries: readonly PostedFinding[]): Decision[] {
  return entries
    .flatMap(({ comment, dismissal, newestReply: after }) => {
      const how = Decision.shape.how.safeParse(dismissal?.how).data;
      const by = dismissal?.by ?? null;
      return comment !== null && how !== undefined && by !== null ? [{ comment, how, by, after }] : [];
    })
    .slice(-mostDecisions);
}

/** Ids whose comment must exist. Excludes fixed findings: deleting their comment dismisses nothing. */
function postedBy(
  { posted }: LedgerState,
  entries: readonly PostedFinding[],
  told: ReadonlySet<PostedFinding>,
  now: FindingsByState["posted"],
): string[] {
  const isFixed = (entry: PostedFinding) => entry.state === "fixed" || told.has(entry);
  const commented = entries.filter(({ comment }) => comment !== null);
  const fixed = new Set(commented.filter(isFixed).map(({ id }) => id));
  const others = commented.filter((entry) => !isFixed(entry)).map(({ id }) => id);
  return [...new Set([...posted.filter((id) => !fixed.has(id)), ...others, ...now.map(({ id }) => id)])];
}

/** Files with fixed findings whose answer could not be posted. Nothing else records that, so the next review must check them again. */
function untoldFiles(
  { resolutions }: LedgerUpdate,
  entries: readonly PostedFinding[],
  told: ReadonlySet<PostedFinding>,
): string[] {
  const fixed = new Set(resolutions.filter(({ state }) => isSettled(state)).map(({ comment }) => comment));
  const untold = entries.filter(
    (entry) => entry.comment !== null && fixed.has(entry.comment) && isOpenFinding(entry) && !told.has(entry),
  );
  return [...new Set(untold.map(({ path }) => path))];
}
