import { type Finding, isCertain, type Side, worstFirst } from "../../finding.ts";
import { codeHash, type PostedFinding } from "../../ledger/entry.ts";
import { fingerprintIn, titlesAlike } from "../find/fingerprint.ts";
import type { LineRange } from "../find/quote.ts";

/** Where the code of earlier findings is now. */
export interface PriorLocations {
  /** The name of a file at the merge base, for either of its names. */
  firstName(path: string): string;
  /** The current lines of an earlier finding's code; null if the code is gone. */
  locationOf(earlier: PostedFinding): LineRange | null;
}

/** Changed code is searched within this distance of the old line, if its definition is unknown. */
const NEAR_LINES = 30;

/** Kinds of evidence that both are one problem, the strongest first. */
const sureness = ["id", "place", "words", "moved"] as const;

interface Pair {
  finding: Finding;
  earlier: PostedFinding;
  by: (typeof sureness)[number];
  distance: number;
}

/**
 * Pairs new findings with earlier ones if rules can decide: by fingerprint; by the code of a further location; or by the same lines,
 * or lines that the old code has left, with similar titles. Each earlier finding gets one partner, the nearest of several. If its
 * code is still at another location, it is another problem, whatever the titles say. A fixed finding gets no partner: a problem
 * that returns is new.
 */
export function certainPairs(
  findings: readonly Finding[],
  earlier: readonly PostedFinding[],
  facts: PriorLocations,
): Map<Finding, PostedFinding> {
  const pairs = candidates(findings, earlier, facts);
  const rank = ({ by }: Pair) => sureness.indexOf(by);
  const told = new Map<Finding, PostedFinding>();
  const taken = new Set<PostedFinding>();
  for (const pair of pairs.toSorted((a, b) => rank(a) - rank(b) || a.distance - b.distance)) {
    if (told.has(pair.finding) || taken.has(pair.earlier)) continue;
    told.set(pair.finding, pair.earlier);
    taken.add(pair.earlier);
  }
  return told;
}

/** True for a deleted comment, of which only the id is known. */
export const isBare = ({ comment, state, path }: PostedFinding) =>
  comment === null && state === "dismissed" && path === "";

function candidates(
  findings: readonly Finding[],
  earlier: readonly PostedFinding[],
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

function pairOf(finding: Finding, earlier: PostedFinding, facts: PriorLocations): Pair | null {
  const by = howSure(finding, earlier, facts);
  return by && { finding, earlier, by, distance: distanceTo(finding, earlier, facts) };
}

function howSure(finding: Finding, earlier: PostedFinding, facts: PriorLocations): Pair["by"] | null {
  if (!mayTellOf(finding, earlier) || !isCovered(finding, earlier, facts)) return null;
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
 * Whether an earlier finding can match this one at all. A certain finding matches only the same rule: otherwise an injected text
 * could make a model post a comment that, once dismissed, suppresses it. For the same reason a dismissal of a certain finding holds
 * only for the same code. Comments of older versions do not name their rule, and match only the same code.
 */
function mayTellOf(finding: Finding, earlier: PostedFinding): boolean {
  if (!mayRepeat(finding, earlier)) return false;
  if (!isCertain(finding)) return !isCertain(earlier);
  if (isBare(earlier)) return finding.id === earlier.id;
  const isSameCode = fingerprintIn(finding.id) === fingerprintIn(earlier.id);
  if (earlier.source === null) return isSameCode;
  return earlier.source === finding.source && (earlier.state !== "dismissed" || isSameCode);
}

/**
 * Whether the earlier finding was not dismissed, or its dismissal covers this one: a person has seen that code under that severity, and
 * nothing worse, and no other code that took its place.
 */
export function isCovered(finding: Finding, earlier: PostedFinding, { locationOf }: PriorLocations): boolean {
  if (earlier.state !== "dismissed" || isBare(earlier)) return true;
  const isSameCode =
    fingerprintIn(finding.id) === fingerprintIn(earlier.id) ||
    [finding, ...finding.places].some(({ quote }) => codeHash(quote) === earlier.code);
  return worstFirst(finding, earlier) >= 0 && (isSameCode || locationOf(earlier) !== null);
}

/**
 * Whether the rules of two findings allow that they are one. A breach of a rule repeats only breaches of that rule: otherwise the dismissal
 * of a remark would unblock it. A finding without a rule may repeat a comment on a breach, and takes over its rule (`underRuleOf`).
 */
export function mayRepeat({ rule }: Pick<Finding, "rule">, earlier: PostedFinding): boolean {
  // Of a deleted comment the rule is not known.
  if (isBare(earlier) || rule === earlier.rule) return true;
  return rule === undefined && earlier.comment !== null;
}

/** The finding with the rule of the comment that it repeats, and at least its severity. */
export const underRuleOf = (finding: Finding, { rule, severity }: PostedFinding): Finding =>
  rule === undefined
    ? finding
    : { ...finding, rule, severity: worstFirst(finding, { severity }) <= 0 ? finding.severity : severity };

/** A problem at several locations is listed at the first one, which may change from push to push. */
function hasPlace(
  { category, places }: Finding,
  earlier: PostedFinding,
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

/** Whether one of the finding's locations is where the earlier finding is. */
function standsOn(
  finding: Finding,
  earlier: PostedFinding,
  place: LineRange,
  facts: PriorLocations,
): boolean {
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

/** Whether it is at the place of the old code, which is gone. */
function isNearOld(finding: Finding, earlier: PostedFinding): boolean {
  const isKnown = finding.symbol !== null && earlier.symbol !== null;
  return isKnown ? finding.symbol === earlier.symbol : isNearOldLines(finding, earlier);
}

export function isNearOldLines({ line }: Finding, earlier: PostedFinding): boolean {
  const old = earlier.line ?? earlier.original_line;
  return old !== null && Math.abs(line - old) <= NEAR_LINES;
}

const FAR = Number.MAX_SAFE_INTEGER;

/** Distance in lines; an earlier finding whose code is gone is farther than any other. */
function distanceTo(finding: Finding, earlier: PostedFinding, facts: PriorLocations): number {
  if (isBare(earlier) || !isSameFile(finding, earlier, facts)) return FAR;
  const place = facts.locationOf(earlier);
  if (place) return Math.abs(place.end - finding.line);
  const old = earlier.line ?? earlier.original_line;
  return old === null ? FAR : FAR / 2 + Math.abs(old - finding.line);
}
