import { type Finding, isUndisputed, severities } from "../../finding.ts";
import type { LineRange } from "../quote.ts";
import type { EarlierFinding } from "../review-input.ts";
import type { ReadChange, ReviewRun } from "../review-run.ts";
import { askSame } from "./ask-same.ts";
import { certainPairs, type EarlierFacts } from "./certain-pairs.ts";
import { locate } from "./locate.ts";
import { nearCollisions } from "./near-collisions.ts";

/** Reads where the code of earlier findings stands now; renamed files go by the name that they had at the merge base. */
export async function readFacts(
  { files, anchorFile }: Pick<ReadChange, "files" | "anchorFile">,
  earlier: readonly EarlierFinding[],
): Promise<EarlierFacts> {
  const firstNames = new Map(files.map(({ change }) => [change.path, change.oldPath ?? change.path]));
  const places = new Map<EarlierFinding, LineRange | null>();
  for (const one of earlier) {
    const isGone = one.state === "fixed" || one.path === "";
    places.set(one, isGone ? null : await locate(await anchorFile(one.path), one));
  }
  return {
    firstName: (path) => firstNames.get(path) ?? path,
    placeOf: (one) => places.get(one) ?? null,
  };
}

/** Which of this run's findings an earlier one tells of already, each with that one. */
export type Repeats<Earlier extends EarlierFinding = EarlierFinding> = ReadonlyMap<Finding, Earlier>;

/** The worst are asked about first. */
const MOST_QUESTIONS = 60;

/**
 * Compares the findings of a run with those of earlier ones: what is certain by rules, what stands close together by one
 * question to a model. What no model decides about is compared by rules alone: it would be silenced by whoever says that it was told.
 *
 * @param run null where no model can be asked
 */
export async function compareFindings<Earlier extends EarlierFinding>(
  run: ReviewRun | null,
  findings: readonly Finding[],
  earlier: readonly Earlier[],
  facts: EarlierFacts,
): Promise<Repeats<Earlier>> {
  const repeats = certainPairs(findings, earlier, facts);
  const rank = (finding: Finding) => severities.indexOf(finding.severity);
  const disputed = findings.filter((one) => !isUndisputed(one));
  const collisions = nearCollisions(disputed, earlier, facts, repeats).toSorted(
    (a, b) => rank(a.finding) - rank(b.finding),
  );
  const asked = run ? collisions.slice(0, MOST_QUESTIONS) : [];
  const same = run && asked.length > 0 ? await askSame(run, asked) : null;
  const unanswered = same === null ? collisions : collisions.slice(asked.length);
  // Whoever dismissed something mild has not spoken of anything worse.
  const assumed = unanswered.filter(
    ({ isSamePlace, earlier: one, finding }) =>
      isSamePlace && one.state === "dismissed" && rank(finding) >= severities.indexOf(one.severity),
  );
  const taken = new Set<Earlier>(repeats.values());
  for (const { finding, earlier: one } of [...(same ?? []), ...assumed]) {
    // A dismissed one stands for all restatements of it, an open one for a single finding.
    if (repeats.has(finding) || (one.state !== "dismissed" && taken.has(one))) continue;
    repeats.set(finding, one);
    taken.add(one);
  }
  return repeats;
}
