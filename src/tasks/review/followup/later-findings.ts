import pMap from "p-map";
import { blockingRules, namedRules } from "../../../config/named-rules.ts";
import { AppError } from "../../../core/errors.ts";
import { type Finding, holdsSecret, isCertain, isUndisputed, worstFirst } from "../../../core/finding.ts";
import type { PostedFinding } from "../../../core/ledger/entry.ts";
import type { ChangedFile } from "../../../repo/diff-source.ts";
import { createUniqueIds, isSameFinding } from "../../anchor/fingerprint.ts";
import type { KnownChange, ReviewRun } from "../../loop/review-run.ts";
import { textOfRule } from "../../rules/named-rules.ts";
import type { DroppedFinding, LedgerUpdate, Resolution } from "../../shapes/review-result.ts";
import { type FindingGroup, mergedFinding, worseSeverity } from "../verify/merge.ts";
import { asDropped, type VerifiedFindings } from "../verify/verify-findings.ts";
import { certainPairs, underRuleOf } from "./compare-findings.ts";
import {
  type FollowedRun,
  findRepeats,
  headPath,
  needsCheck,
  type PriorFindings,
  type RelocatedFinding,
  type Repeats,
  readPriorFindings,
} from "./earlier.ts";
import { type PriorClaim, recheckFinding } from "./recheck.ts";

const CONCURRENCY = 4;

/** A rule match that a model rejected, or reported in its own words. */
export interface JudgedMatch {
  finding: Finding;
  /** The reason given on an earlier comment about it. */
  reason: string;
}

/** The new state of earlier findings. */
interface ResolvedFindings extends Pick<LedgerUpdate, "resolutions" | "settled"> {
  /** Carried findings that are still open, with their current standing. */
  carried: readonly RelocatedFinding[];
  /** Files with findings whose re-check did not run or finish. */
  due: ReadonlySet<string>;
}

type NewState = Pick<Resolution, "state" | "reason">;

/** An earlier finding whose code has changed. */
interface PendingRecheck {
  entry: PostedFinding;
  take(state: NewState): void;
}

/**
 * Re-checks earlier findings whose code has changed since the last review, the worst first. A finding that this run repeats is still
 * present. Certain findings are fixed if their analyzer no longer finds them, and no model is asked; only a model can find the others
 * fixed.
 *
 * @param model null if no model can be asked
 * @param judged rule matches of this run that a model judged: their earlier comments are withdrawn
 */
async function resolvePriorFindings(
  model: ReviewRun | null,
  run: FollowedRun,
  earlier: PriorFindings,
  repeats: Repeats,
  judged: readonly JudgedMatch[],
): Promise<ResolvedFindings> {
  const open: [PostedFinding, RelocatedFinding | null][] = [
    ...earlier.entries.filter(isOpenComment).map((entry): [PostedFinding, null] => [entry, null]),
    ...[...earlier.carried].filter(([, one]) => !repeats.replaced.has(one)),
  ];
  const repeated = new Set<unknown>([...repeats.posted.values(), ...repeats.carried.values()]);
  const isMoved = createSecretMoves(run, repeats);
  const resolutions: Resolution[] = [];
  const settled = new Map<RelocatedFinding, string>();
  const checks: PendingRecheck[] = [];
  const due = new Set<string>();
  for (const [entry, carried] of open) {
    const isRepeated = repeated.has(carried ?? entry);
    const take = ({ state, reason }: NewState) => {
      if (entry.comment !== null) resolutions.push({ comment: entry.comment, state, reason });
      else if (carried && (state === "fixed" || state === "withdrawn")) settled.set(carried, reason);
    };
    const state = isRepeated ? undefined : stateByRules(entry, run, earlier, judged);
    if (state)
      take(state.state === "fixed" && isMoved(entry) ? { state: "withdrawn", reason: MOVED } : state);
    else if (!isCertain(entry) && !carried?.hasCode && (await isToBeChecked(run, earlier, entry, due))) {
      if (isRepeated) take({ state: "present", reason: FOUND_AGAIN });
      else checks.push({ entry, take });
    }
  }
  await pMap(
    checks.toSorted((a, b) => worstFirst(a.entry, b.entry)),
    async ({ entry, take }) => {
      const checked = model && (await recheckFinding(model, claimOf(model, earlier, entry)));
      if (!checked?.ended) due.add(entry.path);
      if (checked) take(checked);
      else if (!fileOf(run.change, entry)) take({ state: "unsure", reason: NOT_LOOKED });
    },
    { concurrency: CONCURRENCY },
  );
  return {
    resolutions,
    due,
    settled: [...settled].map(([{ finding }, reason]) => ({
      path: finding.path,
      title: finding.title,
      reason,
    })),
    carried: open
      .flatMap(([, one]) => one ?? [])
      .filter((one) => !settled.has(one))
      .map((one) => (one.hasCode ? one : { ...one, standing: "listed", reason: CODE_CHANGED })),
  };
}

/** Whether a secret of the same rule is now at another place: then the earlier one is not fixed. */
function createSecretMoves({ change }: FollowedRun, { posted, carried }: Repeats) {
  const known = new Set([...posted.keys(), ...carried.keys()].map(({ id }) => id));
  const secrets = change.analysis.findings.filter((one) => holdsSecret(one) && !known.has(one.id));
  return ({ source }: PostedFinding) => secrets.some((one) => one.source === source);
}

/** The file of a finding at head; undefined if it is not part of the change any more. */
function fileOf({ files }: KnownChange, { path }: PostedFinding): ChangedFile | undefined {
  const name = headPath(files, path);
  return files.find(({ change }) => change.path === name);
}

/** The new state of an earlier finding that this run does not repeat; undefined if rules cannot tell. */
function stateByRules(
  one: PostedFinding,
  { change, deps }: FollowedRun,
  { facts }: PriorFindings,
  judged: readonly JudgedMatch[],
): NewState | undefined {
  const { files, analysis } = change;
  if (one.source === null || one.source === "model") return undefined;
  const isOne = (finding: Finding) =>
    finding.source === one.source && certainPairs([finding], [one], facts).has(finding);
  if (analysis.silenced.some(isOne)) return { state: "withdrawn", reason: SWITCHED_OFF };
  const judgement = judged.find(({ finding }) => isOne(finding));
  if (judgement) return { state: "withdrawn", reason: judgement.reason };
  if (!isCertain(one)) return undefined;
  const file = fileOf(change, one);
  if (!file) {
    const isUnknown = deps.isPrivate(headPath(files, one.path)) || files.some(isNewAndSkipped);
    return isUnknown ? undefined : { state: "fixed", reason: OUT_OF_CHANGE };
  }
  if (file.change.type === "deleted") return { state: "fixed", reason: "The file is deleted." };
  const [analyzer = ""] = one.source.split("/");
  const isUnknown = analysis.unfinished.some(
    ({ path, analyzers }) =>
      path === file.change.path && (analyzers.length === 0 || analyzers.includes(analyzer)),
  );
  return file.reviewable && !isUnknown ? { state: "fixed", reason: NOT_FOUND } : undefined;
}

/** A new file that no analyzer reads: it may hold the code of a file that left the change. */
const isNewAndSkipped = ({ change, reviewable }: ChangedFile) =>
  !reviewable && (change.type === "added" || change.type === "renamed") && (change.additions ?? 0) > 0;

const SWITCHED_OFF = "The configuration of the base branch switches this rule off.";
const OUT_OF_CHANGE = "The file is no longer part of the change.";
const MOVED = "A secret of the same kind is now at another place, which has a comment of its own.";
const NOT_FOUND = "The rule no longer matches.";

/** If something cannot be read, the next review re-checks. */
async function isToBeChecked(
  { change, deps }: FollowedRun,
  { facts }: PriorFindings,
  entry: PostedFinding,
  due: Set<string>,
): Promise<boolean> {
  try {
    return await needsCheck(change, deps.diffs, entry, facts.locationOf(entry));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    due.add(entry.path);
    return false;
  }
}

const FOUND_AGAIN = "This review found it again.";
const NOT_LOOKED = "Its file is no longer part of the change, and no model has checked it.";
const CODE_CHANGED = "the code that it was about has changed";

/** Whether a finding is open in a comment of ours. */
const isOpenComment = ({ state, comment }: PostedFinding) =>
  (state === "open" || state === "outdated") && comment !== null;

function claimOf(
  { change: { files }, input }: ReviewRun,
  { facts }: PriorFindings,
  entry: PostedFinding,
): PriorClaim {
  return {
    ...entry,
    loop: `recheck:${entry.comment ?? entry.id}`,
    path: headPath(files, entry.path),
    line: entry.original_line ?? entry.line,
    files: entry.files.map((file) => headPath(files, file)),
    place: facts.locationOf(entry),
    ruleText: textOfRule(namedRules(input.config), entry.rule),
  };
}

/** The result of the follow-up on earlier findings. */
export interface FollowUp extends Pick<LedgerUpdate, "repeats" | "resolutions" | "carried" | "settled"> {
  /** Files with earlier findings that the next review must re-check. */
  due: ReadonlySet<string>;
}

/** The findings of a run together with those of earlier runs. */
interface LaterFindings {
  findings: Finding[];
  quiet: ReadonlySet<string>;
  dropped: DroppedFinding[];
  ledger: FollowUp;
}

interface RoundFindings {
  groups: readonly FindingGroup[];
  judged: readonly JudgedMatch[];
  /** Reported in code that an earlier review has read; not kept. */
  readBefore: readonly Finding[];
  earlier: PriorFindings;
  /** Ids of findings of a cancelled review, which are reported although their code counts as reviewed. */
  unpublished: ReadonlySet<string>;
  /** Null if no model can be asked, or none any more. */
  model: ReviewRun | null;
  verify(fresh: readonly FindingGroup[]): Promise<VerifiedFindings>;
}

/**
 * Compares a run's findings with earlier ones, verifies only the new ones, and re-checks earlier findings whose code has changed. If no
 * model can be asked, rules compare, and nothing is re-checked.
 */
export async function laterFindings(run: FollowedRun, found: RoundFindings): Promise<LaterFindings> {
  const { earlier, model, readBefore } = found;
  const groups = new Map(found.groups.map((group) => [mergedFinding(group), group]));
  const repeats = await findRepeats(model, [...groups.keys()], earlier);
  const fresh = [...groups].flatMap(([one, group]) => (isRepeat(one, repeats) ? [] : [group]));
  const [verified, resolved] = await Promise.all([
    found.verify(fresh),
    resolvePriorFindings(model, run, earlier, repeats, found.judged),
  ]);
  const { kept, quiet, old } = await divide(run, verified.findings, found.unpublished);
  const isReported = (one: Finding) => found.groups.flat().some((other) => isSameFinding(other, one));
  const unreported = withoutKnown(readBefore, earlier).filter((one) => !isReported(one));
  // Without a model nobody has judged them.
  const [listed, dropped] = run.deps.models ? [quiet, old] : [[], [...quiet, ...old]];
  return {
    findings: [
      ...[...kept, ...listed],
      ...[...repeats.posted].map(asReportedEarlier),
      ...stillCarried(resolved, repeats),
    ],
    quiet: new Set(listed.map(({ id }) => id)),
    dropped: [...verified.dropped, ...[...dropped, ...unreported].map(asReadBefore)],
    ledger: ledgerOf(repeats, resolved),
  };
}

/** The same for a review without a model: nothing is verified. */
export async function laterFindingsOffline(
  run: FollowedRun,
  findings: readonly Finding[],
): Promise<LaterFindings> {
  const earlier = await readPriorFindings(run);
  const identify = createUniqueIds(new Set([...earlier.carried.values()].map(({ finding }) => finding.id)));
  const withId = (one: Finding) => ({ ...one, id: identify(one) });
  const own = findings.map(withId);
  const ids = new Set(own.map(({ id }) => id));
  const unpublished = earlier.unpublished.map(withId).filter(({ id }) => !ids.has(id));
  return laterFindings(run, {
    groups: [...own, ...unpublished].map((one): FindingGroup => [one]),
    judged: [],
    readBefore: [],
    earlier,
    unpublished: new Set(unpublished.map(({ id }) => id)),
    model: null,
    verify: async (groups) => ({ findings: groups.map(mergedFinding), dropped: [] }),
  });
}

/** With the rule of its comment. A finding that a person dismissed counts as judged. */
const asReportedEarlier = ([finding, earlier]: [Finding, PostedFinding]): Finding =>
  underRuleOf(
    earlier.state === "dismissed" && finding.verification === "not_judged"
      ? { ...finding, verification: "unverified" }
      : finding,
    earlier,
  );

const isRepeat = (finding: Finding, { posted, carried, restated }: Repeats) =>
  posted.has(finding) || carried.has(finding) || restated.has(finding);

/** Carried findings with the worse of their old severity and this run's. */
function stillCarried({ carried }: ResolvedFindings, repeats: Repeats): Finding[] {
  const again = new Map([...repeats.carried].map(([finding, one]) => [one.finding.id, finding]));
  return carried.map(({ finding }) => {
    const { severity } = finding;
    return { ...finding, severity: worseSeverity(finding, again.get(finding.id) ?? { severity }) };
  });
}

/**
 * Findings in reviewed code, without evidence in new code, are only reported if they are critical after verification or break a blocking
 * rule; a high one is listed. Undisputed findings are always reported.
 */
async function divide(
  { change: { known }, input }: FollowedRun,
  findings: readonly Finding[],
  unpublished: ReadonlySet<string>,
): Promise<{ kept: Finding[]; quiet: Finding[]; old: Finding[] }> {
  const blocking = blockingRules(input.config);
  const divided = { kept: [] as Finding[], quiet: [] as Finding[], old: [] as Finding[] };
  for (const one of findings) {
    const isRaised = one.severity === "critical" || (one.rule !== undefined && blocking.has(one.rule));
    const isOwed = isRaised || isUndisputed(one) || unpublished.has(one.id);
    const isOld = !isOwed && (await known.isOldNews(one).catch(falseIfUnreadable));
    divided[isOld ? (one.severity === "high" ? "quiet" : "old") : "kept"].push(one);
  }
  return divided;
}

/** If the diff cannot be read, the finding is reported. */
function falseIfUnreadable(error: unknown): false {
  if (error instanceof AppError) return false;
  throw error;
}

/** The findings that neither a comment nor a carried finding reports already. */
function withoutKnown(findings: readonly Finding[], { entries, carried, facts }: PriorFindings): Finding[] {
  const known = certainPairs(findings, [...entries, ...carried.keys()], facts);
  return [...new Map(findings.filter((one) => !known.has(one)).map((one) => [one.id, one])).values()];
}

const asReadBefore = (finding: Finding): DroppedFinding =>
  asDropped(
    finding,
    "read_before",
    "An earlier review has read this code, and the finding is neither critical nor high.",
  );

function ledgerOf(repeats: Repeats, { resolutions, carried, settled, due }: ResolvedFindings): FollowUp {
  return {
    repeats: [...repeats.posted].map(([{ id }, { comment }]) => ({ finding: id, comment })),
    resolutions,
    due,
    carried: carried.map(({ finding: { id }, standing, reason }) => ({ finding: id, standing, reason })),
    settled,
  };
}
