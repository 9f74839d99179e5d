import type { Coverage } from "../../agent/coverage.ts";
import type { Reviewed } from "../../ledger/state.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import { type ContentHash, firstName } from "./content-hash.ts";
import { changeHashes, unreadHashes } from "./known-change.ts";

/** Of a change with more of them whole files are remembered: what is remembered has to fit into a comment. */
export const MAX_CHANGES = 2_000;

/**
 * All that was read and is still part of the change: what the coverage counts as served, now or by earlier reviews. What was not
 * read stood beside it all the same, and is remembered as that.
 */
export function reviewedNow(
  files: readonly ChangedFile[],
  coverage: Pick<Coverage, "unshown">,
  contentHash: ContentHash,
  maxChanges = MAX_CHANGES,
): Reviewed {
  const changes = files.reduce((sum, { changes: hunks }) => sum + hunks.flat().length, 0);
  if (changes <= maxChanges)
    return {
      unit: "change",
      hashes: files.flatMap((file) => [
        ...readHashes(file, coverage, contentHash),
        ...unreadHashes(file, new Set(coverage.unshown(file.change.path)), contentHash),
      ]),
    };
  const read = files.filter(
    (file) => file.changes.length > 0 && coverage.unshown(file.change.path).length === 0,
  );
  return { unit: "file", hashes: read.map((file) => contentHash(firstName(file), file.changes.flat())) };
}

/** Hashes of the changes in a file's hunks that were read, without those in hunks that are left out. */
export function readHashes(
  file: ChangedFile,
  coverage: Pick<Coverage, "unshown">,
  contentHash: ContentHash,
  leftOut: ReadonlySet<number> = new Set(),
): string[] {
  const unread = new Set(coverage.unshown(file.change.path));
  const hunks = changeHashes(file, contentHash);
  return hunks.flatMap((hashes, at) => (unread.has(at + 1) || leftOut.has(at + 1) ? [] : hashes));
}
