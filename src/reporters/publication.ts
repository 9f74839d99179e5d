import type { Finding } from "../finding.ts";
import type { PlacedFinding, Placement } from "../review/review-result.ts";
import { bySeverity } from "./order.ts";
import { type EarlierComment, pairWithEarlier } from "./said-earlier.ts";
import type { Standing } from "./standing.ts";

/** What a finding still waits for. `reason` says why it is not on its line. */
export type Waiting = { kind: "line" } | { kind: "file"; reason: string } | { kind: "annotation" };

/** Where a finding stands in the end. */
export type Settled =
  /** A comment of this review, on its lines or its file. */
  | { kind: "posted" }
  /** An annotation of this review's check run. */
  | { kind: "annotated" }
  /** Said by an earlier review: in a comment, or, with null, in an annotation of the same commit. */
  | { kind: "standing"; comment: EarlierComment | null }
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

/** All findings of a result by where they stand, each in one of the lists. */
export interface Places {
  posted: readonly Finding[];
  annotated: readonly Finding[];
  standing: readonly Finding[];
  listed: readonly ListedFinding[];
}

export function byPlace(routes: readonly Routed<Settled>[]): Places {
  const at = (kind: Settled["kind"]) =>
    routes.filter(({ place }) => place.kind === kind).map(({ finding }) => finding);
  return {
    posted: at("posted"),
    annotated: at("annotated"),
    standing: at("standing"),
    listed: routes.flatMap(({ finding, place }) =>
      place.kind === "listed" ? [{ finding, reason: place.reason }] : [],
    ),
  };
}

/** File comments are requests of their own, and each notifies people. */
const mostFileComments = 5;

/**
 * Divides findings among the channels, the most severe first.
 *
 * @param annotated ids of findings that an earlier attempt at this review annotated
 */
export function planPublication(
  findings: readonly PlacedFinding[],
  standing: Standing,
  annotated: ReadonlySet<string>,
  maxComments: number,
): Routed[] {
  const seen = new Set<string>();
  const used = { line: 0, file: 0 };
  const others = findings.filter(({ finding }) => !standing.mine.has(finding.id));
  const said = pairWithEarlier(
    others.map(({ finding }) => finding),
    standing.earlier,
  );
  return bySeverity(findings).map(({ finding, placement }) => {
    const { id } = finding;
    const isRepeated = seen.has(id);
    seen.add(id);
    if (standing.mine.has(id) && !isRepeated) {
      used[placement.kind === "file" ? "file" : "line"]++;
      return { finding, place: { kind: "posted" } };
    }
    if (annotated.has(id) && !isRepeated) return { finding, place: { kind: "annotated" } };
    const comment = said.get(finding);
    if (comment) return { finding, place: { kind: "standing", comment } };
    if (placement.kind !== "summary" && isRepeated) {
      return { finding, place: listed("the same problem has a comment at another place") };
    }
    return { finding, place: placeOf(placement, used, standing, maxComments) };
  });
}

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
