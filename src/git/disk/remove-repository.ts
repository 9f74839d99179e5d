import { rmdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { mirrorIdOf, type RepositoryName } from "../mirror-folder.ts";
import { type PidLock, tryLock } from "../pid-lock.ts";
import { arranging } from "./arranging.ts";
import { mirrorLock, placesOf, type RepositoryPlaces, slotLock, slotsIn } from "./places.ts";
import { emptyTrash, setAside } from "./trash.ts";

/**
 * Deletes the mirror and the checkouts of one repository. False, with everything left as it is, while somebody alive uses one
 * of them: ask again later. Rejects with `usage` for what is no name of a repository.
 */
export async function removeRepository(dataFolder: string, repository: RepositoryName): Promise<boolean> {
  const folder = resolve(dataFolder);
  const removed = await setRepositoryAside(folder, placesOf(folder, repository));
  await emptyTrash(folder);
  return removed;
}

/** Whether there is a mirror of a repository, of which it then holds something already. */
export async function isMirrored(dataFolder: string, repository: RepositoryName): Promise<boolean> {
  return (await mirrorIdOf(placesOf(dataFolder, repository).gitDir)) !== undefined;
}

/** Takes a repository's folders away in one go, unless they are used; the trash then holds them. */
export function setRepositoryAside(dataFolder: string, places: RepositoryPlaces): Promise<boolean> {
  return arranging(dataFolder, async () => {
    const { gitDir, checkouts } = places;
    const held: PidLock[] = [];
    try {
      for (const path of [...(await slotsIn(checkouts)).map(slotLock), mirrorLock(gitDir)]) {
        const lock = await tryLock(path).catch(unlessGone);
        if (lock === undefined) return false;
        if (lock !== "gone") held.push(lock);
      }
      // Without its checkouts a mirror is of use; checkouts without their mirror are not.
      await setAside(dataFolder, checkouts);
      await setAside(dataFolder, gitDir);
    } finally {
      await Promise.all(held.map((lock) => lock.release()));
    }
    await Promise.all([gitDir, checkouts].map((folder) => removeEmptyParents(folder, 2)));
    return true;
  });
}

export function unlessGone(error: NodeJS.ErrnoException): "gone" {
  if (error.code === "ENOENT") return "gone";
  throw error;
}

/** Removes the folders around one as far as they are empty; whoever makes a folder there at the same time makes them anew. */
export async function removeEmptyParents(folder: string, levels: number): Promise<void> {
  for (let parent = dirname(folder), level = 0; level < levels; level++, parent = dirname(parent)) {
    try {
      await rmdir(parent);
    } catch {
      return;
    }
  }
}
