import { mkdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { arranging, slotLock } from "./disk/places.ts";
import { endOrphans } from "./owner.ts";
import { type PidLock, tryLock } from "./pid-lock.ts";

/** A place for one checkout, in the hand of one job. */
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

  /** Takes the first free slot of a pool; there are as many slots as there ever were jobs at the same time. */
  static async take(dataFolder: string, pool: string, signal?: AbortSignal): Promise<Slot> {
    const slot = await arranging(dataFolder, () => Slot.#takeFirst(pool), signal);
    // A program of the one who died may still be writing to the slot.
    if (slot.#lock.inherited) await endOrphans();
    return slot;
  }

  static async #takeFirst(pool: string): Promise<Slot> {
    for (let number = 0; ; number++) {
      const folder = join(pool, String(number));
      await mkdir(folder, { recursive: true });
      const lock = await tryLock(slotLock(folder));
      if (lock) return new Slot(folder, lock);
    }
  }

  /** What the slot holds; undefined, and an empty folder, when that is not certain. */
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

  /** From here on until `settle` nobody may rely on what the slot holds, but it counts as if it were there. */
  unsettle(planned: Pick<SlotState, "files" | "bytes">): Promise<void> {
    return this.settle({ ...planned, mirror: "", sha: "" });
  }

  async settle(state: SlotState): Promise<void> {
    const draft = `${this.#stateFile}.new`;
    await writeFile(draft, JSON.stringify(state));
    await rename(draft, this.#stateFile);
  }

  /** Gives it back; from now on it counts how long it was not used. */
  async release(): Promise<void> {
    const now = new Date();
    await utimes(this.#stateFile, now, now).catch(() => {});
    await this.#lock.release();
  }

  get #stateFile(): string {
    return stateFile(this.#folder);
  }
}

/**
 * What a slot's folder holds. `mirror` is the id of the mirror whose objects it was written from, and empty while it is not
 * certain what stands there; then files and bytes are what will.
 */
const SlotState = z.object({ mirror: z.string(), sha: z.string(), files: z.number(), bytes: z.number() });
export type SlotState = z.infer<typeof SlotState>;

export const stateFile = (slot: string) => join(slot, "state.json");

/** What a slot's folder says of itself; undefined where it says nothing. */
export async function readState(slot: string): Promise<SlotState | undefined> {
  try {
    return SlotState.parse(JSON.parse(await readFile(stateFile(slot), "utf8")));
  } catch {
    return undefined;
  }
}
