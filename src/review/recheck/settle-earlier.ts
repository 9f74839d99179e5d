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
  for (const entry of earlier.entries.filter(isOurs)) {
    const isChanged = needsCheck(change, entry, earlier.facts.placeOf(entry));
    if (!(await isChanged.catch(notTold))) continue;
    if (repeated.has(entry))
      resolutions.push({ comment: entry.comment, state: "present", reason: FOUND_AGAIN });
    else if (run) checks.push(checkOfEntry(change, earlier, entry, resolutions));
    else if (isOutOfChange(change, entry))
      resolutions.push({ comment: entry.comment, state: "unsure", reason: NOT_LOOKED });
  }
  const left = earlier.carried.filter((one) => !repeats.replaced.has(one));
  const gone = left.filter((one) => !one.stands);
  const settled = new Map<Carried, string>();
  if (run) checks.push(...gone.map((one) => checkOfCarried(one, settled)));
  const worstFirst = checks.toSorted((a, b) => rank(a) - rank(b));
  if (run) await mapFew(worstFirst, CONCURRENCY, ({ claim, take }) => checkClaim(run, claim).then(take));
  return {
    resolutions,
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
function notTold(error: unknown): false {
  if (error instanceof AppError) return false;
  throw error;
}

const FOUND_AGAIN = "This review found it again.";
const NOT_LOOKED = "Its file is no longer part of the change, and no model has looked at it.";
const CODE_CHANGED = "the code that it was about has changed";

interface Check {
  claim: OldClaim;
  severity: Severity;
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
  const { comment, path, side, line, original_line, symbol, title, text, severity } = entry;
  return {
    severity,
    claim: {
      ...{ side, symbol, title, text },
      loop: `recheck:${comment}`,
      path: headPath(change, path),
      line: original_line ?? line,
      place: facts.placeOf(entry),
    },
    take: ({ state, reason }) => void resolutions.push({ comment, state, reason }),
  };
}

function checkOfCarried(one: Carried, settled: Map<Carried, string>): Check {
  const { id, path, side, line, symbol, title, body, severity } = one.finding;
  return {
    severity,
    claim: { ...{ path, side, line, symbol, title }, loop: `recheck:${id}`, text: body, place: null },
    take: ({ state, reason }) => void (state === "fixed" && settled.set(one, reason)),
  };
}
