import type { StopReason } from "../../agent/record/trajectory.ts";
import { type Finding, isUndisputed, toolOf } from "../../core/finding.ts";
import { createUniqueIds, locationOf, locationsOverlap, titlesAlike } from "../anchor/fingerprint.ts";
import { isSameFile, type LostReport } from "../loop/report-watch.ts";
import type { ReviewRun } from "../loop/review-run.ts";
import { standInWarning, totalUsage, whoAnswered } from "../loop/run-loop.ts";
import {
  type Choice,
  type DroppedFinding,
  type Prediction,
  publicModelError,
  type TotalUsage,
  unfinishedSummary,
  whyStopped,
  worstStop,
} from "../shapes/review-result.ts";
import { collectFindings } from "./find/finding-collector.ts";
import { newRuleMatches, type Passes, reviewUnits } from "./find/review-units.ts";
import {
  type FollowUp,
  type JudgedMatch,
  laterFindings,
  readPriorFindings,
} from "./followup/later-findings.ts";
import type { Unit } from "./plan/plan-units.ts";
import { chooseComments } from "./verify/choose.ts";
import {
  type FindingGroup,
  groupEqual,
  groupFindings,
  MAX_PLACES,
  mergedFinding,
  mergePass,
} from "./verify/merge.ts";
import { asDropped, asUnverified, type VerifiedFindings, verifyFindings } from "./verify/verify-findings.ts";

export interface ModelReview {
  findings: readonly Finding[];
  dropped: readonly DroppedFinding[];
  /** Predicted usage; null if no model is asked. */
  predicted: Omit<Prediction, "cost_usd"> | null;
  summary: string;
  usage: TotalUsage;
  model?: string;
  stopReason: StopReason;
  warnings: string[];
  /** What became of earlier findings; omitted if they were not checked. */
  ledger?: FollowUp;
  /** Ids of findings that are listed and make no comment, because an earlier review has read their code. */
  quiet?: ReadonlySet<string>;
  /** Which of the new findings become comments; null if no model chose. */
  choice?: Choice | null;
  /** Files of units whose loops did not finish: their served hunks do not count as reviewed. */
  unfinished?: ReadonlySet<string>;
  /** Reports of the model that were refused and not repeated. Their files are in `unfinished`. */
  unplaced?: UnplacedReports;
}

/**
 * Lets the model review the change: reads it unit by unit, merges the findings, compares them with earlier findings, and verifies
 * each new one. A loop that stops early keeps what it has found. Certain findings of analyzers skip all of these steps, and so do
 * rule matches that the model never answered.
 */
export async function reviewWithModel(run: ReviewRun): Promise<ModelReview> {
  run.deps.progress({ type: "phase", phase: "planning" });
  const passes = await reviewUnits(run);
  const earlier = await readPriorFindings(run);
  const identify = createUniqueIds(new Set([...earlier.carried.values()].map(({ finding }) => finding.id)));
  const withId = (finding: Finding) => ({ ...finding, id: identify(finding) });
  const certain = run.change.matches.certain.map(withId);
  const found = groupFindings(
    [...passes.reviews.map(({ findings }) => findings), earlier.unpublished],
    identify,
  );
  const judged = await sortMatches(run, passes);
  const stopReason = worstStop(passes.reviews.map((review) => review.stopReason).concat(passes.stops));
  const isOver = isModelLost(run, passes);
  const merged = isOver ? unmerged(passes, found) : await merge(run, passes, found, identify);
  const unplaced = unplacedReports(run, passes, merged.lost);
  const { kept, groups } = withoutRestated(certain, merged.groups);
  const { findings, quiet, dropped, ledger } = await laterFindings(run, {
    groups: [...kept, ...judged.notJudged.map(withId)].map((one): FindingGroup => [one]).concat(groups),
    readBefore: [...passes.reviews.flatMap(({ readBefore }) => readBefore), ...merged.readBefore].map(withId),
    judged: [...judged.rejected, ...judged.reported],
    unpublished: new Set(earlier.unpublished.map(identify)),
    earlier,
    model: isOver ? null : run,
    verify: (fresh) => verify(run, fresh, isOver ? whyStopped[stopReason] : null),
  });
  const known = new Set([...ledger.repeats, ...ledger.carried].map((one) => one.finding));
  const fresh = findings.filter(({ id }) => !known.has(id) && !quiet.has(id));
  const choice = isOver ? null : await chooseComments(run, fresh, agreedIn(passes, merged.groups));
  const { usage } = run.limits.budget;
  return {
    findings,
    quiet,
    choice,
    ledger,
    dropped: [...dropped, ...judged.rejected.map(asRejected)],
    predicted: passes.predicted,
    unfinished: new Set([
      ...unfinishedFiles(passes),
      ...judged.notJudged.filter(({ source }) => toolOf(source) === null).flatMap(pathsOf),
      ...unplaced.paths,
    ]),
    unplaced,
    // The last review's summary says more than that this review has none.
    summary: merged.summary ?? (run.input.history?.summary || unfinishedSummary(stopReason)),
    usage: totalUsage(usage),
    model: whoAnswered(run.deps.models.review.name, usage),
    stopReason,
    warnings: [...standInWarning(usage), ...warningsOf(run, passes), ...merged.warnings],
  };
}

interface UnplacedReports {
  texts: readonly string[];
  /** The part that they are about, which counts as read once a person has dismissed them. */
  paths: ReadonlySet<string>;
}

/** The files that a lost report names, or all files that its loop has read. */
function unplacedReports(
  run: ReviewRun,
  { reviews }: Passes,
  ofMerge: readonly LostReport[],
): UnplacedReports {
  const lost = reviews.flatMap(({ lost: all, files }) => all.map((one) => ({ ...one, files })));
  const all = [...lost, ...ofMerge.map((one) => ({ ...one, files: run.change.files }))];
  const paths = all.flatMap(({ path, files }) => {
    const names = files.map(({ change }) => change.path);
    const named = names.filter((name) => path !== null && isSameFile(name, path));
    return named.length > 0 ? named : names;
  });
  return { texts: [...new Set(all.map(({ text }) => text))], paths: new Set(paths) };
}

async function sortMatches(run: ReviewRun, { reviews, overflow }: Passes) {
  const reported = new Set(reviews.flatMap(({ answers }) => [...answers.reported]));
  const reasons = new Map(reviews.flatMap(({ answers }) => [...answers.rejected]));
  const rejected: JudgedMatch[] = [];
  const reportedMatches: JudgedMatch[] = [];
  const single: Finding[] = [];
  const unshown: Finding[] = [];
  for (const { id, finding } of await newRuleMatches(run.change, run.change.files)) {
    const reason = reasons.get(id);
    if (reported.has(id)) reportedMatches.push({ finding, reason: REPORTED });
    else if (reason !== undefined) rejected.push({ finding, reason });
    else (overflow.has(id) ? unshown : single).push(finding);
  }
  return {
    rejected,
    reported: reportedMatches,
    // Those that did not fit into a prompt are grouped by rule.
    notJudged: [...single, ...groupedByRule(unshown)].map(asNotJudged),
  };
}

const REPORTED = "A model has since judged this match.";

/** One finding for each rule, at its first match, with the others as further places; several if there are too many places. */
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

const asRejected = ({ finding, reason }: JudgedMatch): DroppedFinding => ({
  ...asDropped(finding, "rejected", reason),
  rule: finding.source,
});

/** Removes groups in which a model repeats a certain finding in its own words. The finding only takes over their evidence. */
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
  one.rule === undefined &&
  known.category === one.category &&
  one.places.length === 0 &&
  locationsOverlap(locationOf(known), locationOf(one)) &&
  titlesAlike(known.title, one.title);

/** The ids of the findings that several loops over one unit reported, each for itself. */
function agreedIn({ reviews }: Passes, groups: readonly FindingGroup[]): ReadonlySet<string> {
  const isOf = (one: Finding) =>
    reviews.findIndex(({ findings }) => findings.some((own) => isCopy(own, one)));
  return new Set(groups.filter((group) => new Set(group.map(isOf)).size > 1).map(([{ id }]) => id));
}

const isCopy = (own: Finding, one: Finding) =>
  own.body === one.body && own.title === one.title && own.quote === one.quote;

type Identify = ReturnType<typeof createUniqueIds>;

/** True if the model is gone: each further loop would fail after all of its retries. */
function isModelLost({ deps }: ReviewRun, { reviews, stops }: Passes): boolean {
  const failed = reviews.every(({ stopReason }) => stopReason === "model_error");
  return deps.signal.aborted || stops.includes("model_error") || (reviews.length > 0 && failed);
}

/** @param whyNot why no model can verify; null if one can */
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
  summary: string | null;
  readBefore: readonly Finding[];
  lost: readonly LostReport[];
  warnings: string[];
}

/** A model is asked only if units were read separately, or if several loops over one unit found something. */
async function merge(
  run: ReviewRun,
  passes: Passes,
  groups: readonly FindingGroup[],
  identify: Identify,
): Promise<Merged> {
  const { reviews, units } = passes;
  const apart = unmerged(passes, groups);
  const finders = reviews.filter(({ findings }) => findings.length > 0);
  const isNeeded = units.length > 1 || (finders.length > 1 && groups.length > 1);
  if (!isNeeded) return apart;
  run.deps.progress({ type: "phase", phase: "merging" });
  const collector = collectFindings(run);
  const parts = reviews.flatMap(({ name, files, summary }) =>
    summary === null ? [] : [{ name, paths: files.map(({ change }) => change.path), summary }],
  );
  const isApart = units.length > 1 && parts.length > 1;
  const merged = await mergePass(run, groups, isApart ? parts : [], collector.report);
  return {
    // It may report a listed finding again, and its ids do not know those of other loops.
    groups: groupEqual([...merged.groups, ...groupFindings([collector.findings()], identify)]),
    summary: (isApart ? merged.summary : null) ?? apart.summary,
    readBefore: collector.readBefore(),
    lost: merged.lost,
    warnings: isApart && merged.summary === null ? [NOT_CROSSED] : [],
  };
}

const NOT_CROSSED =
  "The change was read in parts, and the pass that merges them and looks for problems across them did not finish.";

/** Without a merge loop: units keep their summaries; of several loops over one unit, the first is used. */
function unmerged({ reviews, units }: Passes, groups: readonly FindingGroup[]): Merged {
  const summaries = reviews.flatMap(({ summary }) => (summary === null ? [] : [summary]));
  const shown = units.length > 1 ? summaries : summaries.slice(0, 1);
  return {
    groups,
    summary: shown.length > 0 ? shown.join("\n\n") : null,
    readBefore: [],
    lost: [],
    warnings: [],
  };
}

/** A unit is finished if all of its loops are, because each has another focus. */
function unfinishedFiles({ units, reviews, loopsAUnit }: Passes): Set<string> {
  const finished = reviews.filter(({ stopReason }) => stopReason === "finished");
  const isOpen = ({ files }: Unit) => finished.filter((one) => one.files === files).length < loopsAUnit;
  return new Set(units.filter(isOpen).flatMap(({ files }) => files.map(({ change }) => change.path)));
}

function warningsOf({ limits: { budget }, input }: ReviewRun, { reviews, unplanned }: Passes): string[] {
  const { usage } = budget;
  const faults = reviews.flatMap(({ modelError }) => (modelError ? [publicModelError(modelError)] : []));
  const unpriced = input.limits.costUsd !== null && usage.requests > 0 && usage.costUsd === null;
  return [
    ...new Set(faults),
    ...(unpriced ? ["The cost limit could not be enforced, because the price of the model is unknown."] : []),
    ...(unplanned > 0
      ? [
          `The budget was too small for ${unplanned === 1 ? "1 file, which was" : `${unplanned} files, which were`} not read.`,
        ]
      : []),
  ];
}
