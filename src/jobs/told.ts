import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import type { LoopEntry, ToldEntry, TrajectoryEntry } from "../agent/trajectory.ts";
import type { JobTools } from "../queue/run-job.ts";

export interface Telling<T> {
  /** The change, and all that would make what was told of it wrong. */
  about: ToldEntry["about"];
  shape: z.ZodType<T>;
  recorded: readonly TrajectoryEntry[];
  /** What is on record of the same head. */
  turns: readonly LoopEntry[];
}

/**
 * What the model is told of a change beside its code, and what may be spent on it: as long as turns are on record that were asked
 * for with it, each attempt goes on with the same. Checks end, titles change and others spend while a job waits; with other
 * words every turn would be paid for a second time.
 */
export async function toldOnce<T>(
  { about, shape, recorded, turns }: Telling<T>,
  { record }: Pick<JobTools, "record">,
  tell: () => Promise<T>,
): Promise<T> {
  const isPaid = turns.some(({ kind }) => kind === "turn");
  const last = recorded.findLast((entry) => entry.kind === "told" && isDeepStrictEqual(entry.about, about));
  const known = isPaid && last?.kind === "told" ? shape.safeParse(last.told) : undefined;
  if (known?.success) return known.data;
  const told = await tell();
  await record({ kind: "told", about, told });
  return told;
}
