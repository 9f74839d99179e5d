import type { Unit } from "../plan/plan-units.ts";
import type { ReviewRun } from "../review-run.ts";
import type { UnitReview } from "../review-unit.ts";
import { readHashes } from "./reviewed-now.ts";

/** Told of each loop over a unit that has ended; `name` names the unit in the record. */
export type NoteUnit = (unit: Unit, name: string, review: UnitReview) => Promise<void>;

/**
 * Notes down the units that are done with: all of their loops have finished, and every hunk was served. Where a push calls the
 * review off, the next one need not read them again. Only what this review has read itself is noted.
 */
export function createUnitNotes({ input, deps, coverage, known }: ReviewRun, loopsAUnit: number): NoteUnit {
  const ended = new Map<Unit, UnitReview[]>();
  return async (unit, name, review) => {
    const reviews = [...(ended.get(unit) ?? []), review];
    ended.set(unit, reviews);
    if (input.history === null || reviews.length < loopsAUnit) return;
    if (reviews.some(({ stopReason }) => stopReason !== "finished")) return;
    if (unit.files.some(({ change }) => coverage.unshown(change.path).length > 0)) return;
    await deps.trajectory.append({
      kind: "unit",
      head: deps.workspace.shas.head,
      loop: name,
      hashes: unit.files.flatMap((file) =>
        readHashes(file, coverage, known.contentHash, known.known(file.change.path)),
      ),
      findings: reviews.flatMap(({ findings }) => findings),
      summary: reviews.find((one) => one.summary !== null)?.summary ?? "",
    });
  };
}
