import { bySeverity, type Finding, isCertain, worstFirst } from "../../core/finding.ts";
import { commentTitle, type PostedFinding } from "../../core/ledger/entry.ts";
import { fingerprintIn } from "../../tasks/anchor/fingerprint.ts";
import type { PlacedFinding, Placement, ReviewResult } from "../../tasks/shapes/review-result.ts";
import type { Existing } from "./existing.ts";
import { titleLine } from "./render-comment.ts";

/** A finding that still waits for a channel. `reason`: why it is not on its line. */
export type PendingState = { kind: "line" } | { kind: "file"; reason: string } | { kind: "annotation" };

export type FinalState =
  /** In a comment of this review, on its lines or its file. */
  | { kind: "posted" }
  /** In an annotation of this review's check run. */
  | { kind: "annotated" }
  /** An earlier review posted it: in a comment, or (null) in an annotation of the same commit. */
  | { kind: "posted_before"; entry: PostedFinding | null }
  /** An earlier review published it, and a person dismissed it: it is not repeated. Without a comment, that was by its number. */
  | { kind: "dismissed"; entry: PostedFinding | null }
  /** Only in the summary. */
  | { kind: "listed"; reason: string };

export type FindingState = PendingState | FinalState;

/**
 * A finding on its way to people, with its one state. Each step maps an array with exactly one for each finding of the result, so none can
 * get lost or be posted twice, and the compiler rejects a finding that still waits at the end.
 */
export interface PublishedFinding<S extends FindingState = FindingState> {
  readonly finding: Finding;
  readonly place: S;
}

export interface ChannelResult<S extends FindingState, W extends PendingState = PendingState> {
  /** The new state of one of them; called once for each. */
  placeOf(one: PublishedFinding<W>): S;
  /** A sentence for the maintainer if the channel is closed to us. */
  notice?: string | undefined;
}

export const listed = (reason: string) => ({ kind: "listed", reason }) as const;

/** Posts the findings that wait for a channel; all others keep their state. */
export async function through<
  S extends FindingState,
  const C extends PendingState["kind"],
  N extends FindingState,
>(
  findings: readonly PublishedFinding<S>[],
  channel: C,
  post: (waiting: PublishedFinding<For<S, C>>[]) => Promise<ChannelResult<N, For<S, C>>>,
): Promise<{ routes: PublishedFinding<Exclude<S, { kind: C }> | N>[]; notice: string | undefined }> {
  const isWaiting = (one: PublishedFinding<S>): one is PublishedFinding<For<S, C>> =>
    one.place.kind === channel;
  const isElsewhere = (one: PublishedFinding<S>): one is PublishedFinding<Exclude<S, { kind: C }>> =>
    !isWaiting(one);
  const waiting = findings.filter(isWaiting);
  if (waiting.length === 0) return { routes: findings.filter(isElsewhere), notice: undefined };
  const result = await post(waiting);
  const routes = findings.map((one) => {
    if (isElsewhere(one)) return one;
    return { finding: one.finding, place: result.placeOf(one as PublishedFinding<For<S, C>>) };
  });
  return { routes, notice: result.notice };
}

type For<S extends FindingState, C extends PendingState["kind"]> = Extract<S, { kind: C }> & PendingState;

type In<K extends FinalState["kind"]> = { finding: Finding } & Omit<Extract<FinalState, { kind: K }>, "kind">;

/** All findings of a result, each in exactly one list. */
export interface FindingsByState {
  posted: readonly Finding[];
  annotated: readonly Finding[];
  postedBefore: readonly In<"posted_before">[];
  listed: readonly In<"listed">[];
  /** Dismissed by people. */
  silent: readonly Finding[];
}

export function byState(findings: readonly PublishedFinding<FinalState>[]): FindingsByState {
  const at = (kind: FinalState["kind"]) =>
    findings.filter(({ place }) => place.kind === kind).map(({ finding }) => finding);
  return {
    posted: at("posted"),
    annotated: at("annotated"),
    silent: at("dismissed"),
    postedBefore: findings.flatMap(({ finding, place }) =>
      place.kind === "posted_before" ? [{ finding, entry: place.entry }] : [],
    ),
    listed: findings.flatMap(({ finding, place }) =>
      place.kind === "listed" ? [{ finding, reason: place.reason }] : [],
    ),
  };
}

/**
 * The findings that an earlier comment reports, by the present ledger: the review compared them with the comments that existed when it
 * began; later ones match by their exact place. A comment on a fixed fault does not count: the problem has returned.
 */
function reportingEntries(
  { findings, ledger: update }: Pick<ReviewResult, "findings" | "ledger">,
  { mine, ledger }: Pick<Existing, "mine" | "ledger">,
): ReadonlyMap<Finding, PostedFinding> {
  const own = new Set(mine.values());
  const free = new Set(
    ledger.entries.filter(
      ({ comment, state }) => state !== "fixed" && (comment === null || !own.has(comment)),
    ),
  );
  const reported = new Map<Finding, PostedFinding>();
  const take = (matches: (finding: Finding, entry: PostedFinding) => boolean) => {
    for (const { finding } of bySeverity(findings)) {
      if (reported.has(finding) || mine.has(finding.id)) continue;
      const entry = [...free].find((one) => matches(finding, one));
      if (entry === undefined) continue;
      free.delete(entry);
      reported.set(finding, entry);
    }
  };
  const repeats = new Map(update?.repeats.map(({ finding, comment }) => [finding, comment]));
  take(({ id }, { comment }) => comment !== null && repeats.get(id) === comment);
  // A comment may have been deleted since the review saw it, or since an earlier attempt posted it.
  take(({ id }, { comment, id: deleted }) => comment === null && id === deleted);
  take(({ id }, entry) => repeats.has(id) && isDeletedOf(id, entry));
  take(isAtPlaceOf);
  return reported;
}

const isDeletedOf = (id: string, entry: PostedFinding) =>
  entry.comment === null && fingerprintIn(entry.id) === fingerprintIn(id);

function isAtPlaceOf({ id, path, side, line, source }: Finding, entry: PostedFinding): boolean {
  const isSame = entry.comment !== null && fingerprintIn(entry.id) === fingerprintIn(id);
  // A manipulated model's comment must not replace a certain finding.
  const isOther = isCertain({ source }) && entry.source !== null && entry.source !== source;
  if (!isSame || isOther || entry.path !== path) return false;
  const isOnFile = entry.line === null && entry.original_line === null;
  return isOnFile ? entry.id === id : entry.line === line && entry.side === side;
}

/** File comments are requests of their own, and each notifies people. */
const mostFileComments = 5;
/** Comments beyond the maximum on breaches of blocking rules, so that people can dismiss them in a thread. */
const mostBlocking = 20;

/** The most comments if the maintainers set no number, by the hunks of the change. */
const mostCommentsFor = (hunks: number): number => (hunks <= 40 ? 6 : 10);

interface PlanInput {
  result: Pick<ReviewResult, "findings" | "ledger" | "coverage">;
  existing: Existing;
  annotated: ReadonlySet<string>;
  /** Most comments on lines and files; null: by the size of the change. */
  maxComments: number | null;
  /** Names of the blocking rules. Default: none. */
  blocking?: ReadonlySet<string> | undefined;
}

/** Says whether one more comment of a kind fits, which then takes its room. */
function createRoom(most: number, blocking: PlanInput["blocking"]) {
  // Who wants no comments gets none.
  const left = { any: most, file: mostFileComments, blocking: most === 0 ? 0 : mostBlocking };
  return (kind: "line" | "file", { rule }: Finding): boolean => {
    const from = rule !== undefined && blocking?.has(rule) === true && left.blocking > 0 ? "blocking" : "any";
    if (left[from] <= 0 || (kind === "file" && from === "any" && left.file <= 0)) return false;
    left[from]--;
    if (kind === "file" && from === "any") left.file--;
    return true;
  };
}

/**
 * Divides findings among the channels: certain ones first, which a model must not displace by severity; then the worst, of these those that a
 * second look confirmed, and the most confident.
 */
export function planPublication(input: PlanInput): PublishedFinding[] {
  const { result, existing, annotated } = input;
  const seen = new Set<string>();
  const most = input.maxComments ?? mostCommentsFor(result.coverage.hunks_total);
  const takesRoom = createRoom(most, input.blocking);
  const more = most > 0 && input.blocking?.size ? ` and ${mostBlocking} more for blocking rules` : "";
  const reported = reportingEntries(result, existing);
  const carried = new Map(result.ledger?.carried.map((one) => [one.finding, one]));
  const ranked = bySeverity(result.findings).toSorted(
    ({ finding: a }, { finding: b }) =>
      Number(isCertain(b)) - Number(isCertain(a)) ||
      worstFirst(a, b) ||
      Number(b.verification === "confirmed") - Number(a.verification === "confirmed") ||
      b.confidence - a.confidence,
  );
  /** The channel of a finding that is posted nowhere yet and is not a repetition. */
  const newPlace = ({ finding, placement }: PlacedFinding): FindingState => {
    const before = carried.get(finding.id);
    if (before?.standing === "dismissed") return { kind: "dismissed", entry: null };
    if (placement.kind === "inline" && isVisible(finding, existing))
      return { kind: "posted_before", entry: null };
    if (before?.standing === "listed") return listed(before.reason);
    if (placement.kind === "summary") return listed(placement.reason);
    if (placement.kind === "file")
      return takesRoom("file", finding)
        ? { kind: "file", reason: placement.reason }
        : listed(`${placement.reason}; the review already has the maximum number of comments on files`);
    // Checked first, so that an attempt after an interrupted one gives the same reason.
    if (!takesRoom("line", finding)) return listed(`a review has at most ${most} comments${more}`);
    return existing.review ? listed("the review of this commit was already posted") : { kind: "line" };
  };
  return ranked.map(({ finding, placement }) => {
    const { id } = finding;
    const isRepeated = seen.has(id);
    seen.add(id);
    const mine = isRepeated ? undefined : existing.mine.get(id);
    if (mine !== undefined) {
      takesRoom(placement.kind === "file" ? "file" : "line", finding);
      return { finding, place: ownPlace(mine, existing) };
    }
    if (annotated.has(id) && !isRepeated) return { finding, place: { kind: "annotated" } };
    const entry = reported.get(finding);
    if (entry) return { finding, place: placeIn(entry) };
    if (isRepeated) return { finding, place: againPlace(placement) };
    return { finding, place: newPlace({ finding, placement }) };
  });
}

/** Whether people see a comment at the same place that begins with the same title. */
function isVisible(finding: Finding, { visible }: Existing): boolean {
  const title = commentTitle(titleLine(finding));
  const matches = ({ path, side, line, body }: Existing["visible"][number]) =>
    path === finding.path && side === finding.side && line === finding.line && commentTitle(body) === title;
  return visible.some(matches);
}

/** The second of two equal findings of a model gets no comment. */
function againPlace(placement: Placement): FinalState {
  const isListed = placement.kind === "summary";
  return listed(isListed ? placement.reason : "the same problem has a comment at another place");
}

/** A comment of this review was posted before a crash, and a person may already have answered it. */
function ownPlace(comment: number, { ledger }: Existing): FinalState {
  const entry = ledger.entries.find((one) => one.comment === comment);
  return entry?.state === "dismissed" ? placeIn(entry) : { kind: "posted" };
}

const placeIn = (entry: PostedFinding): FinalState => ({
  kind: entry.state === "dismissed" ? "dismissed" : "posted_before",
  entry,
});
