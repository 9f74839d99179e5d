import { bySeverity, type Finding, isCertain } from "../finding.ts";
import type { LedgerEntry } from "../ledger/entry.ts";
import { fingerprintIn } from "../review/fingerprint.ts";
import type { Placement, ReviewResult } from "../review/review-result.ts";
import type { Standing } from "./existing.ts";

/** What a finding still waits for. `reason` says why it is not on its line. */
export type Waiting = { kind: "line" } | { kind: "file"; reason: string } | { kind: "annotation" };

/** Where a finding stands in the end. */
export type Settled =
  /** A comment of this review, on its lines or its file. */
  | { kind: "posted" }
  /** An annotation of this review's check run. */
  | { kind: "annotated" }
  /** Said by an earlier review: in a comment, or, with null, in an annotation of the same commit. */
  | { kind: "standing"; entry: LedgerEntry | null }
  /** Said by an earlier review, and dismissed by a person: nothing more is said of it. */
  | { kind: "dismissed"; entry: LedgerEntry }
  /** In the summary alone. */
  | { kind: "listed"; reason: string };

export type Place = Waiting | Settled;

/**
 * A finding and its one place. A publication is an array of these with exactly one for each finding of the result, and
 * every step of it maps that array: nothing can get lost or be said twice. It ends as `Routed<Settled>[]`, so that the
 * compiler refuses a finding that still waits.
 */
export interface Routed<P extends Place = Place> {
  readonly finding: Finding;
  readonly place: P;
}

/** What became of the findings that were handed to a channel. */
export interface Outcome<S extends Place, W extends Waiting = Waiting> {
  /** Asked for each of them. */
  placeOf(one: Routed<W>): S;
  /** A sentence for the maintainer when the channel as a whole is closed to us. */
  notice?: string | undefined;
}

export const listed = (reason: string) => ({ kind: "listed", reason }) as const;

/** Hands the findings that wait for a channel to it; all others stay where they are. */
export async function through<P extends Place, const C extends Waiting["kind"], S extends Place>(
  routes: readonly Routed<P>[],
  channel: C,
  post: (waiting: Routed<For<P, C>>[]) => Promise<Outcome<S, For<P, C>>>,
): Promise<{ routes: Routed<Exclude<P, { kind: C }> | S>[]; notice: string | undefined }> {
  const isWaiting = (one: Routed<P>): one is Routed<For<P, C>> => one.place.kind === channel;
  const isElsewhere = (one: Routed<P>): one is Routed<Exclude<P, { kind: C }>> => !isWaiting(one);
  const waiting = routes.filter(isWaiting);
  if (waiting.length === 0) return { routes: routes.filter(isElsewhere), notice: undefined };
  const outcome = await post(waiting);
  const settled = routes.map((one) => {
    if (isElsewhere(one)) return one;
    return { finding: one.finding, place: outcome.placeOf(one as Routed<For<P, C>>) };
  });
  return { routes: settled, notice: outcome.notice };
}

type For<P extends Place, C extends Waiting["kind"]> = Extract<P, { kind: C }> & Waiting;

/** A finding that has no comment and no annotation, and why. */
export interface ListedFinding {
  finding: Finding;
  reason: string;
}

/** A finding that an earlier review has said, and where. */
interface StandingFinding {
  finding: Finding;
  /** Null in an annotation of the same commit. */
  entry: LedgerEntry | null;
}

/** All findings of a result by where they stand, each in one of the lists. */
export interface Places {
  posted: readonly Finding[];
  annotated: readonly Finding[];
  standing: readonly StandingFinding[];
  listed: readonly ListedFinding[];
  /** Of which people do not want to hear any more. */
  silent: readonly Finding[];
}

export function byPlace(routes: readonly Routed<Settled>[]): Places {
  const at = (kind: Settled["kind"]) =>
    routes.filter(({ place }) => place.kind === kind).map(({ finding }) => finding);
  return {
    posted: at("posted"),
    annotated: at("annotated"),
    silent: at("dismissed"),
    standing: routes.flatMap(({ finding, place }) =>
      place.kind === "standing" ? [{ finding, entry: place.entry }] : [],
    ),
    listed: routes.flatMap(({ finding, place }) =>
      place.kind === "listed" ? [{ finding, reason: place.reason }] : [],
    ),
  };
}

/**
 * Which findings an earlier comment says already, by the ledger as it is now. The review has compared them with what stood when
 * it began; what another review has said since then is told by its very place. A comment whose fault was fixed says nothing any
 * more: the problem has returned.
 */
function entriesSaying(
  { findings, ledger: update }: Pick<ReviewResult, "findings" | "ledger">,
  { mine, ledger }: Pick<Standing, "mine" | "ledger">,
): ReadonlyMap<Finding, LedgerEntry> {
  const own = new Set(mine.values());
  const free = new Set(
    ledger.entries.filter(
      ({ comment, state }) => state !== "fixed" && (comment === null || !own.has(comment)),
    ),
  );
  const said = new Map<Finding, LedgerEntry>();
  const take = (says: (finding: Finding, entry: LedgerEntry) => boolean) => {
    for (const { finding } of bySeverity(findings)) {
      if (said.has(finding) || mine.has(finding.id)) continue;
      const entry = [...free].find((one) => says(finding, one));
      if (entry === undefined) continue;
      free.delete(entry);
      said.set(finding, entry);
    }
  };
  const repeats = new Map(update?.repeats.map(({ finding, comment }) => [finding, comment]));
  take(({ id }, { comment }) => comment !== null && repeats.get(id) === comment);
  // A comment may have been deleted since the review was told of it, or since an attempt before this one posted it.
  take(({ id }, { comment, id: deleted }) => comment === null && id === deleted);
  take(({ id }, entry) => repeats.has(id) && isDeletedOf(id, entry));
  take(standsAt);
  return said;
}

const isDeletedOf = (id: string, entry: LedgerEntry) =>
  entry.comment === null && fingerprintIn(entry.id) === fingerprintIn(id);

function standsAt({ id, path, side, line, source }: Finding, entry: LedgerEntry): boolean {
  const isSame = entry.comment !== null && fingerprintIn(entry.id) === fingerprintIn(id);
  // A comment that a model was talked into must not stand for what is certain.
  const isOther = isCertain({ source }) && entry.source !== null && entry.source !== source;
  if (!isSame || isOther || entry.path !== path) return false;
  const isOnFile = entry.line === null && entry.originalLine === null;
  return isOnFile ? entry.id === id : entry.line === line && entry.side === side;
}

/** File comments are requests of their own, and each notifies people. */
const mostFileComments = 5;

interface PlanInput {
  result: Pick<ReviewResult, "findings" | "ledger">;
  standing: Standing;
  /** Ids of findings that an earlier attempt at this review annotated. */
  annotated: ReadonlySet<string>;
  /** Most comments on lines. */
  maxComments: number;
}

/**
 * Divides findings among the channels: certain ones first, which no model may crowd out by calling other things worse, then the
 * most severe.
 */
export function planPublication({ result, standing, annotated, maxComments }: PlanInput): Routed[] {
  const seen = new Set<string>();
  const used = { line: 0, file: 0 };
  const said = entriesSaying(result, standing);
  const carried = new Map(result.ledger?.carried.map((one) => [one.finding, one]));
  const certainFirst = bySeverity(result.findings).toSorted(
    (a, b) => Number(isCertain(b.finding)) - Number(isCertain(a.finding)),
  );
  return certainFirst.map(({ finding, placement }) => {
    const { id } = finding;
    const isRepeated = seen.has(id);
    seen.add(id);
    const mine = isRepeated ? undefined : standing.mine.get(id);
    if (mine !== undefined) {
      used[placement.kind === "file" ? "file" : "line"]++;
      return { finding, place: ownPlace(mine, standing) };
    }
    if (annotated.has(id) && !isRepeated) return { finding, place: { kind: "annotated" } };
    const entry = said.get(finding);
    if (entry) return { finding, place: placeIn(entry) };
    if (isRepeated) return { finding, place: againPlace(placement) };
    const before = carried.get(id);
    if (before?.standing === "listed") return { finding, place: listed(before.reason) };
    return { finding, place: placeOf(placement, used, standing, maxComments) };
  });
}

/** Of what a model says twice, the second is no comment. */
function againPlace(placement: Placement): Settled {
  const isListed = placement.kind === "summary";
  return listed(isListed ? placement.reason : "the same problem has a comment at another place");
}

/** A comment of this review was posted before a crash, and a person may have been quick. */
function ownPlace(comment: number, { ledger }: Standing): Settled {
  const entry = ledger.entries.find((one) => one.comment === comment);
  return entry?.state === "dismissed" ? placeIn(entry) : { kind: "posted" };
}

const placeIn = (entry: LedgerEntry): Settled => ({
  kind: entry.state === "dismissed" ? "dismissed" : "standing",
  entry,
});

/** The channel of a finding that stands nowhere yet, and has not come before. Counts what it hands out. */
function placeOf(
  placement: Placement,
  used: { line: number; file: number },
  standing: Standing,
  maxComments: number,
): Place {
  if (placement.kind === "summary") return listed(placement.reason);
  if (placement.kind === "file") {
    const isFull = used.file >= Math.min(mostFileComments, maxComments);
    if (isFull) return listed(`${placement.reason}; no more comments on files in one review`);
    used.file++;
    return { kind: "file", reason: placement.reason };
  }
  // Asked first, so that an attempt after an interrupted one says what that one would have said.
  if (used.line >= maxComments) return listed(`a review has at most ${maxComments} comments on lines`);
  if (standing.review) return listed("the review of this commit was posted without it");
  used.line++;
  return { kind: "line" };
}
