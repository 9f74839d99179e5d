import type { StopReason } from "../agent/trajectory.ts";
import { type Finding, isUndisputed } from "../finding.ts";
import { collectFindings } from "./find/finding-collector.ts";
import { createUniqueIds, locationOf, locationsOverlap, titlesAlike } from "./find/fingerprint.ts";
import { newRuleMatches, type Passes, reviewUnits } from "./find/review-units.ts";
import { readPriorFindings } from "./followup/earlier.ts";
import { type FollowUp, type JudgedMatch, laterFindings } from "./followup/later-findings.ts";
import type { Unit } from "./plan/plan-units.ts";
import {
  type DroppedFinding,
  type Prediction,
  publicModelError,
  type TotalUsage,
  unfinishedSummary,
  whyUnfinished,
  worstStop,
} from "./review-result.ts";
import type { ReviewRun } from "./review-run.ts";
import { standInWarning, totalUsage, whoAnswered } from "./run-loop.ts";
import {
  type FindingGroup,
  groupEqual,
  groupFindings,
  MAX_PLACES,
  mergedFinding,
  mergePass,
} from "./verify/merge.ts";
import { asUnverified, type VerifiedFindings, verifyFindings } from "./verify/verify-findings.ts";

/** What a review found, whoever made it, before findings are placed. */
export interface ModelReview {
  findings: readonly Finding[];
  dropped: readonly DroppedFinding[];
  /** What it was expected to take; null when no model is asked. */
  predicted: Omit<Prediction, "cost_usd"> | null;
  summary: string;
  usage: TotalUsage;
  /** The models that answered; left out where none was asked. */
  model?: string;
  stopReason: StopReason;
  warnings: string[];
  /** What became of earlier findings; left out where nobody looked. */
  ledger?: FollowUp;
  /** Files of parts that were not read to their end: what was served of them was judged by nobody. */
  unfinished?: ReadonlySet<string>;
}

/**
 * Lets the model review the change: part by part, then what the parts found as one list, compared with what was told before,
 * then each new finding once more by a verifier. What was found stands, whatever stopped any of the loops. Certain findings of the
 * analyzers pass all of this by, and so do likely ones that the model never answered.
 */
export async function reviewWithModel(run: ReviewRun): Promise<ModelReview> {
  run.deps.progress({ type: "phase", phase: "planning" });
  const passes = await reviewUnits(run);
  const earlier = await readPriorFindings(run);
  const identify = createUniqueIds(new Set(earlier.carried.map(({ finding }) => finding.id)));
  const withId = (finding: Finding) => ({ ...finding, id: identify(finding) });
  const certain = run.matches.certain.map(withId);
  const found = groupFindings(
    [...passes.reviews.map(({ findings }) => findings), earlier.unpublished],
    identify,
  );
  const candidates = await answered(run, passes);
  const stopReason = worstStop(passes.reviews.map((review) => review.stopReason).concat(passes.stops));
  const isOver = isModelLost(run, passes);
  const merged = isOver ? unmerged(passes, found) : await merge(run, passes, found, identify);
  const { kept, groups } = withoutRestated(certain, merged.groups);
  const { findings, dropped, ledger } = await laterFindings(run, {
    groups: [...kept, ...candidates.notJudged.map(withId)].map((one): FindingGroup => [one]).concat(groups),
    readBefore: [...passes.reviews.flatMap(({ readBefore }) => readBefore), ...merged.readBefore].map(withId),
    judged: [...candidates.rejected, ...candidates.reported],
    unpublished: new Set(earlier.unpublished.map(identify)),
    ...{ earlier, isOver },
    verify: (fresh) => verify(run, fresh, isOver ? whyUnfinished(stopReason) : null),
  });
  return {
    findings,
    ledger,
    dropped: [...dropped, ...candidates.rejected.map(asRejected)],
    predicted: passes.predicted,
    unfinished: new Set([...unfinishedFiles(passes), ...candidates.notJudged.flatMap(pathsOf)]),
    // The last review's word on the whole says more than that this one has none.
    summary: merged.summary ?? (run.input.history?.summary || unfinishedSummary(stopReason)),
    usage: totalUsage(run.budget.usage),
    model: whoAnswered(run.models.review.name, run.budget.usage),
    stopReason,
    warnings: [...standInWarning(run.budget.usage), ...warningsOf(run, passes), ...merged.warnings],
  };
}

interface Answered {
  rejected: readonly JudgedMatch[];
  reported: readonly JudgedMatch[];
  /** As findings that say so; those that no prompt had room for are grouped by rule. */
  notJudged: readonly Finding[];
}

/** What became of the likely candidates: each was reported by some loop, or else rejected by one, or else judged by nobody. */
async function answered(run: ReviewRun, { reviews, overflow }: Passes): Promise<Answered> {
  const reported = new Set(reviews.flatMap(({ answers }) => [...answers.reported]));
  const reasons = new Map(reviews.flatMap(({ answers }) => [...answers.rejected]));
  const rejected: JudgedMatch[] = [];
  const told: JudgedMatch[] = [];
  const single: Finding[] = [];
  const unshown: Finding[] = [];
  for (const { id, finding } of await newRuleMatches(run, run.files)) {
    const reason = reasons.get(id);
    if (reported.has(id)) told.push({ finding, reason: REPORTED });
    else if (reason !== undefined) rejected.push({ finding, reason });
    else (overflow.has(id) ? unshown : single).push(finding);
  }
  return { rejected, reported: told, notJudged: [...single, ...groupedByRule(unshown)].map(asNotJudged) };
}

const REPORTED = "A model has judged this match since.";

/** One finding for each rule, on its first line, with the others as further places; several where there are very many. */
function groupedByRule(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ source }) => source).values()].flatMap((ofRule) => {
    const groups: Finding[] = [];
    for (let at = 0; at < ofRule.length; at += MAX_PLACES + 1) {
      const [first, ...others] = ofRule.slice(at, at + MAX_PLACES + 1);
      if (first) groups.push({ ...first, places: others.map(locationOf) });
    }
    return groups;
  });
}

const pathsOf = ({ path, places }: Finding) => [path, ...places.map((place) => place.path)];

const asNotJudged = (finding: Finding): Finding => ({
  ...finding,
  verification: "not_judged",
  verification_note: null,
});

const asRejected = ({ finding: { id, path, line, title, source }, reason }: JudgedMatch): DroppedFinding => ({
  ...{ id, path, line, title, reason },
  verdict: "rejected",
  rule: source,
});

/**
 * Takes away what a model reported of a certain finding in its own words: the finding gets the model's evidence and stays as it
 * is. What is left are the groups that say something else.
 */
function withoutRestated(certain: readonly Finding[], groups: readonly FindingGroup[]) {
  const kept = [...certain];
  const others = groups.filter((group) => {
    const one = mergedFinding(group);
    const at = kept.findIndex((known) => isRestated(known, one));
    const known = kept[at];
    if (!known) return true;
    kept[at] = { ...known, evidence: [...known.evidence, ...one.evidence] };
    return false;
  });
  return { kept, groups: others };
}

const isRestated = (known: Finding, one: Finding) =>
  known.category === one.category &&
  one.places.length === 0 &&
  locationsOverlap(locationOf(known), locationOf(one)) &&
  titlesAlike(known.title, one.title);

type Identify = ReturnType<typeof createUniqueIds>;

/** A model that cannot be asked any more would fail each further loop after all its retries. */
function isModelLost({ deps }: ReviewRun, { reviews, stops }: Passes): boolean {
  const failed = reviews.every(({ stopReason }) => stopReason === "model_error");
  return deps.signal.aborted || stops.includes("model_error") || (reviews.length > 0 && failed);
}

/** @param whyNot why nobody can be asked; null when somebody can */
async function verify(
  run: ReviewRun,
  fresh: readonly FindingGroup[],
  whyNot: string | null,
): Promise<VerifiedFindings> {
  const settled = fresh.filter(([first]) => isUndisputed(first)).map(mergedFinding);
  const groups = fresh.filter(([first]) => !isUndisputed(first));
  const { findings, dropped } = await verifyDisputed(run, groups, whyNot);
  return { findings: [...settled, ...findings], dropped };
}

async function verifyDisputed(
  run: ReviewRun,
  groups: readonly FindingGroup[],
  whyNot: string | null,
): Promise<VerifiedFindings> {
  if (run.input.config.effort === "low") return { findings: groups.map(mergedFinding), dropped: [] };
  if (whyNot !== null)
    return { findings: groups.map((group) => asUnverified(mergedFinding(group), whyNot)), dropped: [] };
  if (groups.length > 0) run.deps.progress({ type: "phase", phase: "verifying" });
  return verifyFindings(run, groups);
}

interface Merged {
  groups: readonly FindingGroup[];
  /** Null when no loop finished. */
  summary: string | null;
  /** Reported of code that an earlier review has read. */
  readBefore: readonly Finding[];
  warnings: string[];
}

/** One list and one summary; a model is asked where there is something to join, or where parts were read apart. */
async function merge(
  run: ReviewRun,
  passes: Passes,
  groups: readonly FindingGroup[],
  identify: Identify,
): Promise<Merged> {
  const { reviews, units } = passes;
  const apart = unmerged(passes, groups);
  const { effort } = run.input.config;
  const isNeeded =
    units.length > 1 || (reviews.length > 1 && groups.length > 1) || (effort !== "low" && anyNear(groups));
  if (!isNeeded) return apart;
  run.deps.progress({ type: "phase", phase: "merging" });
  const collector = collectFindings(run);
  const parts = reviews.flatMap(({ name, files, summary }) =>
    summary === null ? [] : [{ name, paths: files.map(({ change }) => change.path), summary }],
  );
  const isApart = units.length > 1 && parts.length > 1;
  const merged = await mergePass(run, groups, isApart ? parts : [], collector.report);
  return {
    // It may report what is listed already, and what it finds has ids of a loop that knows no other.
    groups: groupEqual([...merged.groups, ...groupFindings([collector.findings()], identify)]),
    summary: (isApart ? merged.summary : null) ?? apart.summary,
    readBefore: collector.readBefore(),
    warnings: isApart && merged.summary === null ? [NOT_CROSSED] : [],
  };
}

/** Whoever read everything alone seldom says one thing twice, unless of lines that lie together. */
const NEAR_LINES = 20;

function anyNear(groups: readonly FindingGroup[]): boolean {
  const firsts = groups.map(([first]) => first);
  return firsts.some((one, at) =>
    firsts
      .slice(at + 1)
      .some((other) => one.path === other.path && Math.abs(one.line - other.line) <= NEAR_LINES),
  );
}

const NOT_CROSSED =
  "The change was read in parts, and what crosses them was not looked at to the end: the pass that merges did not finish.";

/** Without a pass that merges: parts keep their summaries, and several looks at the same have one. */
function unmerged({ reviews, units }: Passes, groups: readonly FindingGroup[]): Merged {
  const summaries = reviews.flatMap(({ summary }) => (summary === null ? [] : [summary]));
  const shown = units.length > 1 ? summaries : summaries.slice(0, 1);
  return { groups, summary: shown.length > 0 ? shown.join("\n\n") : null, readBefore: [], warnings: [] };
}

/** All loops over a part have to finish, as each looks for something else. */
function unfinishedFiles({ units, reviews, loopsAUnit }: Passes): Set<string> {
  const finished = reviews.filter(({ stopReason }) => stopReason === "finished");
  const isOpen = ({ files }: Unit) => finished.filter((one) => one.files === files).length < loopsAUnit;
  return new Set(units.filter(isOpen).flatMap(({ files }) => files.map(({ change }) => change.path)));
}

function warningsOf({ budget, input }: ReviewRun, { reviews, unplanned }: Passes): string[] {
  const { usage } = budget;
  const faults = reviews.flatMap(({ modelError }) => (modelError ? [publicModelError(modelError)] : []));
  const unpriced = input.limits.costUsd !== null && usage.requests > 0 && usage.costUsd === null;
  return [
    ...new Set(faults),
    ...(unpriced ? ["The cost limit could not be kept: the price of the model is not known."] : []),
    ...(unplanned > 0
      ? [
          `The budget had no room for ${unplanned === 1 ? "1 file, which was" : `${unplanned} files, which were`} not read.`,
        ]
      : []),
  ];
}
