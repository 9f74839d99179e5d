import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { lock } from "../pid-lock.ts";

/**
 * Runs something while no other process, and nobody else in this one, takes a place for a checkout or removes one: what is
 * free then stays free. For milliseconds of work; large folders are set aside and deleted afterwards.
 */
export async function arranging<Result>(
  dataFolder: string,
  work: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  await mkdir(dataFolder, { recursive: true });
  const held = await lock(join(dataFolder, "disk.pid"), signal, { evenFrozen: true });
  try {
    return await work();
  } finally {
    await held.release();
  }
}
