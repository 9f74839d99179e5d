import { rmSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { livenessOf, ownIdentity, type ProcessIdentity } from "../process-identity.ts";

const PREFIX = "hunkwise-range-";
const OWNER = "owner.json";
/** No range is read for so long. */
const OLD_MS = 24 * 3_600_000;

/** Makes a folder for this process, and removes those that killed processes have left beside it. */
export async function makeTempFolder(parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, PREFIX));
  await writeFile(join(folder, OWNER), JSON.stringify(ownIdentity));
  await removeAbandoned(parent);
  return folder;
}

/** All at once: asking for each file by itself takes twice as long, and whoever ends a range has nothing else to do. */
export async function removeFolder(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes the folders of processes that were killed. File by file: a server asks for this and answers others meanwhile. */
export async function removeAbandoned(parent: string): Promise<void> {
  const names = (await readdir(parent).catch(() => [])).filter((name) => name.startsWith(PREFIX));
  const folders = names.map((name) => join(parent, name));
  await Promise.all(
    folders.map(async (folder) => {
      // Folders of other users cannot be read, and those of other containers are not ours to judge.
      if (await isAbandoned(folder).catch(() => false))
        await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
    }),
  );
}

async function isAbandoned(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, OWNER), "utf8").catch(() => "");
  const liveness = text === "" ? "unknown" : livenessOf(JSON.parse(text) as ProcessIdentity);
  return liveness === "dead" || (liveness === "unknown" && (await isOld(folder)));
}

/** What lived in another container, or died before it could say who it is. */
async function isOld(folder: string): Promise<boolean> {
  const { mtimeMs } = await stat(folder);
  return Date.now() - mtimeMs > OLD_MS;
}
