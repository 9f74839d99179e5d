import { type Evidence, type Finding, severities } from "../../finding.ts";
import type { JoinPort } from "../../tools/tool.ts";
import { type createUniqueIds, folded } from "../fingerprint.ts";
import { isSameProblem, overlap, placeOf } from "./same-fault.ts";

/**
 * Findings with one cause. The first speaks for all of them; the others are kept as they are, for a second look that does not
 * believe the first has said nothing of the others.
 */
export type Group = readonly [Finding, ...Finding[]];

/** A group as people read it. */
export const asOne = ([first, ...others]: Group): Finding => others.reduce(joined, first);

/** Places of one finding that are kept; a problem that stands in more is told by the first of them. */
export const MAX_PLACES = 50;

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
    evidence: [...kept.evidence, ...inOtherWords(kept, other), ...other.evidence],
    places,
  };
}

export const worse = (one: Pick<Finding, "severity">, other: Pick<Finding, "severity">) =>
  severities.indexOf(one.severity) <= severities.indexOf(other.severity) ? one.severity : other.severity;

function sameLines(kept: Finding, other: Finding): Finding | null {
  const isSame = JSON.stringify(placeOf(kept)) === JSON.stringify(placeOf(other));
  return isSame ? other : null;
}

/** What the second says of its lines at head where it says something else; evidence knows no other lines. */
function inOtherWords(kept: Finding, { path, side, line, start_line, title }: Finding): Evidence[] {
  if (side === "LEFT" || folded(kept.title) === folded(title)) return [];
  return [{ path, start_line: start_line ?? line, end_line: line, note: title }];
}

/** Groups that hold findings which say the same become one; the first of them is kept, and their order. */
export function joinEqual(groups: readonly Group[]): Group[] {
  const kept: Group[] = [];
  for (const group of groups) {
    const at = kept.findIndex((known) => known.some((one) => isSameProblem(one, group[0])));
    const known = kept[at];
    if (known) kept[at] = [...known, ...group];
    else kept.push(group);
  }
  return kept;
}

/**
 * The findings of several loops as those of one review, in their order: what two loops found at one place is one group, and so
 * is what says the same of several places. Ids are given anew, for loops that ran beside each other gave them without knowing
 * of each other.
 *
 * @param identify gives ids that are unique within the review
 */
export function gather(
  loops: readonly (readonly Finding[])[],
  identify: ReturnType<typeof createUniqueIds>,
): Group[] {
  return joinEqual(loops.flat().map((finding) => [{ ...finding, id: identify(finding) }]));
}

/** Lets a model join findings that say the same in other words. A group goes by the id of its first finding. */
export interface Joiner extends JoinPort {
  groups(): readonly Group[];
}

export function createJoiner(groups: readonly Group[]): Joiner {
  let left = [...groups];
  const withId = (id: string) => left.find(([first]) => first.id === id);
  return {
    groups: () => left,
    join(keep, others) {
      const kept = withId(keep);
      const unknown = [keep, ...others].find((id) => !withId(id));
      if (!kept || unknown !== undefined) {
        const known = left.map(([{ id }]) => id).join(", ");
        return { ok: false, reason: `there is no finding '${unknown?.slice(0, 40)}'; the ids are ${known}` };
      }
      const gone = left.filter((group) => group !== kept && others.includes(group[0].id));
      const all: Group = [...kept, ...gone.flat()];
      left = left.flatMap((group) => (group === kept ? [all] : gone.includes(group) ? [] : [group]));
      const added = asOne(all).places.length - asOne(kept).places.length;
      return { ok: true, note: `${gone.length} joined, ${added} of them as further places` };
    },
  };
}
