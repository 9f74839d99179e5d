import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { endOrphans, lock, type PidLock, tryLock } from "./owner.ts";
import { HARDENED_ATTRIBUTES } from "./scratch.ts";

/** A repository by its id on the host, which it keeps when it is renamed. */
export interface HostedRepository {
  host: string;
  id: number;
}

/** Only the owner reads what is stored, also in a data folder that somebody else made with another mode. */
export const makePrivate = (folder: string) => mkdir(folder, { recursive: true, mode: 0o700 });

/** `<host>/id/<id>` */
const repositoryPath = ({ host, id }: HostedRepository) =>
  join(host.replace(":", "_").toLowerCase(), "id", `${id}`);

/** The mirror's id if all of its own files are correct; undefined if they must be written. */
export async function mirrorId(gitDir: string, url: string): Promise<string | undefined> {
  const read = (path: string) => readFile(join(gitDir, path), "utf8").catch(() => undefined);
  const [id, ...present] = await Promise.all([read(ID_FILE), ...ownFiles(url).map(([path]) => read(path))]);
  return ownFiles(url).every(([, content], at) => present[at] === content) ? id : undefined;
}

/** Writes our files of a mirror, and returns its id. Only for the holder of the mirror's lock. */
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

/** The id of the mirror in this folder; undefined if it was never finished. */
export async function mirrorIdOf(gitDir: string): Promise<string | undefined> {
  return (await readFile(join(gitDir, ID_FILE), "utf8").catch(() => "")) || undefined;
}

const ID_FILE = "hunkwise-id";

/** The whole config is known, so nothing else can get into it. */
function ownFiles(url: string): [string, string][] {
  return [
    ["HEAD", "ref: refs/heads/none\n"],
    ["config", configFile(url)],
    ["info/attributes", HARDENED_ATTRIBUTES],
  ];
}

/** Does not say that this is a partial clone: only a fetch knows, so no other process can fetch missing objects. */
function configFile(url: string): string {
  const core = "[core]\n\trepositoryFormatVersion = 0\n\tbare = true";
  return `${core}\n[remote "origin"]\n\turl = ${JSON.stringify(url)}\n`;
}

async function replaceFile(path: string, content: string): Promise<void> {
  const draft = `${path}.new`;
  await writeFile(draft, content);
  await rename(draft, path);
}

/** Removes lock files, drafts and unfinished packs of a killed or failed git. Only for the holder of the mirror's lock. */
export async function removeLeftovers(gitDir: string): Promise<void> {
  const names = (
    await Promise.all(["", "info", "refs", "objects"].map((name) => namesBelow(gitDir, name)))
  ).flat();
  const present = new Set(names);
  const leftovers = names.filter((name) => isLeftover(name) || isUnfinishedPack(name, present));
  await Promise.all(leftovers.map((name) => rm(join(gitDir, name), { force: true })));
}

/** The names directly in the mirror's own folder; for the other folders, all names below. */
async function namesBelow(gitDir: string, folder: string): Promise<string[]> {
  const names = await readdir(join(gitDir, folder), { recursive: folder !== "" }).catch(() => []);
  return names.map((name) => join(folder, name));
}

/** A `.keep` file protects a pack from being joined with others while its fetch runs. */
function isLeftover(name: string): boolean {
  return /\.(?:lock|new|keep)$|(?:^|\/)\.?tmp[-_]/.test(name);
}

/** The index is moved into place last. */
function isUnfinishedPack(name: string, present: ReadonlySet<string>): boolean {
  const [, pack] = /^(objects\/pack\/pack-[0-9a-f]+)\.(?:pack|rev|promisor)$/.exec(name) ?? [];
  return pack !== undefined && !present.has(`${pack}.idx`);
}

export interface RepositoryPlaces {
  gitDir: string;
  /** Contains a folder for each checkout: `0`, `1` ... */
  checkouts: string;
}

export const placesOf = (dataFolder: string, repository: HostedRepository): RepositoryPlaces =>
  placesAt(dataFolder, repositoryPath(repository));

/** For `<host>/id/<id>` as on the disk. */
export function placesAt(dataFolder: string, path: string): RepositoryPlaces {
  return {
    gitDir: `${join(dataFolder, "mirrors", path)}.git`,
    checkouts: join(dataFolder, "checkouts", path),
  };
}

/** Contains the index of the repository's graph, and is removed with its mirror. */
export const graphFolder = (gitDir: string) => join(gitDir, "hunkwise-graph");
export const graphIndex = (gitDir: string) => join(graphFolder(gitDir), "index.db");

/** Held while writing to a mirror. */
export const mirrorLock = (gitDir: string) => join(gitDir, "hunkwise.pid");
/** Held while using a checkout and the mirror it was made from. */
export const slotLock = (slot: string) => join(slot, "pid");

/** The folders of a repository's checkouts, in use or not. */
export async function slotsIn(checkouts: string): Promise<string[]> {
  const names = await readdir(checkouts).catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map((name) => join(checkouts, name));
}

/** `<host>/id/<id>` of every repository with a mirror or a checkout here. */
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

/** Runs `work`, of milliseconds, while no other code, in this process or another, takes or removes a place for a checkout. */
export async function arranging<Result>(
  dataFolder: string,
  work: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  await makePrivate(dataFolder);
  const held = await lock(join(dataFolder, "disk.pid"), signal, { evenFrozen: true });
  try {
    return await work();
  } finally {
    await held.release();
  }
}

/** Deletes the mirror and the checkouts of one repository. False, and nothing is changed, while a live process uses one of them. */
export async function removeRepository(dataFolder: string, repository: HostedRepository): Promise<boolean> {
  const folder = resolve(dataFolder);
  const removed = await setRepositoryAside(folder, placesOf(folder, repository));
  await emptyTrash(folder);
  return removed;
}

export async function isMirrored(dataFolder: string, repository: HostedRepository): Promise<boolean> {
  return (await mirrorIdOf(placesOf(dataFolder, repository).gitDir)) !== undefined;
}

/** Moves a repository's folders to the trash at once, unless they are in use. */
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
      // A mirror is useful without its checkouts; checkouts without their mirror are not.
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

/** Removes the parent folders that are empty. A process that creates a folder there at the same time creates its parents too. */
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

/** Moves a folder to the trash in one step, so that a kill during deletion leaves no partial folder. */
export async function setAside(dataFolder: string, folder: string): Promise<void> {
  const trash = trashFolder(dataFolder);
  await makePrivate(trash);
  await rename(folder, join(trash, randomUUID())).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
}

/** Deletes everything in the trash, including folders of other processes. Stops when the signal fires; the next call deletes the rest. */
export async function emptyTrash(dataFolder: string, signal?: AbortSignal): Promise<void> {
  const trash = trashFolder(dataFolder);
  for (const name of await readdir(trash).catch(() => [])) {
    if (signal?.aborted) return;
    // Another process may be deleting it too; the last one deletes the rest.
    await rm(join(trash, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}

export class Slot {
  readonly root: string;
  readonly indexFile: string;
  readonly #folder: string;
  readonly #lock: PidLock;

  private constructor(folder: string, lock: PidLock) {
    this.#folder = folder;
    this.#lock = lock;
    this.root = join(folder, "tree");
    this.indexFile = join(folder, "index");
  }

  /** Takes the first free slot of a pool; the number of slots is the maximum number of simultaneous jobs so far. */
  static async take(dataFolder: string, pool: string, signal?: AbortSignal): Promise<Slot> {
    const slot = await arranging(dataFolder, () => Slot.#takeFirst(pool), signal);
    // A program of the dead holder may still be writing to the slot.
    if (slot.#lock.inherited) await endOrphans();
    return slot;
  }

  static async #takeFirst(pool: string): Promise<Slot> {
    for (let number = 0; ; number++) {
      const folder = join(pool, String(number));
      await makePrivate(folder);
      const lock = await tryLock(slotLock(folder));
      if (lock) return new Slot(folder, lock);
    }
  }

  /** The slot's content; undefined, and an empty folder, if that is uncertain. */
  async state(mirror: string): Promise<SlotState | undefined> {
    const state = await readState(this.#folder);
    if (state?.mirror === mirror) return state;
    await this.empty();
    return undefined;
  }

  async empty(): Promise<void> {
    await rm(this.#stateFile, { force: true });
    const remove = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });
    await Promise.all([remove(this.root), remove(this.indexFile), remove(`${this.indexFile}.lock`)]);
    await mkdir(this.root, { recursive: true });
  }

  /** Until `settle`, the slot's content is unreliable, but its planned size counts. */
  unsettle(planned: Pick<SlotState, "files" | "bytes">): Promise<void> {
    return this.settle({ ...planned, mirror: "", sha: "" });
  }

  async settle(state: SlotState): Promise<void> {
    const draft = `${this.#stateFile}.new`;
    await writeFile(draft, JSON.stringify(state));
    await rename(draft, this.#stateFile);
  }

  /** Releases the slot; the time since its last use counts from now. */
  async release(): Promise<void> {
    const now = new Date();
    await utimes(this.#stateFile, now, now).catch(() => {});
    await this.#lock.release();
  }

  get #stateFile(): string {
    return stateFile(this.#folder);
  }
}

/** The content of a slot's folder. `mirror` is the id of the mirror, empty while the content is uncertain and the numbers are planned ones. */
const SlotState = z.object({ mirror: z.string(), sha: z.string(), files: z.number(), bytes: z.number() });
type SlotState = z.infer<typeof SlotState>;

export const stateFile = (slot: string) => join(slot, "state.json");

/** The recorded state of a slot's folder; undefined if there is none. */
export async function readState(slot: string): Promise<SlotState | undefined> {
  try {
    return SlotState.parse(JSON.parse(await readFile(stateFile(slot), "utf8")));
  } catch {
    return undefined;
  }
}
