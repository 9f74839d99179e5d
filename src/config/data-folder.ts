import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
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
