import type { Finding } from "../../finding.ts";
import { codeHash } from "../../ledger/entry.ts";
import type { EarlierFinding } from "../review-input.ts";
import { type EarlierFacts, isBare, isNearOldLines, isSameFile, overlaps } from "./certain-pairs.ts";
import { titlesAlike } from "./titles.ts";

/** Two that may tell of one problem: who knows both texts can say. */
export interface NearCollision<Earlier extends EarlierFinding = EarlierFinding> {
  finding: Finding;
  earlier: Earlier;
  /** Both stand on the same lines. */
  isSamePlace: boolean;
}

/** What a person dismissed is not told again in other words of the lines beside. */
const DISMISSED_LINES = 10;

/**
 * Findings and earlier ones that no rule makes a pair of and that may be one all the same. An open one that has its pair is
 * left out, a dismissed one is not: whoever said that it stays as it is meant all ways to put it.
 */
export function nearCollisions<Earlier extends EarlierFinding>(
  findings: readonly Finding[],
  earlier: readonly Earlier[],
  facts: EarlierFacts,
  paired: ReadonlyMap<Finding, EarlierFinding>,
): NearCollision<Earlier>[] {
  const taken = new Set(paired.values());
  const left = earlier.filter(
    (one) => one.state !== "fixed" && !isBare(one) && (one.state === "dismissed" || !taken.has(one)),
  );
  const about = (one: Earlier, path: string) => [one.path, ...one.files].map(facts.firstName).includes(path);
  return findings
    .filter((finding) => !paired.has(finding))
    .flatMap((finding) => {
      const path = facts.firstName(finding.path);
      return left.filter((one) => about(one, path)).flatMap((one) => collision(finding, one, facts) ?? []);
    });
}

function collision<Earlier extends EarlierFinding>(
  finding: Finding,
  earlier: Earlier,
  facts: EarlierFacts,
): NearCollision<Earlier> | null {
  if (facts.firstName(finding.path) !== facts.firstName(earlier.path)) {
    return isOtherEnd(finding, earlier, facts) ? { finding, earlier, isSamePlace: false } : null;
  }
  const place = facts.placeOf(earlier);
  const isSamePlace = place !== null && isSameFile(finding, earlier, facts) && overlaps(finding, place);
  const isNear =
    isSamePlace ||
    (place === null && (isOfThatCode(finding, earlier, facts) || isSaidNear(finding, earlier, facts))) ||
    (earlier.state === "outdated" && hasSymbolOf(finding, earlier)) ||
    (earlier.state === "dismissed" && isBeside(finding, earlier, place?.end ?? null));
  return isNear ? { finding, earlier, isSamePlace } : null;
}

/** Two files that go wrong together: each of both names the other one as evidence, or both say the same. */
const isOtherEnd = (finding: Finding, earlier: EarlierFinding, { firstName }: EarlierFacts) =>
  finding.evidence.some(({ path }) => firstName(path) === firstName(earlier.path)) ||
  titlesAlike(finding.title, earlier.title);

/** The same code under another category. */
const isOfThatCode = (finding: Finding, earlier: EarlierFinding, facts: EarlierFacts) =>
  earlier.code !== null && isSameFile(finding, earlier, facts) && codeHash(finding.quote) === earlier.code;

/** In a definition of another name, which may be the old one renamed. */
const isSaidNear = (finding: Finding, earlier: EarlierFinding, facts: EarlierFacts) =>
  isSameFile(finding, earlier, facts) &&
  isNearOldLines(finding, earlier) &&
  titlesAlike(finding.title, earlier.title);

const hasSymbolOf = ({ symbol }: Finding, earlier: EarlierFinding) =>
  symbol !== null && symbol === earlier.symbol;

function isBeside(finding: Finding, earlier: EarlierFinding, now: number | null): boolean {
  const line = now ?? earlier.line ?? earlier.original_line;
  return hasSymbolOf(finding, earlier) || (line !== null && Math.abs(line - finding.line) <= DISMISSED_LINES);
}
