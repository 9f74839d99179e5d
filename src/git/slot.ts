import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type PidLock, tryLock } from "./pid-lock.ts";

/** What a slot's folder holds. `mirror` is the id of the mirror whose objects it was written from. */
const SlotState = z.object({ mirror: z.string(), sha: z.string(), files: z.number(), bytes: z.number() });
export type SlotState = z.infer<typeof SlotState>;

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
  static async take(pool: string): Promise<Slot> {
    for (let number = 0; ; number++) {
      const folder = join(pool, String(number));
      await mkdir(folder, { recursive: true });
      const lock = await tryLock(join(folder, "pid"));
      if (lock) return new Slot(folder, lock);
    }
  }

  /** What the slot holds; undefined, and an empty folder, when that is not certain. */
  async state(mirror: string): Promise<SlotState | undefined> {
    const text = await readFile(this.#stateFile, "utf8").catch(() => "");
    const state = SlotState.safeParse(parseJson(text));
    if (state.success && state.data.mirror === mirror) return state.data;
    await this.empty();
    return undefined;
  }

  async empty(): Promise<void> {
    await this.unsettle();
    const remove = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });
    await Promise.all([remove(this.root), remove(this.indexFile), remove(`${this.indexFile}.lock`)]);
    await mkdir(this.root, { recursive: true });
  }

  /** From here on until `settle` nobody may rely on what the slot holds. */
  async unsettle(): Promise<void> {
    await rm(this.#stateFile, { force: true });
  }

  async settle(state: SlotState): Promise<void> {
    const draft = `${this.#stateFile}.new`;
    await writeFile(draft, JSON.stringify(state));
    await rename(draft, this.#stateFile);
  }

  release(): Promise<void> {
    return this.#lock.release();
  }

  get #stateFile(): string {
    return join(this.#folder, "state.json");
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
