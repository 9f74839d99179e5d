import { isCertain } from "../../finding.ts";
import { showPath } from "../../tools/show.ts";
import type { FixReport } from "../../tools/tool.ts";
import { createAnchorFiles } from "../anchor-files.ts";
import { findCandidates, mayLackCertain } from "../candidates.ts";
import { checkClaim } from "../recheck/check-claim.ts";
import type { FixTarget, Repair } from "./fix-input.ts";
import { type FixRun, type NamedTarget, spotOf } from "./fix-messages.ts";

type Check = NonNullable<Repair["check"]>;

/** What a second look found at the repairs of findings, by the names of these. */
export type Checks = ReadonlyMap<string, Check>;

/**
 * A second look at each finding that counts as repaired, in the code as it is now: the same as at findings whose code a push has
 * changed, by somebody who does not know who changed it. Certain findings are looked at by their analyzer.
 *
 * @param round from 1; each has loops of its own
 */
export async function lookAtFix(
  run: FixRun,
  targets: readonly NamedTarget[],
  report: FixReport,
  round: number,
): Promise<Checks> {
  const { workspace, diffs } = run.deps;
  const now: FixRun = {
    ...run,
    anchorFile: createAnchorFiles(workspace, diffs),
    files: await diffs.files(),
  };
  const checks = new Map<string, Check>();
  const repaired = targets.filter(({ name }) =>
    report.repairs.some((one) => one.repaired && one.finding === name),
  );
  for (const { name, target } of repaired) {
    if (isCertain(target)) {
      checks.set(name, await ruleCheck(run, now, target, repaired));
      continue;
    }
    const { title, finding: text, files } = target;
    const loop = round === 1 ? `fix:check:${name}` : `fix:check:${name}:${round}`;
    const spot = { ...spotOf(target), place: null };
    const { state, reason } = await checkClaim(now, { ...spot, title, text, files, loop });
    checks.set(name, { state, reason });
  }
  return checks;
}

/**
 * Whether the analyzer of a certain finding matches less often than it did, in the files of its findings and in those that were
 * edited: what it found may have moved. Its findings are fixed together or not at all, for nothing tells which match is left.
 */
async function ruleCheck(
  before: FixRun,
  now: FixRun,
  { source }: FixTarget,
  repaired: readonly NamedTarget[],
): Promise<Check> {
  const isOfAnalyzer = (one: { source: string | null }) => analyzerOf(one) === analyzerOf({ source });
  const wanted = repaired.map(({ target }) => target).filter(isOfAnalyzer);
  const paths = new Set([...wanted.map(({ path }) => path), ...editedPaths(before, now)]);
  const matches = async ({ files, deps }: FixRun) => {
    const { findings, unfinished } = await findCandidates(
      files.filter(({ change }) => paths.has(change.path)),
      deps,
    );
    return unfinished.some(mayLackCertain) ? null : findings.filter(isOfAnalyzer);
  };
  const [old, left] = [await matches(before), await matches(now)];
  if (old === null || left === null)
    return {
      state: "unsure",
      reason: `The analyzer did not finish on ${[...paths].map(showPath).join(", ")}.`,
    };
  if (left.length <= old.length - wanted.length)
    return { state: "fixed", reason: "The rule does not match any more." };
  const places = left.map(({ path, line }) => `${showPath(path)}:${line}`).join(", ");
  return { state: "present", reason: `The rule ${source} still matches ${places}.` };
}

const analyzerOf = ({ source }: { source: string | null }) => source?.split("/")[0];

function editedPaths(before: FixRun, now: FixRun): string[] {
  const known = new Map(before.files.map(({ change }) => [change.path, change.newOid]));
  const paths = now.files
    .map(({ change }) => change)
    .filter(({ path, newOid }) => known.get(path) !== newOid);
  return paths.map(({ path }) => path);
}
