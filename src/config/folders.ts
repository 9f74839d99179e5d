import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve, sep } from "node:path";
import { givenDataHome } from "./process-env.ts";

/** What the place of a user's data depends on. */
interface System {
  platform: NodeJS.Platform;
  home: string | null;
  dataHome: string | undefined;
}

const systemHere = (): System => ({
  platform: process.platform,
  home: homeFolder(),
  dataHome: givenDataHome(),
});

/** The folder of Hunkwise's own `package.json`, next to which `.env` lies. */
export const ownFolder = join(import.meta.dirname, "../..");

/** A package has no sources; a checkout is its owner's, and no update replaces it. */
const isCheckout = (program: string) => existsSync(join(program, "src"));

/** Never relative to the current folder, which is often a foreign repository. */
export const dataFolder = (named: string | undefined): string =>
  named ? resolve(ownFolder, named) : defaultDataFolder(ownFolder);

/**
 * The data folder without `HUNKWISE_DATA_DIR`: in the program's folder for a checkout, and where an earlier version has made it; otherwise
 * the user's, which no update of the program deletes.
 */
export function defaultDataFolder(program: string, system: System = systemHere()): string {
  const beside = join(program, ".hunkwise");
  return isCheckout(program) || existsSync(beside) ? beside : (userDataFolder(system) ?? beside);
}

const usualDataHomes: Partial<Record<NodeJS.Platform, string>> = {
  win32: "AppData/Local",
  darwin: "Library/Application Support",
};

/** Null without a home. A relative path would lead into the current folder. */
function userDataFolder({ platform, home, dataHome }: System): string | null {
  if (dataHome && isAbsolute(dataHome)) return join(dataHome, "hunkwise");
  return home && join(home, usualDataHomes[platform] ?? ".local/share", "hunkwise");
}

/** For environments of proofs, which sandboxes read. Those of root run as `nobody`, who cannot enter root's data folder. */
export const environmentsFolder = (folder: string): string =>
  process.getuid?.() === 0 ? "/var/cache/hunkwise/environments" : join(folder, "environments");

/** Whether an update of the program, or `npm ci`, deletes the folder. */
export const isInPackage = (folder: string, program = ownFolder): boolean =>
  folder.split(sep).includes("node_modules") ||
  (!isCheckout(program) && `${folder}${sep}`.startsWith(`${program}${sep}`));

/** An empty or relative HOME counts as none: it would lead into the current folder, often the repository under review. */
function homeFolder(): string | null {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : null;
  } catch {
    return null;
  }
}

/** Null without a home. */
export function cacheFolder(): string | null {
  const home = homeFolder();
  return home && join(home, ".cache", "hunkwise");
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
