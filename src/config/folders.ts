import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { LocalEnv } from "./env.ts";
import { defaultDataFolder } from "./variables.ts";

/** The folder of Hunkwise's own `package.json`, beside which `.env` lies. */
export const ownFolder = join(import.meta.dirname, "../..");

/**
 * The data folder: `HUNKWISE_DATA_DIR`, or `.hunkwise`. Relative to Hunkwise's own folder and never to the current one, which is
 * another one for each command and often somebody else's repository.
 */
export const dataFolder = (named: string | undefined): string =>
  resolve(ownFolder, named || defaultDataFolder);

/** Whether the App or a queue is kept there. */
const holdsData = (folder: string) => ["app.json", "queue.db"].some((name) => existsSync(join(folder, name)));

/**
 * The folder of data that a data folder without any leaves behind: it lies where earlier versions looked, relative to the current
 * folder. Null where nothing is left behind.
 */
export function leftBehind(named: string | undefined, current = process.cwd()): string | null {
  const before = resolve(current, named || defaultDataFolder);
  const now = dataFolder(named);
  return before !== now && holdsData(before) && !holdsData(now) ? before : null;
}

/**
 * Where a person's commands keep what can be found out again; null without a home. An empty or relative HOME is none: it would lead
 * into the current folder, which is often the repository under review.
 */
export function cacheFolder(): string | null {
  try {
    const home = homedir();
    return isAbsolute(home) ? join(home, ".cache", "hunkwise") : null;
  } catch {
    return null;
  }
}

/** Where this user's index of a repository lies, by its folder; null where there is no folder to keep it in. */
export function localIndex(repo: string, { modelFolder }: Pick<LocalEnv, "modelFolder">): string | null {
  if (modelFolder === null) return null;
  const name = createHash("sha256").update(resolve(repo)).digest("hex").slice(0, 32);
  return join(modelFolder, "graphs", `${name}.db`);
}

/** The same where somebody has asked the graph before: else null. */
export function presentIndex(repo: string, env: Pick<LocalEnv, "modelFolder">): string | null {
  const file = localIndex(repo, env);
  return file !== null && existsSync(file) ? file : null;
}
