import { type Finding, isCertain, type Side } from "../../finding.ts";
import { codeHash } from "../../ledger/code-hash.ts";
import { fingerprintIn, titlesAlike } from "../find/fingerprint.ts";
import type { LineRange } from "../find/quote.ts";
import type { PriorFinding } from "../review-input.ts";

/** What is known of earlier findings beside what they say. */
export interface PriorLocations {
  /** The name that a file had at the merge base, whichever of its names is given. */
  firstName(path: string): string;
  /** Where the code of an earlier finding stands now; null where it is gone. */
  locationOf(earlier: PriorFinding): LineRange | null;
}

/** Reworded code is looked for this many lines around the place that the old code had, where its definition is not known. */
const NEAR_LINES = 30;

/** How sure it is that both tell of one problem; the surest pairs are made first. */
const sureness = ["id", "place", "words", "moved"] as const;

interface Pair {
  finding: Finding;
  earlier: PriorFinding;
  by: (typeof sureness)[number];
  distance: number;
}

/**
 * Which findings an earlier one tells of already, as far as that is certain: by the fingerprint; by the code of a further
 * place; by lines that both stand on, or that the old code has left, with titles that say the same. Each earlier finding tells
 * of one, of several the nearest. Code that still stands at another place is another problem, whatever its words are; and what
 * was fixed tells of nothing: a problem that returns is new.
 */
export function certainPairs<Earlier extends PriorFinding>(
  findings: readonly Finding[],
  earlier: readonly Earlier[],
  facts: PriorLocations,
): Map<Finding, Earlier> {
  const pairs = candidates(findings, earlier, facts);
  const rank = ({ by }: Pair) => sureness.indexOf(by);
  const told = new Map<Finding, Earlier>();
  const taken = new Set<PriorFinding>();
  for (const pair of pairs.toSorted((a, b) => rank(a) - rank(b) || a.distance - b.distance)) {
    if (told.has(pair.finding) || taken.has(pair.earlier)) continue;
    told.set(pair.finding, pair.earlier as Earlier);
    taken.add(pair.earlier);
  }
  return told;
}

/** Of a deleted comment nothing but its id is known. */
export const isBare = ({ comment, state }: PriorFinding) => comment === null && state === "dismissed";

function candidates(
  findings: readonly Finding[],
  earlier: readonly PriorFinding[],
  facts: PriorLocations,
): Pair[] {
  const alive = earlier.filter(({ state }) => state !== "fixed");
  const byId = Map.groupBy(alive, ({ id }) => fingerprintIn(id));
  const byPath = Map.groupBy(
    alive.filter((one) => !isBare(one)),
    ({ path }) => facts.firstName(path),
  );
  return findings.flatMap((finding) => {
    const paths = new Set([finding.path, ...finding.places.map(({ path }) => path)].map(facts.firstName));
    const known = new Set([
      ...(byId.get(fingerprintIn(finding.id)) ?? []),
      ...[...paths].flatMap((path) => byPath.get(path) ?? []),
    ]);
    return [...known].flatMap((one) => pairOf(finding, one, facts) ?? []);
  });
}

function pairOf(finding: Finding, earlier: PriorFinding, facts: PriorLocations): Pair | null {
  const by = howSure(finding, earlier, facts);
  return by && { finding, earlier, by, distance: distanceTo(finding, earlier, facts) };
}

function howSure(finding: Finding, earlier: PriorFinding, facts: PriorLocations): Pair["by"] | null {
  if (!mayTellOf(finding, earlier)) return null;
  const isEqual = fingerprintIn(finding.id) === fingerprintIn(earlier.id);
  if (isBare(earlier)) return isEqual ? "id" : null;
  const place = facts.locationOf(earlier);
  if (isEqual && (place === null || standsOn(finding, earlier, place, facts))) return "id";
  if (hasPlace(finding, earlier, place, facts)) return "place";
  if (!isSameFile(finding, earlier, facts)) return null;
  const isThere = place === null ? isNearOld(finding, earlier) : overlaps(finding, place);
  if (!isThere || !titlesAlike(finding.title, earlier.title)) return null;
  return place === null ? "moved" : "words";
}

/**
 * Whether an earlier finding can tell of this one at all. A certain finding is told by the same rule only: a comment that a model
 * was talked into, and that a person dismissed, would silence it. For the same reason a dismissal holds for the very code that
 * was dismissed. Comments of older versions do not tell their rule, and tell of the same code only.
 */
function mayTellOf(finding: Finding, earlier: PriorFinding): boolean {
  if (!isCertain(finding)) return !isCertain(earlier);
  if (isBare(earlier)) return finding.id === earlier.id;
  const isSameCode = fingerprintIn(finding.id) === fingerprintIn(earlier.id);
  if (earlier.source === null) return isSameCode;
  return earlier.source === finding.source && (earlier.state !== "dismissed" || isSameCode);
}

/** A problem at several places goes by the first of them, and which one is first may change from push to push. */
function hasPlace(
  { category, places }: Finding,
  earlier: PriorFinding,
  place: LineRange | null,
  facts: PriorLocations,
): boolean {
  if (earlier.category !== category || earlier.code === null) return false;
  return places.some(
    (one) =>
      isSameFile(one, earlier, facts) &&
      (place === null || overlaps(one, place)) &&
      codeHash(one.quote) === earlier.code,
  );
}

/** Whether the finding, at one of its places, stands where the earlier one does. */
function standsOn(finding: Finding, earlier: PriorFinding, place: LineRange, facts: PriorLocations): boolean {
  return [finding, ...finding.places].some((one) => isSameFile(one, earlier, facts) && overlaps(one, place));
}

export const isSameFile = (
  one: { path: string; side: Side },
  other: { path: string; side: Side },
  { firstName }: PriorLocations,
): boolean => one.side === other.side && firstName(one.path) === firstName(other.path);

export function overlaps(
  { start_line, line }: { start_line: number | null; line: number },
  { start, end }: LineRange,
): boolean {
  return (start_line ?? line) <= end && start <= line;
}

/** Whether it stands where the old code, now gone, has stood. */
function isNearOld(finding: Finding, earlier: PriorFinding): boolean {
  const isKnown = finding.symbol !== null && earlier.symbol !== null;
  return isKnown ? finding.symbol === earlier.symbol : isNearOldLines(finding, earlier);
}

export function isNearOldLines({ line }: Finding, earlier: PriorFinding): boolean {
  const old = earlier.line ?? earlier.original_line;
  return old !== null && Math.abs(line - old) <= NEAR_LINES;
}

const FAR = Number.MAX_SAFE_INTEGER;

/** Lines to where the earlier one stands; one whose code is gone is farther than any that stands. */
function distanceTo(finding: Finding, earlier: PriorFinding, facts: PriorLocations): number {
  if (isBare(earlier) || !isSameFile(finding, earlier, facts)) return FAR;
  const place = facts.locationOf(earlier);
  if (place) return Math.abs(place.end - finding.line);
  const old = earlier.line ?? earlier.original_line;
  return old === null ? FAR : FAR / 2 + Math.abs(old - finding.line);
}
