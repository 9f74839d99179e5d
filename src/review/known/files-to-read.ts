import { renderHunks, shownBytes } from "../../diff/render.ts";
import { AppError } from "../../errors.ts";
import type { ChangedFile, DiffSource } from "../../tools/tool.ts";
import type { KnownChange } from "./known-change.ts";
import { newHunks } from "./new-hunks.ts";

/** How many hunks of these files earlier reviews have read. */
export const countKnown = (files: readonly ChangedFile[], known: Pick<KnownChange, "known">): number =>
  files.reduce((sum, { change }) => sum + known.known(change.path).size, 0);

/** The files without those in which nothing is new; `diffBytes` of the others are those of their new hunks. */
export async function filesToRead(
  files: readonly ChangedFile[],
  known: KnownChange,
  diffs: Pick<DiffSource, "fileDiff">,
): Promise<ChangedFile[]> {
  const toRead: ChangedFile[] = [];
  for (const file of files) {
    const read = known.known(file.change.path);
    if (read.size === 0) toRead.push(file);
    else if (known.hasNew(file.change.path)) toRead.push(await withoutHunks(file, read, diffs));
  }
  return toRead;
}

async function withoutHunks(
  file: ChangedFile,
  read: ReadonlySet<number>,
  diffs: Pick<DiffSource, "fileDiff">,
): Promise<ChangedFile> {
  const diff = await diffs.fileDiff(file.change, 3).catch(nullIfTooLarge);
  if (!diff) return file;
  const { hunks, note } = newHunks(diff, read);
  const around = file.diffBytes - shownBytes(renderHunks(diff.hunks));
  return { ...file, diffBytes: around + shownBytes(headingNote(note) + renderHunks(hunks)) };
}

/** What a file's heading says beside its path. */
export const headingNote = (note: string) => (note === "" ? "" : ` (${note})`);

function nullIfTooLarge(error: unknown): null {
  if (error instanceof AppError && error.code === "too_large") return null;
  throw error;
}
