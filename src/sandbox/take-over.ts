import { errorLine } from "../errors.ts";
import { decodeName } from "../git/names.ts";
import type { SandboxOutcome } from "./run-in-sandbox.ts";
import type { LeftFile } from "./warden/messages.ts";
import type { CommandFiles } from "./workspace-files.ts";

/** More files, or more bytes, are no fix but a build: then none are taken over. */
export const MAX_TAKEN_FILES = 500;
export const MAX_TAKEN_BYTES = 16 * 1024 * 1024;
/** Of one file. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

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
  for (const { path, kind } of wanted) {
    const key = keyOf(path);
    const file = bytesOf.get(path);
    try {
      if (kind === "gone") await files.edit.remove(key);
      else if (!file) throw new Error("it is too large");
      else if (await isSame(files, key, kind, file.bytes, file.executable)) continue;
      else await files.edit.write(key, file.bytes, { mode: file.executable ? "100755" : "100644" });
      changed.push(key);
    } catch (error) {
      notes.push(`'${key}' was not kept: ${errorLine(error)}.`);
    }
  }
  return { changed: changed.toSorted(), notes };
}

async function isSame(
  { workspace, edit }: CommandFiles,
  key: string,
  kind: LeftFile["kind"],
  bytes: Buffer,
  executable: boolean,
): Promise<boolean> {
  if (kind === "new") return false;
  const mode = (await workspace.tree("head")).get(key)?.mode;
  return executable === (mode === "100755") && bytes.equals(await edit.read(key));
}
