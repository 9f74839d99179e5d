import pMap from "p-map";
import { blockingRules, namedRules } from "../../../config/named-rules.ts";
import { AppError } from "../../../core/errors.ts";
import { type Finding, holdsSecret, isCertain, isUndisputed, worstFirst } from "../../../core/finding.ts";
import { codeHash, type PostedFinding, withoutComment } from "../../../core/ledger/entry.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import { resolveAnchor } from "../../anchor/anchor.ts";
import { createUniqueIds, isSameFinding } from "../../anchor/fingerprint.ts";
import type { LineRange } from "../../anchor/quote.ts";
import { withCheckedSuggestion } from "../../anchor/suggestion/check-suggestion.ts";
import { definitionNamed, definitionOf } from "../../anchor/symbols.ts";
import type { AnalyzedRun, KnownChange, ReviewRun } from "../../loop/review-run.ts";
import { textOfRule } from "../../rules/named-rules.ts";
import type { DroppedFinding, LedgerUpdate, Resolution } from "../../shapes/review-result.ts";
import { type FindingGroup, mergedFinding, worseSeverity } from "../verify/merge.ts";
import { asDropped, type VerifiedFindings } from "../verify/verify-findings.ts";
import {
  certainPairs,
  compareFindings,
  type PriorLocations,
  readFacts,
  underRuleOf,
} from "./compare-findings.ts";
import { type PriorClaim, recheckFinding } from "./recheck.ts";

/** A change within this distance may fix a finding. */
const NEAR_LINES = 15;

/**
 * Whether an earlier finding must be re-checked, because since the last review: its file lost a reviewed change; its definition or
 * the lines near it have new code (anywhere in the file, if its own code is gone); or a file in its evidence has changed. If no
 * earlier review is remembered: whether its code is gone.
 *
 * @param place where its code is now; null if it is gone
 */
export async function needsCheck(
  change: KnownChange,
  diffs: Pick<DiffSource, "fileDiff">,
  earlier: PostedFinding,
  place: LineRange | null,
): Promise<boolean> {
  const { known, files: changed } = change;
  if (known.isFirst) return earlier.state === "outdated" || (place === null && earlier.code !== null);
  const [path = earlier.path, ...files] = [earlier.path, ...earlier.files].map((one) =>
    headPath(changed, one),
  );
  if (known.hasLost(path) || files.some((file) => known.hasNew(file) || known.hasLost(file))) return true;
  if (!known.hasNew(path)) return false;
  return place === null || hasNewNear(change, diffs, path, earlier, place);
}

function headPath(files: readonly ChangedFile[], path: string): string {
  const file =
    files.find(({ change }) => change.path === path) ?? files.find(({ change }) => change.oldPath === path);
  return file?.change.path ?? path;
}

async function hasNewNear(
  { files, known, anchorFile }: KnownChange,
  diffs: Pick<DiffSource, "fileDiff">,
  path: string,
  earlier: PostedFinding,
  place: LineRange,
): Promise<boolean> {
  const file = files.find(({ change }) => change.path === path);
  if (!file) return false;
  const around = await aroundOf(anchorFile, earlier, place);
  const read = known.known(path);
  const { hunks } = await diffs.fileDiff(file.change, 3);
  return hunks.some((hunk, at) => {
    const [start, lines] =
      earlier.side === "RIGHT" ? [hunk.newStart, hunk.newLines] : [hunk.oldStart, hunk.oldLines];
    return !read.has(at + 1) && start <= around.end && around.start <= start + Math.max(1, lines) - 1;
  });
}

async function aroundOf(
  anchorFile: KnownChange["anchorFile"],
  { path, side, symbol }: PostedFinding,
  { start, end }: LineRange,
): Promise<LineRange> {
  const near = { start: start - NEAR_LINES, end: end + NEAR_LINES };
  const file = await anchorFile(path);
  const lines = file?.lines[side] ?? null;
  const definition =
    file && symbol !== null
      ? await definitionNamed(file.path, lines, symbol, end)
      : file && (await definitionOf(file.path, lines, end));
  if (!definition) return near;
  return { start: Math.min(near.start, definition.start), end: Math.max(near.end, definition.end) };
}

/** A finding without a comment, which the state carries from review to review. */
interface RelocatedFinding {
  /** At the current lines of its code, or unchanged if the code is gone. */
  finding: Finding;
  standing: "listed" | "annotated" | "dismissed";
  reason: string;
  hasCode: boolean;
}

/** The finding at the current lines of its quote; null if the quote is gone. */
async function anchoredNow({ anchorFile, known }: KnownChange, finding: Finding): Promise<Finding | null> {
  const file = await anchorFile(finding.path);
  if (!file) return null;
  // The code of a secret is not kept. If everything in its file was reviewed, nothing has changed.
  if (finding.quote === "") return known.hasNew(file.path) || known.hasLost(file.path) ? null : finding;
  const resolved = resolveAnchor(file, finding);
  if (!resolved.ok || resolved.anchor.side !== finding.side) return null;
  const { line, start_line, quote } = resolved.anchor;
  if (codeHash(quote) !== codeHash(finding.quote)) return null;
  const moved = { ...finding, path: file.path, line, start_line, quote };
  if (moved.suggestion === null) return moved;
  return { ...moved, ...(await withCheckedSuggestion(moved, file)).finding };
}

interface PriorFindings {
  entries: readonly PostedFinding[];
  /** Findings without a comment, each by its shape as a posted one, for comparison. */
  carried: ReadonlyMap<PostedFinding, RelocatedFinding>;
  /** Findings of a canceled review whose code is still there. They count as this one's. */
  unpublished: readonly Finding[];
  facts: PriorLocations;
}

/** Reads the findings of earlier reviews, without those in private files, and dismissed ones whose code is gone. */
export async function readPriorFindings({ input, deps, change }: AnalyzedRun): Promise<PriorFindings> {
  const entries = (input.pull?.earlier ?? []).filter(({ path }) => !deps.isPrivate(path));
  const unpublished: Finding[] = [];
  const byId = new Map<string, RelocatedFinding>();
  for (const { finding, standing, reason } of input.history?.carried ?? []) {
    if (deps.isPrivate(finding.path)) continue;
    const now = await anchoredNow(change, finding);
    if (standing === "unpublished") {
      if (now) unpublished.push({ ...now, verification: "unverified", verification_note: null });
    } else if (!byId.has(finding.id) && (now !== null || standing !== "dismissed"))
      byId.set(finding.id, { finding: now ?? finding, standing, reason, hasCode: now !== null });
  }
  const carried = new Map([...byId.values()].map((one) => [asPosted(one), one]));
  const facts = await readFacts(change, [...entries, ...carried.keys()]);
  return { entries, carried, unpublished, facts };
}

function asPosted({ finding, standing, hasCode }: RelocatedFinding): PostedFinding {
  return {
    ...withoutComment,
    ...finding,
    ...(!hasCode && { line: null, start_line: null }),
    original_line: finding.line,
    code: finding.quote === "" ? null : codeHash(finding.quote),
    files: [...new Set(finding.evidence.map(({ path }) => path))].filter((path) => path !== finding.path),
    text: finding.body,
    state: standing === "dismissed" ? standing : hasCode ? "open" : "outdated",
  };
}

interface Repeats {
  /** Each finding with the comment that it repeats; no comment occurs twice. */
  posted: ReadonlyMap<Finding, PostedFinding>;
  /** Each finding with the carried finding that replaces it, if that one's code is still there. */
  carried: ReadonlyMap<Finding, RelocatedFinding>;
  /** Further restatements of a dismissed finding, after the first. */
  restated: ReadonlySet<Finding>;
  /** Carried findings whose code is gone, replaced by findings of this run. */
  replaced: ReadonlySet<RelocatedFinding>;
}

/** @param run null if no model can be asked */
async function findRepeats(
  run: ReviewRun | null,
  findings: readonly Finding[],
  earlier: PriorFindings,
): Promise<Repeats> {
  const known = [...earlier.entries, ...earlier.carried.keys()];
  const all = await compareFindings(run, findings, known, earlier.facts);
  const posted = new Map<Finding, PostedFinding>();
  const carried = new Map<Finding, RelocatedFinding>();
  const replaced = new Set<RelocatedFinding>();
  const restated = new Set<Finding>();
  const repeated = new Set<PostedFinding>();
  for (const [finding, entry] of all) {
    const kept = earlier.carried.get(entry);
    if (repeated.has(entry)) restated.add(finding);
    else if (kept?.hasCode) carried.set(finding, kept);
    else if (kept) replaced.add(kept);
    else posted.set(finding, entry);
    repeated.add(entry);
  }
  return { posted, carried, restated, replaced };
}

const CONCURRENCY = 4;

/** A rule match that a model rejected, or reported in its own words. */
export interface JudgedMatch {
  finding: Finding;
  /** The reason given on an earlier comment about it. */
  reason: string;
}

interface ResolvedFindings extends Pick<LedgerUpdate, "resolutions" | "settled"> {
  /** Carried findings that are still open, with their current standing. */
  carried: readonly RelocatedFinding[];
  /** Files with findings whose re-check did not run or finish. */
  due: ReadonlySet<string>;
}

type NewState = Pick<Resolution, "state" | "reason">;

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
  run: AnalyzedRun,
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
  const checks: { entry: PostedFinding; take(state: NewState): void }[] = [];
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
function createSecretMoves({ change }: AnalyzedRun, { posted, carried }: Repeats) {
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
  { change, deps }: AnalyzedRun,
  { facts }: PriorFindings,
  judged: readonly JudgedMatch[],
): NewState | undefined {
  const { files, analysis } = change;
  if (one.source === null || one.source === "model") return undefined;
  const isOne = (finding: Finding) =>
    finding.source === one.source && certainPairs([finding], [one], facts).has(finding);
  if (analysis.silenced.some(isOne)) return { state: "withdrawn", reason: SWITCHED_OFF };
  const judgment = judged.find(({ finding }) => isOne(finding));
  if (judgment) return { state: "withdrawn", reason: judgment.reason };
  if (!isCertain(one)) return undefined;
  const file = fileOf(change, one);
  if (!file) {
    const isUnknown = deps.isPrivate(headPath(files, one.path)) || files.some(isNewAndSkipped);
    return isUnknown ? undefined : { state: "fixed", reason: OUT_OF_CHANGE };
  }
  if (file.change.type === "deleted") return { state: "fixed", reason: "The file is deleted." };
  const [analyzer = ""] = one.source.split("/");
  // If the analyzer did not finish on the file, the finding is not fixed.
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
  { change, deps }: AnalyzedRun,
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

export interface FollowUp extends Pick<LedgerUpdate, "repeats" | "resolutions" | "carried" | "settled"> {
  /** Files with earlier findings that the next review must re-check. */
  due: ReadonlySet<string>;
}

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
  /** Ids of findings of a canceled review, which are reported although their code counts as reviewed. */
  unpublished: ReadonlySet<string>;
  /** Null if no model can be asked, or none any more. */
  model: ReviewRun | null;
  verify(fresh: readonly FindingGroup[]): Promise<VerifiedFindings>;
}

/** Verifies only new findings. If no model can be asked, rules compare, and nothing is re-checked. */
export async function laterFindings(run: AnalyzedRun, found: RoundFindings): Promise<LaterFindings> {
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
  run: AnalyzedRun,
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
  { change: { known }, input }: AnalyzedRun,
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
