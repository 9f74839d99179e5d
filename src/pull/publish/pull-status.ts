import type { Finding } from "../../core/finding.ts";
import { isOpenFinding, type Ledger, type PostedFinding } from "../../core/ledger/entry.ts";
import {
  type CarriedFinding,
  Decision,
  type LedgerState,
  mergedHashes,
  type UnplacedReports,
} from "../../core/ledger/state.ts";
import { summaryOf } from "../../report/outcome.ts";
import { fileMark, lookAgain } from "../../tasks/reviewed/known-change.ts";
import {
  type LedgerUpdate,
  type ReviewResult,
  unfinishedSummary,
  unplacedTexts,
} from "../../tasks/shapes/review-result.ts";
import type { FindingsByState } from "./publication.ts";

/** An earlier finding that no longer counts: it is fixed, or it is no longer reported. */
export interface ResolvedFinding {
  entry: PostedFinding;
  state: "fixed" | "withdrawn";
  /** The evidence, in one sentence of a model. */
  reason: string;
}

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

/** Sorts the findings of the ledger by this review's result. `own`: ids of comments that an interrupted attempt of this review posted. */
export function pullStatus(
  { ledger: update }: Pick<ReviewResult, "ledger">,
  { postedBefore }: Pick<FindingsByState, "postedBefore">,
  { entries }: Pick<Ledger, "entries">,
  own: ReadonlySet<number>,
): PullStatus {
  const repeated = new Set(postedBefore.map(({ entry }) => entry));
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
 * @param answered fixed findings that this review answered
 */
export function nextState(
  result: ReviewResult,
  { posted, annotated, postedBefore, listed, silent }: FindingsByState,
  { state, entries }: Pick<Ledger, "state" | "entries">,
  answered: ReadonlySet<PostedFinding> = new Set(),
): LedgerState {
  if (result.ledger === null) return state;
  const summary = summaryOf(result);
  const { unit, hashes } = result.ledger.reviewed;
  const due = unansweredFiles(result.ledger, entries, answered);
  const annotatedBefore = postedBefore.filter(({ entry }) => entry === null).map(({ finding }) => finding);
  const numbers = createNumbers(state);
  return {
    reviewed: { unit, hashes: [...hashes, ...due.map((path) => lookAgain(fileMark(path)))] },
    posted: postedBy(state, entries, answered, posted),
    carried: [
      ...listed.map(({ finding, reason }) => ({ finding, standing: "listed" as const, reason })),
      ...[...annotated, ...annotatedBefore].map((finding) => {
        return { finding, standing: "annotated" as const, reason: "" };
      }),
    ]
      .map((one): CarriedFinding => ({ ...one, number: numbers.ofFinding(one.finding) }))
      .concat(stillDismissed(state, silent)),
    decided: decisionsIn(entries),
    unplaced: numbers.ofReports(result),
    next: numbers.next(),
    summary: summary === unfinishedSummary(result.stop_reason) ? state.summary : summary || state.summary,
    paused: state.paused,
  };
}

/** The result without reports that could not be placed, if people have dismissed all of them: what they are about counts as read. */
export function withoutDismissedReports(result: ReviewResult, { unplaced }: LedgerState): ReviewResult {
  const dismissed = new Set(unplaced.reports.flatMap(({ text, by }) => (by === undefined ? [] : [text])));
  const texts = unplacedTexts(result);
  if (result.ledger === null || texts.length === 0 || texts.some((text) => !dismissed.has(text)))
    return result;
  const { unit, hashes } = result.ledger.reviewed;
  const reviewed = { unit, hashes: mergedHashes(hashes, result.unplaced.hashes) };
  return { ...result, ledger: { ...result.ledger, reviewed }, unplaced: { texts: [], total: 0, hashes: [] } };
}

/** Findings that a person dismissed by their number, as long as a review finds their code. */
function stillDismissed({ carried }: LedgerState, silent: FindingsByState["silent"]): CarriedFinding[] {
  const found = new Map(silent.map((finding) => [finding.id, finding]));
  return carried.flatMap((one) => {
    const finding = one.standing === "dismissed" ? found.get(one.finding.id) : undefined;
    return finding ? [{ ...one, finding }] : [];
  });
}

/** Numbers for what has no thread. A finding or report keeps its number; a number is never given twice. */
function createNumbers({ carried, unplaced, next: first }: LedgerState) {
  const known = new Map(carried.map(({ finding, number }) => [finding.id, number]));
  let next = first;
  return {
    ofFinding: ({ id }: Finding) => known.get(id) ?? next++,
    /** The reports of this review, and those that a review before it left open and this one did not get to the end of. */
    ofReports(result: ReviewResult): UnplacedReports {
      const before = new Map(unplaced.reports.map((one) => [one.text, one]));
      const again = unplacedTexts(result).map((text) => before.get(text) ?? { number: next++, text });
      const others = unplaced.reports.filter(
        (one) => !again.includes(one) && (one.by !== undefined || result.stop_reason !== "finished"),
      );
      return { reports: [...others, ...again].slice(-mostReports), hashes: result.unplaced.hashes };
    },
    next: () => next,
  };
}

const mostReports = 20;

/** Any others are read from their threads again at each review. */
const mostDecisions = 100;

/** Dismissals without an answer of ours that records them. */
function decisionsIn(entries: readonly PostedFinding[]): Decision[] {
  return entries
    .flatMap(({ comment, dismissal, newest_reply: after }) => {
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
  answered: ReadonlySet<PostedFinding>,
  now: FindingsByState["posted"],
): string[] {
  const isFixed = (entry: PostedFinding) => entry.state === "fixed" || answered.has(entry);
  const commented = entries.filter(({ comment }) => comment !== null);
  const fixed = new Set(commented.filter(isFixed).map(({ id }) => id));
  const others = commented.filter((entry) => !isFixed(entry)).map(({ id }) => id);
  return [...new Set([...posted.filter((id) => !fixed.has(id)), ...others, ...now.map(({ id }) => id)])];
}

/** Files with fixed findings whose answer could not be posted. Nothing else records that, so the next review must check them again. */
function unansweredFiles(
  { resolutions }: LedgerUpdate,
  entries: readonly PostedFinding[],
  answered: ReadonlySet<PostedFinding>,
): string[] {
  const fixed = new Set(resolutions.filter(({ state }) => isSettled(state)).map(({ comment }) => comment));
  const unanswered = entries.filter(
    (entry) =>
      entry.comment !== null && fixed.has(entry.comment) && isOpenFinding(entry) && !answered.has(entry),
  );
  return [...new Set(unanswered.map(({ path }) => path))];
}
