import type { Finding } from "../../../core/finding.ts";
import { codeHash, type PostedFinding, withoutComment } from "../../../core/ledger/entry.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import { resolveAnchor } from "../../anchor/anchor.ts";
import type { LineRange } from "../../anchor/quote.ts";
import { withCheckedSuggestion } from "../../anchor/suggestion/check-suggestion.ts";
import { definitionNamed, definitionOf } from "../../anchor/symbols.ts";
import type { AnalyzedChange, KnownChange, ReviewDependencies, ReviewRun } from "../../loop/review-run.ts";
import type { ReviewInput } from "../../shapes/review-input.ts";
import { compareFindings, type PriorLocations, readFacts } from "./compare-findings.ts";

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

/** The name of a file at head, for either of its names. */
export function headPath(files: readonly ChangedFile[], path: string): string {
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

/** The lines near a finding and of its definition. */
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
export interface RelocatedFinding {
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

/** A review, with or without a model, of which earlier findings are followed up. */
export interface FollowedRun {
  input: ReviewInput;
  deps: ReviewDependencies;
  change: AnalyzedChange;
}

/** The findings of earlier reviews of a pull request. */
export interface PriorFindings {
  entries: readonly PostedFinding[];
  /** Findings without a comment, each by its shape as a posted one, for comparison. */
  carried: ReadonlyMap<PostedFinding, RelocatedFinding>;
  /** Findings of a cancelled review whose code is still there. They count as this one's. */
  unpublished: readonly Finding[];
  facts: PriorLocations;
}

/** Reads the findings of earlier reviews, without those in private files, and dismissed ones whose code is gone. */
export async function readPriorFindings({ input, deps, change }: FollowedRun): Promise<PriorFindings> {
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

export interface Repeats {
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
export async function findRepeats(
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
