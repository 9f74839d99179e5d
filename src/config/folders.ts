import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve, sep } from "node:path";
import { defaultDataFolder } from "./variables.ts";

/** The folder of Hunkwise's own `package.json`, next to which `.env` lies. */
export const ownFolder = join(import.meta.dirname, "../..");

/** Relative to Hunkwise's own folder and never to the current one, which is often a foreign repository. */
export const dataFolder = (named: string | undefined): string =>
  resolve(ownFolder, named || defaultDataFolder);

/** For environments of proofs, which sandboxes read. Those of root run as `nobody`, who cannot enter root's data folder. */
export const environmentsFolder = (folder: string): string =>
  process.getuid?.() === 0 ? "/var/cache/hunkwise/environments" : join(folder, "environments");

/** Whether a package manager owns the folder: an update, or `npm ci`, deletes what it did not put there. */
export const isInPackage = (folder: string): boolean => folder.split(sep).includes("node_modules");

/** Null without a home. An empty or relative HOME counts as none: it would lead into the current folder, often the repository under review. */
export function cacheFolder(): string | null {
  try {
    const home = homedir();
    return isAbsolute(home) ? join(home, ".cache", "hunkwise") : null;
  } catch {
    return null;
  }
}

interface CacheFolder {
  modelFolder: string | null;
}

/** The path of this user's graph index of a repository, by the repository's folder; null if there is no cache folder. */
export function localIndex(repo: string, { modelFolder }: CacheFolder): string | null {
  if (modelFolder === null) return null;
  const name = createHash("sha256").update(resolve(repo)).digest("hex").slice(0, 32);
  return join(modelFolder, "graphs", `${name}.db`);
}

/** Like `localIndex`, but null if the index does not exist. */
export function presentIndex(repo: string, env: CacheFolder): string | null {
  const file = localIndex(repo, env);
  return file !== null && existsSync(file) ? file : null;
}
