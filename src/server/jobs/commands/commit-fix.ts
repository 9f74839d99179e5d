import { nullIfTooLarge } from "../../../core/errors.ts";
import type { ProofTest } from "../../../core/finding.ts";
import { commitMessage } from "../../../pull/publish/fix-texts.ts";
import { changedPaths, commitDiff, commitFiles, filesAt } from "../../../repo/git/commits.ts";
import type { RevisionPlace } from "../../../repo/git/workspace.ts";
import {
  type FileEdit,
  isPlainPath,
  most,
  type Refusal,
  refusalsOf,
} from "../../../tasks/fix/check-edits.ts";
import type { FixResult, Repair } from "../../../tasks/fix/fix-input.ts";

export interface UncheckedFix {
  fix: FixResult;
  /** Checkout of the head that was repaired. */
  place: RevisionPlace;
  named: readonly string[];
  testOf?(id: string): ProofTest | undefined;
  isPrivate(path: string): boolean;
  author: { name: string; email: string };
  /** Milliseconds since 1970. The same files at the same time make the same commit. */
  at: number;
  signal: AbortSignal;
}

export type CommittedFix =
  /** There is nothing to commit: no edits, or none that repair anything. */
  | { kind: "none" }
  | { kind: "refused"; refusals: readonly Refusal[] }
  /** The head is its parent, and no branch leads to it. */
  | { kind: "committed"; commit: string };

const MAX_FILE_BYTES = 20 * 1024 * 1024;
const MAX_PATCH_BYTES = 64 * 1024 * 1024;
const MAX_SHOWN_BYTES = 2 * 1024 * 1024;

/** Judges a repair by its actual edits, not by the claims about it, and commits it. */
export async function commitFix(unchecked: UncheckedFix): Promise<CommittedFix> {
  const { fix, place, author, at, signal } = unchecked;
  const isRepaired = fix.repairs.some(isFixed);
  const edits = await editsOf(unchecked);
  if (edits === null) return { kind: "refused", refusals: [TOO_LARGE] };
  if (!isRepaired || edits.length === 0) return { kind: "none" };
  const refusals = await refusalsOf(edits, await scopeOf(unchecked));
  if (refusals.length > 0) return { kind: "refused", refusals };
  const commit = await commitFiles({
    ...repositoryOf(place),
    parent: place.shas.head,
    author,
    at,
    signal,
    files: edits.map(({ path, after }) => ({
      path,
      after: after && { ...after, mode: plainMode(after.mode) },
    })),
    message: commitMessage(fix.summary),
  });
  const besides = await changedBesides(commit, edits, unchecked);
  if (besides.length > 0) return { kind: "refused", refusals: besides };
  return { kind: "committed", commit };
}

const TOO_LARGE: Refusal = { path: null, reason: "it changes a file that is too large to be checked" };

/** Changes of a commit beyond the judged edits: git drops a file if a folder takes its name. */
async function changedBesides(
  to: string,
  edits: readonly FileEdit[],
  { place, signal }: UncheckedFix,
): Promise<Refusal[]> {
  const judged = new Set(edits.map(({ path }) => path));
  const changed = await changedPaths({ ...repositoryOf(place), from: place.shas.head, to, signal });
  return changed
    .filter((path) => !judged.has(path))
    .map((path) => ({ path, reason: "it would be deleted, because a file of the fix would replace it" }));
}

const repositoryOf = (place: RevisionPlace) => ({ git: place, gitDir: place.gitDir });

const plainMode = (mode: string) => (mode === "100755" ? "100755" : "100644");

/** Each edit with the file's present content; edits that change nothing are left out. Null if a file is too large. */
async function editsOf(unchecked: UncheckedFix): Promise<FileEdit[] | null> {
  const { place, signal } = unchecked;
  const edits = [...unchecked.fix.edits, ...addedTests(unchecked)];
  // Skips the lookup of files that will be refused for their path or number.
  const paths = edits.length > most.files ? [] : edits.map(({ path }) => path).filter(isPlainPath);
  const before = await filesOf(place, paths, signal).catch(nullIfTooLarge);
  if (before === null) return null;
  return edits.flatMap(({ path, after }): FileEdit[] => {
    const old = before.get(path) ?? null;
    const now = after && { mode: after.mode, bytes: Buffer.from(after.base64, "base64") };
    const isSame =
      old === null || now === null ? old === now : old.mode === now.mode && old.bytes.equals(now.bytes);
    return isSame ? [] : [{ path, before: old, after: now }];
  });
}

/** The tests that fail without the repair and pass with it, as they were shown: not as the process that ran them says. */
function addedTests({ fix: { edits, repairs }, testOf }: UncheckedFix): FixResult["edits"] {
  if (edits.length === 0) return [];
  return repairs.flatMap((repair) => {
    const test = isFixed(repair) && repair.test?.state === "passes" ? testOf?.(repair.id) : undefined;
    if (!test) return [];
    return [
      { path: test.path, after: { mode: "100644", base64: Buffer.from(test.text).toString("base64") } },
    ];
  });
}

const isFixed = ({ repaired, check }: Repair) => repaired && check?.state !== "present";

const filesOf = (place: RevisionPlace, paths: readonly string[], signal: AbortSignal) =>
  filesAt({ ...repositoryOf(place), commit: place.shas.head, paths, maxBytes: MAX_FILE_BYTES, signal });

async function scopeOf({ place, named, isPrivate, signal }: UncheckedFix) {
  const { mergeBase: from, head: to } = place.shas;
  const changed = await changedPaths({ ...repositoryOf(place), from, to, signal });
  return { files: new Set([...changed, ...named]), isPrivate };
}

type Committed = Pick<UncheckedFix, "place" | "signal">;

/** The patch from the head to our commit. */
export function patchTo(commit: string, { place, signal }: Committed): Promise<string> {
  const { head: from } = place.shas;
  const size = { contextLines: 3, maxBytes: MAX_PATCH_BYTES };
  return commitDiff({ ...repositoryOf(place), ...size, from, to: commit, signal });
}

/** The same for each file, with the pull request's own diff of it, which is empty if it is too large to show. */
export async function changesTo(commit: string, { place, signal }: Committed) {
  const { head, mergeBase } = place.shas;
  const paths = await changedPaths({ ...repositoryOf(place), from: head, to: commit, signal });
  const at = { ...repositoryOf(place), signal };
  const diffOf = (path: string, of: { from: string; to: string; contextLines: number; maxBytes: number }) =>
    commitDiff({ ...at, ...of, path });
  const shown = { from: mergeBase, to: head, contextLines: 3, maxBytes: MAX_SHOWN_BYTES };
  const texts = await filesOf(place, paths, signal);
  return Promise.all(
    paths.map(async (path) => ({
      path,
      fix: await diffOf(path, { from: head, to: commit, contextLines: 0, maxBytes: MAX_PATCH_BYTES }),
      change: (await diffOf(path, shown).catch(nullIfTooLarge)) ?? "",
      text: texts.get(path)?.bytes.toString("utf8") ?? "",
    })),
  );
}
