import pMap from "p-map";
import { AppError } from "../../errors.ts";
import { type Finding, isCertain, isUndisputed, type Severity, worstFirst } from "../../finding.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import { fingerprintIn, isSameFinding } from "../find/fingerprint.ts";
import type { PriorFinding } from "../review-input.ts";
import type { DroppedFinding, LedgerUpdate, Resolution } from "../review-result.ts";
import type { ReviewRun } from "../review-run.ts";
import { type FindingGroup, mergedFinding, worseSeverity } from "../verify/merge.ts";
import type { VerifiedFindings } from "../verify/verify-findings.ts";
import { certainPairs } from "./certain-pairs.ts";
import {
  type FollowedChange,
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

/** A rule match that a model judged: it rejected it, or reported it in its own words. */
export interface JudgedMatch {
  finding: Finding;
  /** What people are told of an earlier comment about it. */
  reason: string;
}

/** What became of earlier findings. */
interface ResolvedFindings extends Pick<LedgerUpdate, "resolutions" | "settled"> {
  /** Carried findings that go on, with the standing that they have now. */
  carried: readonly RelocatedFinding[];
  /** Files with findings that were to be looked at and were not, or not to the end. */
  due: ReadonlySet<string>;
}

/**
 * Looks at earlier findings whose code has changed since the last review, the worst first. What a finding of this run says
 * again is still there. Certain findings are fixed if their analyzer does not find them any more, and no model is asked about them;
 * the others are found fixed by a model only.
 *
 * @param run null if no model can be asked
 * @param judged rule matches of this run that a model judged: what was published of them before is withdrawn
 */
async function resolvePriorFindings(
  run: ReviewRun | null,
  change: FollowedChange,
  earlier: PriorFindings,
  repeats: Repeats,
  judged: readonly JudgedMatch[],
): Promise<ResolvedFindings> {
  const left = earlier.carried.filter((one) => !repeats.replaced.has(one));
  const repeated = new Set(repeats.posted.values());
  const told = new Map(
    unrepeated(earlier, repeats, left).flatMap((one) => {
      const state = whatRulesTell(one, change, earlier, judged);
      return state ? [[one, state]] : [];
    }),
  );
  const resolutions: Resolution[] = [];
  const checks: Check[] = [];
  const due = new Set<string>();
  for (const entry of earlier.entries.filter(isOpenComment)) {
    const state = told.get(entry);
    if (state) resolutions.push({ comment: entry.comment, ...state });
    if (state || isCertain(entry) || !(await isToBeChecked(change, earlier, entry, due))) continue;
    if (repeated.has(entry))
      resolutions.push({ comment: entry.comment, state: "present", reason: FOUND_AGAIN });
    else checks.push(checkOfEntry(change, earlier, entry, resolutions));
  }
  const settled = new Map<RelocatedFinding, string>();
  for (const [posted, one] of earlier.asPosted) {
    const state = told.get(posted);
    if (state) settled.set(one, state.reason);
    else if (isGone(one, left) && (await isToBeChecked(change, earlier, posted, due)))
      checks.push(checkOfCarried(one, settled));
  }
  await checkAll(run, checks, due);
  return {
    ...{ resolutions, due },
    settled: [...settled].map(([{ finding }, reason]) => ({
      ...{ path: finding.path, title: finding.title, reason },
    })),
    carried: left
      .filter((one) => !settled.has(one))
      .map((one) => (one.stands ? one : { ...one, standing: "listed", reason: CODE_CHANGED })),
  };
}

/** Earlier findings, with a comment of ours or carried, that this run does not find again. */
function unrepeated(
  { entries, asPosted }: PriorFindings,
  { posted, carried }: Repeats,
  left: readonly RelocatedFinding[],
): PriorFinding[] {
  const [repeated, goesOn] = [new Set(posted.values()), new Set(carried.values())];
  const open = [...asPosted].filter(([, one]) => left.includes(one) && !goesOn.has(one));
  return [
    ...entries.filter((entry) => isOpenComment(entry) && !repeated.has(entry)),
    ...open.map(([entry]) => entry),
  ];
}

/** Whether a carried finding's code is gone, and a model has to look whether the fault went with it. */
const isGone = (one: RelocatedFinding, left: readonly RelocatedFinding[]) =>
  left.includes(one) && !one.stands && !isCertain(one.finding);

/**
 * What becomes of an earlier finding that this run does not repeat, as far as no model has to look for it; undefined if that
 * cannot be told. What an analyzer did not look at to the end is not fixed.
 */
function whatRulesTell(
  one: PriorFinding,
  { files, candidates, ...change }: FollowedChange,
  { facts }: PriorFindings,
  judged: readonly JudgedMatch[],
): Pick<Resolution, "state" | "reason"> | undefined {
  if (one.source === null || one.source === "model") return undefined;
  const says = (finding: Finding) =>
    finding.source === one.source && certainPairs([finding], [one], facts).has(finding);
  if (candidates.silenced.some(says)) return { state: "withdrawn", reason: SWITCHED_OFF };
  const judgement = judged.find(({ finding }) => says(finding));
  if (judgement) return { state: "withdrawn", reason: judgement.reason };
  if (!isCertain(one)) return undefined;
  const path = headPath({ files }, one.path);
  const file = files.find((known) => known.change.path === path);
  if (!file)
    return change.deps.isPrivate(path) || files.some(isNewAndSkipped)
      ? undefined
      : { state: "fixed", reason: OUT_OF_CHANGE };
  const [analyzer = ""] = one.source.split("/");
  const isUnknown = candidates.unfinished.some(
    (left) => left.path === path && (left.analyzers.length === 0 || left.analyzers.includes(analyzer)),
  );
  if (file.change.type === "deleted") return { state: "fixed", reason: "The file is deleted." };
  return file.reviewable && !isUnknown ? { state: "fixed", reason: NOT_FOUND } : undefined;
}

/** No analyzer looks at it: the code of a file that left the change may stand there now. */
const isNewAndSkipped = ({ change, reviewable }: ChangedFile) =>
  !reviewable && (change.type === "added" || change.type === "renamed") && (change.additions ?? 0) > 0;

const SWITCHED_OFF = "The configuration of the base branch switches this rule off.";
const OUT_OF_CHANGE = "The file is not part of the change any more.";
const NOT_FOUND = "The rule does not match any more.";

/** What cannot be read now settles nothing; the next review looks again. */
async function isToBeChecked(
  change: FollowedChange,
  { facts }: PriorFindings,
  entry: PriorFinding,
  due: Set<string>,
): Promise<boolean> {
  try {
    return await needsCheck(change, entry, facts.locationOf(entry));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    due.add(entry.path);
    return false;
  }
}

/** The worst first. Without a model all of it waits for the next review. */
async function checkAll(run: ReviewRun | null, checks: readonly Check[], due: Set<string>): Promise<void> {
  await pMap(
    checks.toSorted(worstFirst),
    async ({ claim, path, take, withoutModel }) => {
      const checked = run && (await recheckFinding(run, claim));
      if (!checked?.ended) due.add(path);
      if (checked) take(checked);
      else withoutModel?.();
    },
    { concurrency: CONCURRENCY },
  );
}

const FOUND_AGAIN = "This review found it again.";
const NOT_LOOKED = "Its file is no longer part of the change, and no model has looked at it.";
const CODE_CHANGED = "the code that it was about has changed";

interface Check {
  claim: PriorClaim;
  /** As the finding names it. */
  path: string;
  severity: Severity;
  /** Said in its stead. */
  withoutModel?(): void;
  take(settlement: Pick<Resolution, "state" | "reason">): void;
}

type OwnEntry = PriorFinding & { comment: number };

/** Whether it is held against the change, in a comment of ours. */
const isOpenComment = (entry: PriorFinding): entry is OwnEntry =>
  (entry.state === "open" || entry.state === "outdated") && entry.comment !== null;

function isOutOfChange(change: FollowedChange, { path }: PriorFinding): boolean {
  const name = headPath(change, path);
  return !change.files.some((file) => file.change.path === name);
}

function checkOfEntry(
  change: FollowedChange,
  { facts }: PriorFindings,
  entry: OwnEntry,
  resolutions: Resolution[],
): Check {
  const { comment, path, side, line, original_line, symbol, title, text, files, severity } = entry;
  return {
    ...{ severity, path },
    withoutModel() {
      if (isOutOfChange(change, entry)) resolutions.push({ comment, state: "unsure", reason: NOT_LOOKED });
    },
    claim: {
      ...{ side, symbol, title, text },
      loop: `recheck:${comment}`,
      path: headPath(change, path),
      line: original_line ?? line,
      files: files.map((file) => headPath(change, file)),
      place: facts.locationOf(entry),
    },
    take: ({ state, reason }) => void resolutions.push({ comment, state, reason }),
  };
}

function checkOfCarried(one: RelocatedFinding, settled: Map<RelocatedFinding, string>): Check {
  const { id, path, side, line, symbol, title, body, evidence, severity } = one.finding;
  const files = [...new Set(evidence.map((shown) => shown.path).filter((file) => file !== path))];
  return {
    ...{ severity, path },
    claim: { ...{ path, side, line, symbol, title, files }, loop: `recheck:${id}`, text: body, place: null },
    take: ({ state, reason }) => void (state === "fixed" && settled.set(one, reason)),
  };
}

/** What a review says of earlier findings. */
export interface FollowUp extends Pick<LedgerUpdate, "repeats" | "resolutions" | "carried" | "settled"> {
  /** Files with earlier findings that the next review has to look at, whatever becomes of the files. */
  due: ReadonlySet<string>;
}

/** The findings of a run together with what earlier ones left. */
interface LaterFindings {
  findings: Finding[];
  dropped: DroppedFinding[];
  ledger: FollowUp;
}

interface Found {
  groups: readonly FindingGroup[];
  judged: readonly JudgedMatch[];
  /** Reported in code that an earlier review has read; not kept. */
  readBefore: readonly Finding[];
  earlier: PriorFindings;
  /** Ids of findings of a review that was called off: what it read counts as read, what it found is told. */
  unpublished: ReadonlySet<string>;
  /** No model can be asked any more. */
  isOver: boolean;
  /** Gives second looks to what is told for the first time. */
  verify(fresh: readonly FindingGroup[]): Promise<VerifiedFindings>;
}

/**
 * Compares what a run has found with what was told before: only what is new gets a second look, and beside that earlier
 * findings are looked at whose code has changed.
 */
export async function laterFindings(run: ReviewRun, found: Found): Promise<LaterFindings> {
  const { earlier, isOver, readBefore } = found;
  const asked = isOver ? null : run;
  const groups = new Map(found.groups.map((group) => [mergedFinding(group), group]));
  const repeats = await findRepeats(asked, [...groups.keys()], earlier);
  const fresh = [...groups].flatMap(([one, group]) => (isRepeat(one, repeats) ? [] : [group]));
  const [verified, settled] = await Promise.all([
    found.verify(fresh),
    resolvePriorFindings(asked, run, earlier, repeats, found.judged),
  ]);
  const { kept, old } = await divide(run, verified.findings, found.unpublished);
  const isTold = (one: Finding) => found.groups.flat().some((told) => isSameFinding(told, one));
  const untold = unsaid(readBefore, earlier).filter((one) => !isTold(one));
  return {
    findings: [...kept, ...[...repeats.posted].map(asJudgedByPeople), ...goingOn(settled, repeats)],
    dropped: [...verified.dropped, ...[...old, ...untold].map(asReadBefore)],
    ledger: ledgerOf(repeats, settled),
  };
}

/** The same for findings of the analyzers alone: no model compares or looks at anything. */
export async function laterFindingsOffline(
  change: FollowedChange,
  findings: readonly Finding[],
): Promise<LaterFindings> {
  const earlier = await readPriorFindings(change);
  const taken = new Set(earlier.carried.map(({ finding }) => finding.id));
  const withFree = (all: readonly Finding[]) => all.map((one) => withFreeId(one, taken));
  const [own, unpublished] = [withFree(findings), withFree(earlier.unpublished)];
  const repeats = await findRepeats(null, [...own, ...unpublished], earlier);
  const settled = await resolvePriorFindings(null, change, earlier, repeats, []);
  const fresh = [...own, ...unpublished].filter((one) => !isRepeat(one, repeats));
  const { kept, old } = await divide(change, fresh, new Set(unpublished.map(({ id }) => id)));
  return {
    findings: [...kept, ...repeats.posted.keys(), ...goingOn(settled, repeats)],
    dropped: old.map(asReadBefore),
    ledger: ledgerOf(repeats, settled),
  };
}

/** What a person dismissed is judged, whatever no model said of it. */
const asJudgedByPeople = ([finding, earlier]: [Finding, PriorFinding]): Finding =>
  earlier.state === "dismissed" && finding.verification === "not_judged"
    ? { ...finding, verification: "unverified" }
    : finding;

const isRepeat = (finding: Finding, { posted, carried, restated }: Repeats) =>
  posted.has(finding) || carried.has(finding) || restated.has(finding);

/** Carried findings as they are told now: as bad as this run finds them, and no milder than they were. */
function goingOn({ carried }: ResolvedFindings, repeats: Repeats): Finding[] {
  const again = new Map([...repeats.carried].map(([finding, one]) => [one.finding.id, finding]));
  return carried.map(({ finding }) => {
    const { severity } = finding;
    return { ...finding, severity: worseSeverity(finding, again.get(finding.id) ?? { severity }) };
  });
}

/**
 * Findings in code that an earlier review has read are raised only if they are critical, also after the second look. Those that no
 * model has a say in are raised in any case.
 */
async function divide(
  { isFirst, known }: FollowedChange,
  findings: readonly Finding[],
  unpublished: ReadonlySet<string>,
): Promise<{ kept: Finding[]; old: Finding[] }> {
  const kept: Finding[] = [];
  const old: Finding[] = [];
  for (const one of findings) {
    const isRaised = isFirst || one.severity === "critical" || isUndisputed(one) || unpublished.has(one.id);
    const isOld = !isRaised && (await known.isKnownLine(one.path, one.side, one.line).catch(notTold));
    (isOld ? old : kept).push(one);
  }
  return { kept, old };
}

/** Where the diff cannot be read, nobody is to miss a finding. */
function notTold(error: unknown): false {
  if (error instanceof AppError) return false;
  throw error;
}

/** What neither an earlier comment nor a carried finding says: the rest has been told. */
function unsaid(findings: readonly Finding[], { entries, asPosted, facts }: PriorFindings): Finding[] {
  const said = certainPairs(findings, [...entries, ...asPosted.keys()], facts);
  const byId = new Map(findings.filter((one) => !said.has(one)).map((one) => [one.id, one]));
  return [...byId.values()];
}

const asReadBefore = ({ id, path, line, title }: Finding): DroppedFinding => ({
  ...{ id, path, line, title },
  verdict: "read_before",
  reason: "It is in code that an earlier review has read, and it is not critical.",
  rule: null,
});

function ledgerOf(repeats: Repeats, { resolutions, carried, settled, due }: ResolvedFindings): FollowUp {
  return {
    repeats: [...repeats.posted].map(([{ id }, { comment }]) => ({ finding: id, comment })),
    ...{ resolutions, due },
    carried: carried.map(({ finding: { id }, standing, reason }) => ({ finding: id, standing, reason })),
    settled,
  };
}

/** Ids are unique in a result. */
function withFreeId(finding: Finding, taken: Set<string>): Finding {
  const base = fingerprintIn(finding.id);
  let id = finding.id;
  for (let ordinal = 2; taken.has(id); ordinal++) id = `${base}-${ordinal}`;
  taken.add(id);
  return id === finding.id ? finding : { ...finding, id };
}
