import pMap from "p-map";
import { blockingRules, namedRules } from "../../../config/named-rules.ts";
import { AppError } from "../../../core/errors.ts";
import { type Finding, holdsSecret, isCertain, isUndisputed, worstFirst } from "../../../core/finding.ts";
import type { PostedFinding } from "../../../core/ledger/entry.ts";
import type { ChangedFile } from "../../../repo/diff-source.ts";
import { createUniqueIds, isSameFinding } from "../../anchor/fingerprint.ts";
import type { LineRange } from "../../anchor/quote.ts";
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

/** Checks at the same time. */
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

/**
 * Re-checks earlier findings whose code has changed since the last review, the worst first. A finding that this run repeats is still
 * present. Certain findings are fixed if their analyzer no longer finds them, and no model is asked; only a model can find the others
 * fixed.
 *
 * @param run null if no model can be asked
 * @param judged rule matches of this run that a model judged: their earlier comments are withdrawn
 */
async function resolvePriorFindings(
  run: ReviewRun | null,
  followed: FollowedRun,
  earlier: PriorFindings,
  repeats: Repeats,
  judged: readonly JudgedMatch[],
): Promise<ResolvedFindings> {
  const left = [...earlier.carried].filter(([, one]) => !repeats.replaced.has(one));
  const repeated = new Set(repeats.posted.values());
  const known = new Set([...repeats.posted.keys(), ...repeats.carried.keys()].map(({ id }) => id));
  const secrets = followed.change.analysis.findings.filter((one) => holdsSecret(one) && !known.has(one.id));
  const isMoved = ({ source }: PostedFinding) => secrets.some((one) => one.source === source);
  const told = new Map(
    unrepeated(earlier, repeats, left).flatMap((one) => {
      const state = whatRulesTell(one, followed, earlier, judged);
      if (state?.state === "fixed" && isMoved(one))
        return [[one, { state: "withdrawn" as const, reason: MOVED }]];
      return state ? [[one, state]] : [];
    }),
  );
  const resolutions: Resolution[] = [];
  const checks: PendingRecheck[] = [];
  const due = new Set<string>();
  for (const entry of earlier.entries.filter(isOpenComment)) {
    const state = told.get(entry);
    if (state) resolutions.push({ comment: entry.comment, ...state });
    if (state || isCertain(entry) || !(await isToBeChecked(followed, earlier, entry, due))) continue;
    if (repeated.has(entry))
      resolutions.push({ comment: entry.comment, state: "present", reason: FOUND_AGAIN });
    else checks.push(checkOfComment(followed.change, earlier, entry, resolutions));
  }
  const settled = new Map<RelocatedFinding, string>();
  for (const [posted, one] of left) {
    const state = told.get(posted);
    if (state) settled.set(one, state.reason);
    else if (!one.stands && !isCertain(posted) && (await isToBeChecked(followed, earlier, posted, due)))
      checks.push({
        entry: posted,
        claim: claimOf(followed.change, posted, null),
        take: ({ state: now, reason }) => void (now === "fixed" && settled.set(one, reason)),
      });
  }
  await checkAll(run, checks, due);
  return {
    resolutions,
    due,
    settled: [...settled].map(
      ([
        {
          finding: { path, title },
        },
        reason,
      ]) => ({ path, title, reason }),
    ),
    carried: left
      .map(([, one]) => one)
      .filter((one) => !settled.has(one))
      .map((one) => (one.stands ? one : { ...one, standing: "listed", reason: CODE_CHANGED })),
  };
}

/** Open earlier findings, posted or carried, that this run does not repeat. */
function unrepeated(
  { entries }: PriorFindings,
  { posted, carried }: Repeats,
  left: readonly (readonly [PostedFinding, RelocatedFinding])[],
): PostedFinding[] {
  const [repeated, goesOn] = [new Set(posted.values()), new Set(carried.values())];
  const open = left.filter(([, one]) => !goesOn.has(one));
  return [
    ...entries.filter((entry) => isOpenComment(entry) && !repeated.has(entry)),
    ...open.map(([entry]) => entry),
  ];
}

/**
 * The new state of an earlier finding that this run does not repeat, if rules can tell; else undefined. If the analyzer did not finish
 * on the file, the finding is not fixed.
 */
function whatRulesTell(
  one: PostedFinding,
  { change: { files, analysis }, deps }: FollowedRun,
  { facts }: PriorFindings,
  judged: readonly JudgedMatch[],
): Pick<Resolution, "state" | "reason"> | undefined {
  if (one.source === null || one.source === "model") return undefined;
  const says = (finding: Finding) =>
    finding.source === one.source && certainPairs([finding], [one], facts).has(finding);
  if (analysis.silenced.some(says)) return { state: "withdrawn", reason: SWITCHED_OFF };
  const judgement = judged.find(({ finding }) => says(finding));
  if (judgement) return { state: "withdrawn", reason: judgement.reason };
  if (!isCertain(one)) return undefined;
  const path = headPath(files, one.path);
  const file = files.find((known) => known.change.path === path);
  if (!file)
    return deps.isPrivate(path) || files.some(isNewAndSkipped)
      ? undefined
      : { state: "fixed", reason: OUT_OF_CHANGE };
  const [analyzer = ""] = one.source.split("/");
  const isUnknown = analysis.unfinished.some(
    (left) => left.path === path && (left.analyzers.length === 0 || left.analyzers.includes(analyzer)),
  );
  if (file.change.type === "deleted") return { state: "fixed", reason: "The file is deleted." };
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

/** Runs the checks, the worst first. Without a model, they are due in the next review. */
async function checkAll(
  run: ReviewRun | null,
  checks: readonly PendingRecheck[],
  due: Set<string>,
): Promise<void> {
  await pMap(
    checks.toSorted((a, b) => worstFirst(a.entry, b.entry)),
    async ({ entry: { path, rule }, claim, take, withoutModel }) => {
      const checked =
        run &&
        (await recheckFinding(run, { ...claim, ruleText: textOfRule(namedRules(run.input.config), rule) }));
      if (!checked?.ended) due.add(path);
      if (checked) take(checked);
      else withoutModel?.();
    },
    { concurrency: CONCURRENCY },
  );
}

const FOUND_AGAIN = "This review found it again.";
const NOT_LOOKED = "Its file is no longer part of the change, and no model has checked it.";
const CODE_CHANGED = "the code that it was about has changed";

interface PendingRecheck {
  entry: PostedFinding;
  claim: PriorClaim;
  /** Called if no model can check. */
  withoutModel?(): void;
  take(settlement: Pick<Resolution, "state" | "reason">): void;
}

type OwnEntry = PostedFinding & { comment: number };

/** Whether a finding is open in a comment of ours. */
const isOpenComment = (entry: PostedFinding): entry is OwnEntry =>
  (entry.state === "open" || entry.state === "outdated") && entry.comment !== null;

function isOutOfChange({ files }: KnownChange, { path }: PostedFinding): boolean {
  const name = headPath(files, path);
  return !files.some((file) => file.change.path === name);
}

function checkOfComment(
  change: KnownChange,
  { facts }: PriorFindings,
  entry: OwnEntry,
  resolutions: Resolution[],
): PendingRecheck {
  const { comment } = entry;
  return {
    entry,
    claim: claimOf(change, entry, facts.locationOf(entry)),
    withoutModel() {
      if (isOutOfChange(change, entry)) resolutions.push({ comment, state: "unsure", reason: NOT_LOOKED });
    },
    take: ({ state, reason }) => void resolutions.push({ comment, state, reason }),
  };
}

const claimOf = ({ files }: KnownChange, entry: PostedFinding, place: LineRange | null): PriorClaim => ({
  ...entry,
  loop: `recheck:${entry.comment ?? entry.id}`,
  path: headPath(files, entry.path),
  line: entry.original_line ?? entry.line,
  files: entry.files.map((file) => headPath(files, file)),
  place,
});

/** The result of the follow-up on earlier findings. */
export interface FollowUp extends Pick<LedgerUpdate, "repeats" | "resolutions" | "carried" | "settled"> {
  /** Files with earlier findings that the next review must re-check. */
  due: ReadonlySet<string>;
}

/** The findings of a run together with those of earlier runs. */
interface LaterFindings {
  findings: Finding[];
  /** Ids of findings that are listed and make no comment. */
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
  /** True if no model can be asked any more. */
  isOver: boolean;
  /** Verifies new findings. */
  verify(fresh: readonly FindingGroup[]): Promise<VerifiedFindings>;
}

/** Compares a run's findings with earlier ones, verifies only the new ones, and re-checks earlier findings whose code has changed. */
export async function laterFindings(run: ReviewRun, found: RoundFindings): Promise<LaterFindings> {
  const { earlier, isOver, readBefore } = found;
  const asked = isOver ? null : run;
  const groups = new Map(found.groups.map((group) => [mergedFinding(group), group]));
  const repeats = await findRepeats(asked, [...groups.keys()], earlier);
  const fresh = [...groups].flatMap(([one, group]) => (isRepeat(one, repeats) ? [] : [group]));
  const [verified, settled] = await Promise.all([
    found.verify(fresh),
    resolvePriorFindings(asked, run, earlier, repeats, found.judged),
  ]);
  const { kept, quiet, old } = await divide(
    run.change,
    verified.findings,
    found.unpublished,
    blockingRules(run.input.config),
  );
  const isTold = (one: Finding) => found.groups.flat().some((told) => isSameFinding(told, one));
  const untold = unsaid(readBefore, earlier).filter((one) => !isTold(one));
  return {
    findings: [...kept, ...quiet, ...[...repeats.posted].map(asToldEarlier), ...goingOn(settled, repeats)],
    quiet: new Set(quiet.map(({ id }) => id)),
    dropped: [...verified.dropped, ...[...old, ...untold].map(asReadBefore)],
    ledger: ledgerOf(repeats, settled),
  };
}

/** The same without a model: rules compare, and nothing is verified or re-checked. */
export async function laterFindingsOffline(
  run: FollowedRun,
  findings: readonly Finding[],
): Promise<LaterFindings> {
  const earlier = await readPriorFindings(run);
  const identify = createUniqueIds(new Set([...earlier.carried.values()].map(({ finding }) => finding.id)));
  const withId = (one: Finding) => ({ ...one, id: identify(one) });
  const own = findings.map(withId);
  const found = new Set(own.map(({ id }) => id));
  const unpublished = earlier.unpublished.map(withId).filter(({ id }) => !found.has(id));
  const repeats = await findRepeats(null, [...own, ...unpublished], earlier);
  const settled = await resolvePriorFindings(null, run, earlier, repeats, []);
  const fresh = [...own, ...unpublished].filter((one) => !isRepeat(one, repeats));
  const { kept, quiet, old } = await divide(run.change, fresh, new Set(unpublished.map(({ id }) => id)));
  return {
    quiet: new Set(),
    findings: [
      ...kept,
      ...[...repeats.posted].map((pair) => underRuleOf(...pair)),
      ...goingOn(settled, repeats),
    ],
    // Nobody has judged them.
    dropped: [...quiet, ...old].map(asReadBefore),
    ledger: ledgerOf(repeats, settled),
  };
}

/** With the rule of its comment. A finding that a person dismissed counts as judged. */
const asToldEarlier = ([finding, earlier]: [Finding, PostedFinding]): Finding =>
  underRuleOf(
    earlier.state === "dismissed" && finding.verification === "not_judged"
      ? { ...finding, verification: "unverified" }
      : finding,
    earlier,
  );

const isRepeat = (finding: Finding, { posted, carried, restated }: Repeats) =>
  posted.has(finding) || carried.has(finding) || restated.has(finding);

/** Carried findings with the worse of their old severity and this run's. */
function goingOn({ carried }: ResolvedFindings, repeats: Repeats): Finding[] {
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
  { known }: KnownChange,
  findings: readonly Finding[],
  unpublished: ReadonlySet<string>,
  blocking: ReadonlySet<string> = new Set(),
): Promise<{ kept: Finding[]; quiet: Finding[]; old: Finding[] }> {
  const divided = { kept: [] as Finding[], quiet: [] as Finding[], old: [] as Finding[] };
  for (const one of findings) {
    const isRaised = one.severity === "critical" || (one.rule !== undefined && blocking.has(one.rule));
    const isOwed = isRaised || isUndisputed(one) || unpublished.has(one.id);
    const isOld = !isOwed && (await known.isOldNews(one).catch(notTold));
    divided[isOld ? (one.severity === "high" ? "quiet" : "old") : "kept"].push(one);
  }
  return divided;
}

/** If the diff cannot be read, the finding is reported. */
function notTold(error: unknown): false {
  if (error instanceof AppError) return false;
  throw error;
}

/** The findings that neither a comment nor a carried finding reports already. */
function unsaid(findings: readonly Finding[], { entries, carried, facts }: PriorFindings): Finding[] {
  const said = certainPairs(findings, [...entries, ...carried.keys()], facts);
  const byId = new Map(findings.filter((one) => !said.has(one)).map((one) => [one.id, one]));
  return [...byId.values()];
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
