import type { Finding, Severity } from "../finding.ts";
import type { OwnComment } from "../github/pull-request-api.ts";
import { fingerprint, fingerprintIn } from "../review/fingerprint.ts";

/** A comment in which an earlier review posted a finding. */
export interface EarlierComment {
  /** Of the finding. */
  id: string;
  severity: Severity;
  comment: OwnComment;
}

/**
 * Which earlier comment says a finding already. Ids number equal pieces of code by the order in which one review found
 * them, so that among these the place decides: each comment says one finding, and the nearest pairs come first. A comment
 * whose code has changed, or that stands on a file, says what none of the others does.
 */
export function pairWithEarlier(
  findings: readonly Finding[],
  earlier: readonly EarlierComment[],
): ReadonlyMap<Finding, EarlierComment> {
  const byFingerprint = Map.groupBy(earlier, ({ id }) => fingerprintIn(id));
  const pairs = findings.flatMap((finding) =>
    (byFingerprint.get(fingerprintIn(finding.id)) ?? []).map((one) => ({
      finding,
      one,
      distance: distanceTo(finding, one.comment),
    })),
  );
  const said = new Map<Finding, EarlierComment>();
  const taken = new Set<EarlierComment>();
  for (const { finding, one } of pairs.toSorted((a, b) => a.distance - b.distance)) {
    if (said.has(finding) || taken.has(one)) continue;
    said.set(finding, one);
    taken.add(one);
  }
  for (const [finding, one] of byPlaces(findings, earlier, said, taken)) said.set(finding, one);
  return said;
}

/**
 * A problem at several places goes by the first of them, and which one is first may change from push to push: what is left
 * is told by the others.
 */
function byPlaces(
  findings: readonly Finding[],
  earlier: readonly EarlierComment[],
  said: ReadonlyMap<Finding, EarlierComment>,
  taken: ReadonlySet<EarlierComment>,
): Map<Finding, EarlierComment> {
  const pairs = new Map<Finding, EarlierComment>();
  const used = new Set(taken);
  for (const finding of findings.filter((one) => !said.has(one))) {
    const ids = finding.places.map((place) => fingerprint({ ...place, category: finding.category }));
    const one = earlier.find((known) => !used.has(known) && ids.includes(fingerprintIn(known.id)));
    if (!one) continue;
    used.add(one);
    pairs.set(finding, one);
  }
  return pairs;
}

const FAR = Number.MAX_SAFE_INTEGER;

const distanceTo = ({ line, side }: Finding, comment: OwnComment) =>
  comment.line === null || comment.side !== side ? FAR : Math.abs(comment.line - line);
