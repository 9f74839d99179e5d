import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { mirrorIdOf, type RepositoryName, repositoryPath } from "../mirror-folder.ts";
import { lock, type PidLock, tryLock } from "../pid-lock.ts";

/** Where the data folder keeps what belongs to one repository. */
export interface RepositoryPlaces {
  /** The bare repository. */
  gitDir: string;
  /** Holds a folder for each checkout: `0`, `1` ... */
  checkouts: string;
}

/** Rejects with `usage` what is no name of a repository, so that no name leads out of the data folder. */
export function placesOf(dataFolder: string, repository: RepositoryName): RepositoryPlaces {
  return placesAt(dataFolder, repositoryPath(repository));
}

/** For `<host>/<owner>/<name>` as it stands on the disk. */
export function placesAt(dataFolder: string, path: string): RepositoryPlaces {
  return {
    gitDir: `${join(dataFolder, "mirrors", path)}.git`,
    checkouts: join(dataFolder, "checkouts", path),
  };
}

/** Holds the index of the repository's graph, and goes away with its mirror. */
export const graphFolder = (gitDir: string) => join(gitDir, "hunkwise-graph");
/** The index in it. */
export const graphIndex = (gitDir: string) => join(graphFolder(gitDir), "index.db");

/** The lock of whoever writes to a mirror. */
export const mirrorLock = (gitDir: string) => join(gitDir, "hunkwise.pid");
/** The lock of whoever uses a checkout, and the mirror it was made from. */
export const slotLock = (slot: string) => join(slot, "pid");

/** The folders of a repository's checkouts, whether in use or not. */
export async function slotsIn(checkouts: string): Promise<string[]> {
  const names = await readdir(checkouts).catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map((name) => join(checkouts, name));
}

/** `<host>/<owner>/<name>` of every repository of which a mirror or a checkout is here. */
export async function repositoriesIn(dataFolder: string): Promise<string[]> {
  const [mirrors, checkouts] = await Promise.all([
    threeDeep(join(dataFolder, "mirrors")),
    threeDeep(join(dataFolder, "checkouts")),
  ]);
  return [...new Set([...mirrors.map((path) => path.replace(/\.git$/, "")), ...checkouts])];
}

async function threeDeep(root: string): Promise<string[]> {
  let paths = [""];
  for (let depth = 0; depth < 3; depth++) {
    const below = await Promise.all(
      paths.map(async (path) => {
        const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => []);
        return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
      }),
    );
    paths = below.flat();
  }
  return paths;
}

/**
 * Runs something while no other process, and nobody else in this one, takes a place for a checkout or removes one: what is
 * free then stays free. For milliseconds of work; large folders are set aside and deleted afterwards.
 */
export async function arranging<Result>(
  dataFolder: string,
  work: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  await mkdir(dataFolder, { recursive: true });
  const held = await lock(join(dataFolder, "disk.pid"), signal, { evenFrozen: true });
  try {
    return await work();
  } finally {
    await held.release();
  }
}

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
