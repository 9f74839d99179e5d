import type { Unit } from "../plan/plan-units.ts";
import type { ReviewRun } from "../review-run.ts";
import { candidatesIn, type UnitReview } from "../review-unit.ts";
import { allHunks, unreadHashes } from "./known-change.ts";
import { MAX_CHANGES, readHashes } from "./reviewed-now.ts";

/** Told of each loop over a unit that has ended; `name` names the unit in the record. */
export type NoteUnit = (unit: Unit, name: string, review: UnitReview) => Promise<void>;

/**
 * Notes down the units that are done with: all of their loops have finished, every hunk was served, and every rule match was
 * judged. Where a push calls the review off, the next one need not read them again. Only what this review has read itself is
 * noted.
 */
export function createUnitNotes(run: ReviewRun, loopsAUnit: number): NoteUnit {
  const { input, deps, coverage, known } = run;
  const ended = new Map<Unit, UnitReview[]>();
  const besides = (unit: Unit) => {
    const own = new Set(unit.files.map(({ change }) => change.path));
    return run.files
      .filter(({ change }) => !own.has(change.path))
      .flatMap((file) => unreadHashes(file, allHunks(file), known.contentHash))
      .slice(0, MAX_CHANGES);
  };
  return async (unit, name, review) => {
    const reviews = [...(ended.get(unit) ?? []), review];
    ended.set(unit, reviews);
    if (input.history === null || reviews.length < loopsAUnit) return;
    if (reviews.some(({ stopReason }) => stopReason !== "finished")) return;
    if (unit.files.some(({ change }) => coverage.unshown(change.path).length > 0)) return;
    const judged = new Set(
      reviews.flatMap(({ answers }) => [...answers.reported, ...answers.rejected.keys()]),
    );
    if ((await candidatesIn(run, unit.files)).some(({ id }) => !judged.has(id))) return;
    await deps.trajectory.append({
      kind: "unit",
      head: deps.workspace.shas.head,
      loop: name,
      hashes: unit.files.flatMap((file) =>
        readHashes(file, coverage, known.contentHash, known.known(file.change.path)),
      ),
      beside: besides(unit),
      findings: reviews.flatMap(({ findings }) => findings),
      summary: reviews.find((one) => one.summary !== null)?.summary ?? "",
    });
  };
}
