import type { Finding, Place } from "../../finding.ts";
import { folded } from "../fingerprint.ts";

const firstOf = ({ start_line, line }: Pick<Place, "line" | "start_line">) => start_line ?? line;

/** Whether two places share a line. */
export function overlap(one: Place, other: Place): boolean {
  if (one.path !== other.path || one.side !== other.side) return false;
  return firstOf(one) <= other.line && firstOf(other) <= one.line;
}

/** Whether two findings say the same of the same kind of fault, wherever it is. */
export function saysTheSame(one: Finding, other: Finding): boolean {
  return one.category === other.category && folded(one.title) === folded(other.title);
}

/** A title of fewer words ("Null dereference") names a kind of fault, not one that two places share. */
const TELLING_WORDS = 4;

/** Whether two findings elsewhere are one problem at several places: they say the same, and something of their own. */
export function isSameProblem(one: Finding, other: Finding): boolean {
  const isTelling = folded(one.title).split(" ").length >= TELLING_WORDS;
  return saysTheSame(one, other) && (isTelling || one.quote.trim() === other.quote.trim());
}

/** Told again of more or fewer lines, as a suggestion may need it, a fault is still one. */
export const isSameFault = (one: Finding, other: Finding): boolean =>
  saysTheSame(one, other) && overlap(one, other);

export const placeOf = ({ path, side, line, start_line, quote }: Finding): Place => ({
  ...{ path, side, line, start_line, quote },
});
