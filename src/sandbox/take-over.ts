import { errorLine } from "../errors.ts";
import { decodeName } from "../git/names.ts";
import type { TreeEntry } from "../git/workspace.ts";
import type { SandboxOutcome, TakenFile } from "./run-in-sandbox.ts";
import type { LeftFile } from "./warden/messages.ts";
import type { CommandFiles } from "./workspace-files.ts";

/** More files, or more bytes, are no fix but a build: then none are taken over. */
export const MAX_TAKEN_FILES = 500;
export const MAX_TAKEN_BYTES = 16 * 1024 * 1024;
/** Of one file. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** What is told of files that were not kept as they are. */
const MAX_NOTES = 20;

export interface Refusals {
  isPrivate(path: string): boolean;
  isIgnored(path: string): boolean;
}

/** What became of the files that a command left. */
export interface TakenOver {
  /** Paths that are different now, in order. */
  changed: string[];
  /** In words what was not taken over, and why. */
  notes: string[];
}

const keyOf = (path: string) => decodeName(Buffer.from(path, "latin1"));

/** Which of the files that a command left count: all that were there before, and new ones that the repository does not ignore. */
export function wantedFiles(left: readonly LeftFile[], { isPrivate, isIgnored }: Refusals): LeftFile[] {
  const wanted = left.filter(({ path, kind }) => {
    const key = keyOf(path);
    return !isPrivate(key) && (kind !== "new" || !isIgnored(key));
  });
  // A file may have made room for a folder of its name, and a folder for a file.
  return wanted.toSorted((a, b) => Number(b.kind === "gone") - Number(a.kind === "gone"));
}

/** Of these the ones whose bytes are asked for; none where there are too many. */
export function askedFor(wanted: readonly LeftFile[]): string[] {
  if (isTooMuch(wanted)) return [];
  return wanted
    .filter(({ kind, bytes }) => kind !== "gone" && bytes <= MAX_FILE_BYTES)
    .map(({ path }) => path);
}

const isTooMuch = (wanted: readonly LeftFile[]) =>
  wanted.length > MAX_TAKEN_FILES ||
  wanted.reduce((sum, { bytes }) => sum + Math.min(bytes, MAX_FILE_BYTES), 0) > MAX_TAKEN_BYTES;

/**
 * Puts what a command left into the workspace: regular files alone, each by the same door as what the model writes. Of a command that
 * was ended before its time nothing is taken over: its files may be half written.
 */
export async function takeOver(
  files: CommandFiles,
  outcome: SandboxOutcome,
  refusals: Refusals,
): Promise<TakenOver> {
  const { left, odd, tooMany, taken, ended } = outcome;
  const wanted = wantedFiles(left, refusals);
  const changed: string[] = [];
  const notes: string[] = [];
  if (odd > 0) notes.push(`${odd} links, pipes or other entries that are no regular files were left behind.`);
  if (ended !== null) return { changed, notes: ["Nothing that it changed was kept.", ...notes] };
  if (tooMany || isTooMuch(wanted)) {
    return { changed, notes: ["It changed too many files: none of these changes were kept.", ...notes] };
  }
  const bytesOf = new Map(taken.map((file) => [file.path, file]));
  const before = await files.workspace.tree("head");
  for (const one of wanted) {
    const key = keyOf(one.path);
    try {
      const kept = await keep(files.edit, one, { entry: before.get(key), file: bytesOf.get(one.path) });
      if (kept.isChanged) changed.push(key);
      if (!kept.isWhole) notes.push(`Of '${key}' only its bytes count, not whether it can be executed.`);
    } catch (error) {
      notes.push(`'${key}' was not kept: ${errorLine(error)}.`);
    }
  }
  return { changed: changed.toSorted(), notes: fewOf(notes) };
}

/** Whether a file is different now, and whether all of it was kept: no fix may change whether a file can be executed. */
async function keep(
  edit: CommandFiles["edit"],
  { path, kind }: LeftFile,
  { entry, file }: { entry: TreeEntry | undefined; file: TakenFile | undefined },
): Promise<{ isChanged: boolean; isWhole: boolean }> {
  const key = keyOf(path);
  if (kind === "gone") {
    await edit.remove(key);
    return { isChanged: true, isWhole: true };
  }
  if (!file) throw new Error("it is too large");
  const before = kind === "changed" ? entry : undefined;
  const isWhole = file.executable === (before?.mode === "100755");
  const isChanged = !before || !file.bytes.equals(await edit.read(key));
  if (isChanged) await edit.write(key, file.bytes);
  return { isChanged, isWhole };
}

const fewOf = (notes: readonly string[]) =>
  notes.length > MAX_NOTES
    ? [...notes.slice(0, MAX_NOTES), `And so on, of ${notes.length} in all.`]
    : [...notes];
