import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { readState, stateFile } from "../slot.ts";
import { graphFolder, placesAt, repositoriesIn, slotsIn } from "./places.ts";

/** A mirror or a checkout, and what it costs to keep it. */
export interface Kept {
  kind: "mirror" | "checkout";
  /** `<host>/<owner>/<name>` */
  repository: string;
  folder: string;
  bytes: number;
  /** Milliseconds since 1970. */
  usedAt: number;
}

/** A file takes whole blocks, and an entry in the index and in its folder. */
const FILE_BYTES = 4096;

/** What a checkout of so many files takes on the disk, at most. */
export const checkoutBytes = ({ files, bytes }: { files: number; bytes: number }) =>
  bytes + files * FILE_BYTES;

/**
 * Everything that may be evicted. Costs a few small files for each of them, however large they are: what a checkout takes was
 * known before it was written, and a mirror was measured after it was used.
 */
export async function listKept(dataFolder: string): Promise<Kept[]> {
  const kept: Kept[] = [];
  for (const repository of await repositoriesIn(dataFolder)) {
    const { gitDir, checkouts } = placesAt(dataFolder, repository);
    const [mirror, slots] = await Promise.all([usedMirror(gitDir), slotsIn(checkouts)]);
    const made = await Promise.all(slots.map(async (folder) => ({ folder, ...(await usedSlot(folder)) })));
    for (const slot of made) kept.push({ kind: "checkout", repository, ...slot });
    if (!mirror) continue;
    // It was used whenever one of its checkouts was.
    const usedAt = Math.max(mirror.usedAt, ...made.map((slot) => slot.usedAt));
    kept.push({ kind: "mirror", repository, folder: gitDir, bytes: mirror.bytes, usedAt });
  }
  return kept;
}

async function usedSlot(folder: string): Promise<Pick<Kept, "bytes" | "usedAt">> {
  const state = await readState(folder);
  return {
    bytes: state ? checkoutBytes(state) : 0,
    usedAt: await changedAt(state ? stateFile(folder) : folder),
  };
}

async function usedMirror(gitDir: string): Promise<Pick<Kept, "bytes" | "usedAt"> | undefined> {
  const note = await readFile(useNote(gitDir), "utf8").catch(() => undefined);
  if (note !== undefined && /^\d+$/.test(note))
    return { bytes: Number(note), usedAt: await changedAt(useNote(gitDir)) };
  // Whoever used it was killed before writing that down, or uses it now for the first time.
  const usedAt = await changedAt(gitDir);
  return usedAt === 0 ? undefined : { bytes: await mirrorBytes(gitDir), usedAt };
}

/** Milliseconds since 1970; 0 for what is not there. */
async function changedAt(path: string): Promise<number> {
  return await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

/** Holds the mirror's size; its time is that of the last use. */
const useNote = (gitDir: string) => join(gitDir, "hunkwise-used");

/** Writes down that a mirror was used until now, and what it takes. Never rejects: at worst it is measured once more. */
export async function noteUse(gitDir: string): Promise<void> {
  const bytes = await mirrorBytes(gitDir);
  await writeFile(useNote(gitDir), String(bytes)).catch(() => {});
}

/** What a mirror takes on the disk. Its objects and its index are measured; the rest are small files, which are counted. */
export async function mirrorBytes(gitDir: string): Promise<number> {
  const names = await readdir(gitDir, { recursive: true }).catch(() => []);
  // A server of the old protocol sends objects one by one, and none comes in a pack.
  const large = [join("objects", ""), join(basename(graphFolder(gitDir)), "")];
  const measured = names.filter((name) => large.some((folder) => name.startsWith(folder)));
  const sizes = measured.map((name) =>
    stat(join(gitDir, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  const sum = (await Promise.all(sizes)).reduce((total, size) => total + size, 0);
  return sum + names.length * FILE_BYTES;
}
