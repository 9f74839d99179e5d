import { rmSync } from "node:fs";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { livenessOf, ownIdentity, type ProcessIdentity } from "../process-identity.ts";

const PREFIX = "hunkwise-range-";
const OWNER = "owner.json";

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

async function removeAbandoned(parent: string): Promise<void> {
  const names = (await readdir(parent).catch(() => [])).filter((name) => name.startsWith(PREFIX));
  const folders = names.map((name) => join(parent, name));
  await Promise.all(
    folders.map(async (folder) => {
      // Folders of other users cannot be read, and those of other containers are not ours to judge.
      if (await isAbandoned(folder)) await removeFolder(folder).catch(() => {});
    }),
  );
}

async function isAbandoned(folder: string): Promise<boolean> {
  try {
    const owner = JSON.parse(await readFile(join(folder, OWNER), "utf8")) as ProcessIdentity;
    return livenessOf(owner) === "dead";
  } catch {
    return false;
  }
}
