import { type Finding, severities } from "../../finding.ts";
import type { JoinPort } from "../../tools/tool.ts";
import { overlap, placeOf, saysTheSame } from "./same-fault.ts";

/** Places of one finding that are kept; a problem that stands in more is told by the first of them. */
const MAX_PLACES = 50;

/**
 * One finding of two with the same cause: the lines of the second become a further place unless the first has them. The worse
 * severity and the higher confidence of both count, and a suggestion is kept only with the lines that it was written for.
 */
export function joined(kept: Finding, other: Finding): Finding {
  const places = [...kept.places];
  for (const place of [placeOf(other), ...other.places]) {
    const isKnown = [placeOf(kept), ...places].some((one) => overlap(one, place));
    if (!isKnown && places.length < MAX_PLACES) places.push(place);
  }
  return {
    ...kept,
    severity: worse(kept, other),
    confidence: Math.max(kept.confidence, other.confidence),
    suggestion: kept.suggestion ?? sameLines(kept, other)?.suggestion ?? null,
    evidence: [...kept.evidence, ...other.evidence],
    places,
  };
}

const worse = (one: Finding, other: Finding) =>
  severities.indexOf(one.severity) <= severities.indexOf(other.severity) ? one.severity : other.severity;

function sameLines(kept: Finding, other: Finding): Finding | null {
  const isSame = JSON.stringify(placeOf(kept)) === JSON.stringify(placeOf(other));
  return isSame ? other : null;
}

/** Findings that say the same become one with its places; the first of them is kept, and their order. */
export function joinEqual(findings: readonly Finding[]): Finding[] {
  const kept: Finding[] = [];
  for (const finding of findings) {
    const place = kept.findIndex((one) => saysTheSame(one, finding));
    const first = kept[place];
    if (first) kept[place] = joined(first, finding);
    else kept.push(finding);
  }
  return kept;
}

/** Lets a model join findings that say the same in other words. */
export interface Joiner extends JoinPort {
  findings(): readonly Finding[];
}

export function createJoiner(findings: readonly Finding[]): Joiner {
  let left = [...findings];
  return {
    findings: () => left,
    join(keep, others) {
      const unknown = [keep, ...others].find((id) => !left.some((one) => one.id === id));
      if (unknown !== undefined) {
        const known = left.map(({ id }) => id).join(", ");
        return { ok: false, reason: `there is no finding '${unknown.slice(0, 40)}'; the ids are ${known}` };
      }
      const gone = new Set(others.filter((id) => id !== keep));
      const first = left.find(({ id }) => id === keep) as Finding;
      const joinedWith = left.filter(({ id }) => gone.has(id));
      const one = joinedWith.reduce(joined, first);
      left = left.filter(({ id }) => !gone.has(id)).map((finding) => (finding.id === keep ? one : finding));
      const added = one.places.length - first.places.length;
      return { ok: true, note: `${joinedWith.length} joined, ${added} of them as further places` };
    },
  };
}
