import type { FixReport } from "../../tools/tool.ts";
import { createAnchorFiles } from "../anchor-files.ts";
import { checkClaim } from "../recheck/check-claim.ts";
import type { Repair } from "./fix-input.ts";
import { type FixRun, type NamedTarget, spotOf } from "./fix-messages.ts";

type Check = NonNullable<Repair["check"]>;

/** What a second look found at the repairs of findings, by the names of these. */
export type Checks = ReadonlyMap<string, Check>;

/**
 * A second look at each finding that counts as repaired, in the code as it is now: the same as at findings whose code a push has
 * changed, by somebody who does not know who changed it.
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
  for (const { name, target } of targets) {
    if (!report.repairs.some(({ finding, repaired }) => repaired && finding === name)) continue;
    const { title, finding: text, files } = target;
    const loop = round === 1 ? `fix:check:${name}` : `fix:check:${name}:${round}`;
    const spot = { ...spotOf(target), place: null };
    const { state, reason } = await checkClaim(now, { ...spot, title, text, files, loop });
    checks.set(name, { state, reason });
  }
  return checks;
}
