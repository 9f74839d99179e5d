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

/** Told again of more or fewer lines, as a suggestion may need it, a fault is still one. */
export const isSameFault = (one: Finding, other: Finding): boolean =>
  saysTheSame(one, other) && overlap(one, other);

export const placeOf = ({ path, side, line, start_line, quote }: Finding): Place => ({
  ...{ path, side, line, start_line, quote },
});
