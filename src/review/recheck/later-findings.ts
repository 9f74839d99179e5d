import { AppError } from "../../errors.ts";
import { type Finding, isUndisputed } from "../../finding.ts";
import { certainPairs } from "../compare/certain-pairs.ts";
import { fingerprintIn } from "../fingerprint.ts";
import { asOne, type Group, worse } from "../merge/join.ts";
import { isSameFault } from "../merge/same-fault.ts";
import type { EarlierFinding } from "../review-input.ts";
import type { DroppedFinding, LedgerUpdate } from "../review-result.ts";
import type { ReviewRun } from "../review-run.ts";
import type { Verified } from "../verify/verify-findings.ts";
import { type Earlier, findRepeats, type LaterChange, type Repeats, readEarlier } from "./earlier.ts";
import { type JudgedMatch, type Settled, settleEarlier } from "./settle-earlier.ts";

/** What a review says of earlier findings. */
export interface FindingsLedger
  extends Pick<LedgerUpdate, "repeats" | "resolutions" | "carried" | "settled"> {
  /** Files with earlier findings that the next review has to look at, whatever becomes of the files. */
  due: ReadonlySet<string>;
}

/** The findings of a run together with what earlier ones left. */
export interface LaterFindings {
  findings: Finding[];
  dropped: DroppedFinding[];
  ledger: FindingsLedger;
}

interface Found {
  groups: readonly Group[];
  judged: readonly JudgedMatch[];
  /** Reported of code that an earlier review has read; not kept. */
  readBefore: readonly Finding[];
  earlier: Earlier;
  /** Ids of findings of a review that was called off: what it read counts as read, what it found is told. */
  unpublished: ReadonlySet<string>;
  /** No model can be asked any more. */
  isOver: boolean;
  /** Gives second looks to what is told for the first time. */
  verify(fresh: readonly Group[]): Promise<Verified>;
}

/**
 * Compares what a run has found with what was told before: only what is new gets a second look, and beside that earlier
 * findings are looked at whose code has changed.
 */
export async function laterFindings(run: ReviewRun, found: Found): Promise<LaterFindings> {
  const { earlier, isOver, readBefore } = found;
  const asked = isOver ? null : run;
  const groups = new Map(found.groups.map((group) => [asOne(group), group]));
  const repeats = await findRepeats(asked, [...groups.keys()], earlier);
  const fresh = [...groups].flatMap(([one, group]) => (isRepeat(one, repeats) ? [] : [group]));
  const [verified, settled] = await Promise.all([
    found.verify(fresh),
    settleEarlier(asked, run, earlier, repeats, found.judged),
  ]);
  const { kept, old } = await divide(run, verified.findings, found.unpublished);
  const isTold = (one: Finding) => found.groups.flat().some((told) => isSameFault(told, one));
  const untold = unsaid(readBefore, earlier).filter((one) => !isTold(one));
  return {
    findings: [...kept, ...[...repeats.posted].map(asJudgedByPeople), ...goingOn(settled, repeats)],
    dropped: [...verified.dropped, ...[...old, ...untold].map(asReadBefore)],
    ledger: ledgerOf(repeats, settled),
  };
}

/** The same for findings of the analyzers alone: no model compares or looks at anything. */
export async function laterFindingsOffline(
  change: LaterChange,
  findings: readonly Finding[],
): Promise<LaterFindings> {
  const earlier = await readEarlier(change);
  const taken = new Set(earlier.carried.map(({ finding }) => finding.id));
  const withFree = (all: readonly Finding[]) => all.map((one) => withFreeId(one, taken));
  const [own, unpublished] = [withFree(findings), withFree(earlier.unpublished)];
  const repeats = await findRepeats(null, [...own, ...unpublished], earlier);
  const settled = await settleEarlier(null, change, earlier, repeats, []);
  const fresh = [...own, ...unpublished].filter((one) => !isRepeat(one, repeats));
  const { kept, old } = await divide(change, fresh, new Set(unpublished.map(({ id }) => id)));
  return {
    findings: [...kept, ...repeats.posted.keys(), ...goingOn(settled, repeats)],
    dropped: old.map(asReadBefore),
    ledger: ledgerOf(repeats, settled),
  };
}

/** What a person dismissed is judged, whatever no model said of it. */
const asJudgedByPeople = ([finding, earlier]: [Finding, EarlierFinding]): Finding =>
  earlier.state === "dismissed" && finding.verification === "not_judged"
    ? { ...finding, verification: "unverified" }
    : finding;

const isRepeat = (finding: Finding, { posted, carried, restated }: Repeats) =>
  posted.has(finding) || carried.has(finding) || restated.has(finding);

/** Carried findings as they are told now: as bad as this run finds them, and no milder than they were. */
function goingOn({ carried }: Settled, repeats: Repeats): Finding[] {
  const again = new Map([...repeats.carried].map(([finding, one]) => [one.finding.id, finding]));
  return carried.map(({ finding }) => {
    const { severity } = finding;
    return { ...finding, severity: worse(finding, again.get(finding.id) ?? { severity }) };
  });
}

/**
 * Findings in code that an earlier review has read are raised only if they are critical, also after the second look. Those that no
 * model has a say in are raised in any case.
 */
async function divide(
  { isFirst, known }: LaterChange,
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
function unsaid(findings: readonly Finding[], { entries, asPosted, facts }: Earlier): Finding[] {
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

function ledgerOf(repeats: Repeats, { resolutions, carried, settled, due }: Settled): FindingsLedger {
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
