import type { Finding } from "../../finding.ts";
import { codeHash } from "../../ledger/entry.ts";
import type { CarriedFinding } from "../../ledger/state.ts";
import { resolveAnchor } from "../anchor.ts";
import { withCheckedSuggestion } from "../suggestion/check-suggestion.ts";
import type { CheckedChange } from "./needs-check.ts";

/** A finding that has no comment of its own and goes on from review to review. */
export interface Carried {
  /** On the lines that its code has now, or as it was where that is gone. */
  finding: Finding;
  standing: "listed" | "annotated";
  reason: string;
  /** Whether its code is still there. */
  stands: boolean;
}

/** What the state of a pull request holds, as the change is now. */
export interface CarriedOver {
  /** What a review found that was called off before it was published, as far as its code is still there. */
  unpublished: Finding[];
  carried: Carried[];
}

type Reading = Pick<CheckedChange, "anchorFile" | "known">;

/** Finds the lines again that carried findings stand on. */
export async function bringOver(
  run: Reading & { deps: { isPrivate(path: string): boolean } },
  all: readonly CarriedFinding[],
): Promise<CarriedOver> {
  const over: CarriedOver = { unpublished: [], carried: [] };
  const seen = new Set<string>();
  for (const { finding, standing, reason } of all) {
    if (run.deps.isPrivate(finding.path)) continue;
    const now = await anchoredNow(run, finding);
    if (standing === "unpublished") {
      if (now) over.unpublished.push({ ...now, verification: "unverified", verification_note: null });
    } else if (!seen.has(finding.id)) {
      seen.add(finding.id);
      over.carried.push({ finding: now ?? finding, standing, reason, stands: now !== null });
    }
  }
  return over;
}

/** The finding on the lines that its quote has now; null where that is gone. */
async function anchoredNow({ anchorFile, known }: Reading, finding: Finding): Promise<Finding | null> {
  const file = await anchorFile(finding.path);
  if (!file) return null;
  // Of a secret no code is kept. In a file of which everything was read, nothing has changed.
  if (finding.quote === "") return known.hasNew(file.path) || known.hasLost(file.path) ? null : finding;
  const resolved = resolveAnchor(file, finding);
  if (!resolved.ok || resolved.anchor.side !== finding.side) return null;
  const { line, start_line, quote } = resolved.anchor;
  if (codeHash(quote) !== codeHash(finding.quote)) return null;
  const moved = { ...finding, path: file.path, line, start_line, quote };
  if (moved.suggestion === null) return moved;
  return { ...moved, ...(await withCheckedSuggestion(moved, file)).finding };
}
