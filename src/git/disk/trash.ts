import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

export const trashFolder = (dataFolder: string) => join(dataFolder, "trash");

/** Puts a folder where nobody looks for it, in one step: whoever is killed while deleting leaves nothing half there. */
export async function setAside(dataFolder: string, folder: string): Promise<void> {
  const trash = trashFolder(dataFolder);
  await mkdir(trash, { recursive: true });
  await rename(folder, join(trash, randomUUID())).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
}

/** Deletes what was set aside, by whomever. Once the signal has fired, the rest is left to the next time. */
export async function emptyTrash(dataFolder: string, signal?: AbortSignal): Promise<void> {
  const trash = trashFolder(dataFolder);
  for (const name of await readdir(trash).catch(() => [])) {
    if (signal?.aborted) return;
    // Another process may be deleting it as well; whoever comes last deletes what is left.
    await rm(join(trash, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}
