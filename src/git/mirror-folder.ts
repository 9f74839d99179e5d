import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../errors.ts";
import { HARDENED_ATTRIBUTES } from "./scratch-repository.ts";

/** A repository by the names its host knows it by. */
export interface RepositoryName {
  host: string;
  owner: string;
  name: string;
}

/** `<host>/<owner>/<name>`; GitHub does not tell upper from lower case, and neither may two mirrors. */
export function repositoryPath({ host, owner, name }: RepositoryName): string {
  const parts = [host.replace(":", "_"), owner, name].map((part) => part.toLowerCase());
  if (
    parts.some((part) => !/^[a-z0-9_-][a-z0-9._-]*$/.test(part) && !/^\.[a-z0-9_-][a-z0-9._-]*$/.test(part))
  ) {
    throw new AppError("usage", `'${owner}/${name}' is not the name of a repository`);
  }
  return join(...(parts as [string, string, string]));
}

/** The mirror's id when all of its own files are as they should be; undefined when they have to be written. */
export async function mirrorId(gitDir: string, url: string): Promise<string | undefined> {
  const read = (path: string) => readFile(join(gitDir, path), "utf8").catch(() => undefined);
  const [id, ...present] = await Promise.all([read(ID_FILE), ...ownFiles(url).map(([path]) => read(path))]);
  return ownFiles(url).every(([, content], at) => present[at] === content) ? id : undefined;
}

/** Writes every file of a mirror that is ours, and returns its id. Only for the holder of the mirror's lock. */
export async function writeMirror(gitDir: string, url: string): Promise<string> {
  const folders = ["objects/pack", "objects/info", "refs", "info"];
  await Promise.all(folders.map((folder) => mkdir(join(gitDir, folder), { recursive: true })));
  for (const [path, content] of ownFiles(url)) await replaceFile(join(gitDir, path), content);
  const present = await mirrorIdOf(gitDir);
  if (present) return present;
  const id = randomUUID();
  await replaceFile(join(gitDir, ID_FILE), id);
  return id;
}

/** The id of whatever mirror is in this folder; undefined when it was never finished. */
export async function mirrorIdOf(gitDir: string): Promise<string | undefined> {
  return (await readFile(join(gitDir, ID_FILE), "utf8").catch(() => "")) || undefined;
}

const ID_FILE = "hunkwise-id";

/** The config is known to the last byte, so nothing else can get into it. */
function ownFiles(url: string): [string, string][] {
  return [
    ["HEAD", "ref: refs/heads/none\n"],
    ["config", configFile(url)],
    ["info/attributes", HARDENED_ATTRIBUTES],
  ];
}

/**
 * Nothing here says that this is a partial clone; a fetch is told so by its environment. To every other process a missing
 * object is simply missing, so that none can go and fetch it.
 */
function configFile(url: string): string {
  const core = "[core]\n\trepositoryFormatVersion = 0\n\tbare = true";
  return `${core}\n[remote "origin"]\n\turl = ${JSON.stringify(url)}\n`;
}

async function replaceFile(path: string, content: string): Promise<void> {
  const draft = `${path}.new`;
  await writeFile(draft, content);
  await rename(draft, path);
}

/**
 * Removes what a git that was killed or failed leaves behind, stumbles over afterwards or keeps for ever: lock files, drafts,
 * and packs that were never finished. Only for the holder of the mirror's lock.
 */
export async function removeLeftovers(gitDir: string): Promise<void> {
  const names = (
    await Promise.all(["", "info", "refs", "objects"].map((name) => namesBelow(gitDir, name)))
  ).flat();
  const present = new Set(names);
  const leftovers = names.filter((name) => isLeftover(name) || isUnfinishedPack(name, present));
  await Promise.all(leftovers.map((name) => rm(join(gitDir, name), { force: true })));
}

/** Of the mirror's own folder without what is below it, of the others all. */
async function namesBelow(gitDir: string, folder: string): Promise<string[]> {
  const names = await readdir(join(gitDir, folder), { recursive: folder !== "" }).catch(() => []);
  return names.map((name) => join(folder, name));
}

/** A pack is kept from being joined with others while its fetch runs, by a `.keep` file. */
function isLeftover(name: string): boolean {
  return /\.(?:lock|new|keep)$|(?:^|\/)\.?tmp[-_]/.test(name);
}

/** The index is put in its place last. */
function isUnfinishedPack(name: string, present: ReadonlySet<string>): boolean {
  const [, pack] = /^(objects\/pack\/pack-[0-9a-f]+)\.(?:pack|rev|promisor)$/.exec(name) ?? [];
  return pack !== undefined && !present.has(`${pack}.idx`);
}
