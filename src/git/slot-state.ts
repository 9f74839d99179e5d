import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

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
