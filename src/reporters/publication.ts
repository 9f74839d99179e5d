import type { Finding } from "../finding.ts";
import type { LedgerEntry } from "../ledger/entry.ts";

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
export interface StandingFinding {
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
