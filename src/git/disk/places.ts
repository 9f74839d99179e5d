import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type RepositoryName, repositoryPath } from "../mirror-folder.ts";

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
