import { AppError } from "../../errors.ts";
import { type Severity, severities } from "../../finding.ts";
import { mapFew } from "../../map-few.ts";
import type { EarlierFinding } from "../review-input.ts";
import type { LedgerUpdate, Resolution } from "../review-result.ts";
import type { ReviewRun } from "../review-run.ts";
import type { Carried } from "./carried.ts";
import { checkClaim } from "./check-claim.ts";
import type { OldClaim } from "./claim.ts";
import type { Earlier, LaterChange, Repeats } from "./earlier.ts";
import { headPath, needsCheck } from "./needs-check.ts";

/** Checks at the same time. */
const CONCURRENCY = 4;

/** What became of earlier findings. */
export interface Settled extends Pick<LedgerUpdate, "resolutions" | "settled"> {
  /** Carried findings that go on, with the standing that they have now. */
  carried: readonly Carried[];
  /** Files with findings that were to be looked at and were not, or not to the end. */
  due: ReadonlySet<string>;
}

/**
 * Looks at earlier findings whose code has changed since the last review, the worst first. What a finding of this run says
 * again is still there. Without a model nothing is found fixed: all of it goes on.
 *
 * @param run null where no model can be asked
 */
export async function settleEarlier(
  run: ReviewRun | null,
  change: LaterChange,
  earlier: Earlier,
  repeats: Repeats,
): Promise<Settled> {
  const repeated = new Set(repeats.posted.values());
  const resolutions: Resolution[] = [];
  const checks: Check[] = [];
  const due = new Set<string>();
  for (const entry of earlier.entries.filter(isOurs)) {
    const isChanged = await isToBeChecked(change, earlier, entry, due);
    if (isChanged && repeated.has(entry))
      resolutions.push({ comment: entry.comment, state: "present", reason: FOUND_AGAIN });
    else if (isChanged) checks.push(checkOfEntry(change, earlier, entry, resolutions));
  }
  const left = earlier.carried.filter((one) => !repeats.replaced.has(one));
  const settled = new Map<Carried, string>();
  for (const [posted, one] of earlier.asPosted) {
    const isGone = left.includes(one) && !one.stands;
    if (isGone && (await isToBeChecked(change, earlier, posted, due)))
      checks.push(checkOfCarried(one, settled));
  }
  await checkAll(run, checks, due);
  return {
    ...{ resolutions, due },
    settled: [...settled].map(
      ([
        {
          finding: { path, title },
        },
        reason,
      ]) => ({ path, title, reason }),
    ),
    carried: left
      .filter((one) => !settled.has(one))
      .map((one) => (one.stands ? one : { ...one, standing: "listed", reason: CODE_CHANGED })),
  };
}

/** What cannot be read now settles nothing; the next review looks again. */
async function isToBeChecked(
  change: LaterChange,
  { facts }: Earlier,
  entry: EarlierFinding,
  due: Set<string>,
): Promise<boolean> {
  try {
    return await needsCheck(change, entry, facts.placeOf(entry));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    due.add(entry.path);
    return false;
  }
}

/** The worst first. Without a model all of it waits for the next review. */
async function checkAll(run: ReviewRun | null, checks: readonly Check[], due: Set<string>): Promise<void> {
  const worstFirst = checks.toSorted((a, b) => rank(a) - rank(b));
  await mapFew(worstFirst, CONCURRENCY, async ({ claim, path, take, withoutModel }) => {
    const checked = run && (await checkClaim(run, claim));
    if (!checked?.ended) due.add(path);
    if (checked) take(checked);
    else withoutModel?.();
  });
}

const FOUND_AGAIN = "This review found it again.";
const NOT_LOOKED = "Its file is no longer part of the change, and no model has looked at it.";
const CODE_CHANGED = "the code that it was about has changed";

interface Check {
  claim: OldClaim;
  /** As the finding names it. */
  path: string;
  severity: Severity;
  /** Said in its stead. */
  withoutModel?(): void;
  take(settlement: Pick<Resolution, "state" | "reason">): void;
}

const rank = ({ severity }: Check) => severities.indexOf(severity);

type OwnEntry = EarlierFinding & { comment: number };

/** Whether it is ours to say that it is fixed. */
const isOurs = (entry: EarlierFinding): entry is OwnEntry =>
  (entry.state === "open" || entry.state === "outdated") && !entry.theirs && entry.comment !== null;

function isOutOfChange(change: LaterChange, { path }: EarlierFinding): boolean {
  const name = headPath(change, path);
  return !change.files.some((file) => file.change.path === name);
}

function checkOfEntry(
  change: LaterChange,
  { facts }: Earlier,
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
      place: facts.placeOf(entry),
    },
    take: ({ state, reason }) => void resolutions.push({ comment, state, reason }),
  };
}

function checkOfCarried(one: Carried, settled: Map<Carried, string>): Check {
  const { id, path, side, line, symbol, title, body, evidence, severity } = one.finding;
  const files = [...new Set(evidence.map((shown) => shown.path).filter((file) => file !== path))];
  return {
    ...{ severity, path },
    claim: { ...{ path, side, line, symbol, title, files }, loop: `recheck:${id}`, text: body, place: null },
    take: ({ state, reason }) => void (state === "fixed" && settled.set(one, reason)),
  };
}
