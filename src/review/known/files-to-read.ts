import { type FileDiff, type Hunk, renderHunks, shownBytes } from "../../diff/file-diff.ts";
import { AppError } from "../../errors.ts";
import { servedHunks } from "../../tools/diff-pages.ts";
import type { ChangedFile, DiffSource } from "../../tools/tool.ts";
import type { KnownChange } from "./known-change.ts";

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

/** The hunks of a file that no earlier review has read. */
export interface NewHunks {
  hunks: Hunk[];
  /** Which they are, in words; empty where all of them are new. */
  note: string;
}

/** Runs of numbers that a note names. */
const MAX_RUNS = 20;

/** @param read numbers of the `-U3` hunks that were read */
export function newHunks(diff: FileDiff, read: ReadonlySet<number>): NewHunks {
  const hunks = diff.hunks.filter((_, at) => !read.has(at + 1));
  if (hunks.length === diff.hunks.length) return { hunks, note: "" };
  const numbers = numbersOf(diff);
  const isNew = numbers.filter((_, at) => !read.has(at + 1)).flat();
  const which = `${isNew.length === 1 ? "hunk" : "hunks"} ${runsOf(isNew)} of ${numbers.flat().length}`;
  return { hunks, note: `new: ${which}; an earlier review has read the rest` };
}

/** The numbers that `diff_file` gives to each hunk: several to one that it divides. */
function numbersOf(diff: FileDiff): number[][] {
  const parts = servedHunks(diff);
  let next = 0;
  return diff.hunks.map(({ lines }) => {
    const numbers: number[] = [];
    for (let taken = 0; taken < lines.length && next < parts.length; next++) {
      taken += parts[next]?.hunk.lines.length ?? 0;
      numbers.push(next + 1);
    }
    return numbers;
  });
}

/** 2, 5-7 */
function runsOf(numbers: readonly number[]): string {
  const runs: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run && run.last === number - 1) run.last = number;
    else runs.push({ first: number, last: number });
  }
  const named = runs
    .slice(0, MAX_RUNS)
    .map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
  const more = runs.length > named.length ? " and more" : "";
  return `${named.join(", ")}${more}`;
}
