import { tryLock } from "../pid-lock.ts";
import { arranging } from "./arranging.ts";
import { type Kept, listKept } from "./kept.ts";
import { placesAt, slotLock } from "./places.ts";
import { removeEmptyParents, setRepositoryAside, unlessGone } from "./remove-repository.ts";
import { emptyTrash, setAside } from "./trash.ts";

export interface Goal {
  /** Of all mirrors and checkouts together. */
  limitBytes: number;
  /** What was not used since then goes in any case; milliseconds since 1970. */
  unusedSince: number;
  /** Whether the disk has room enough; asked after each that went. */
  hasRoom(): Promise<boolean>;
  /** Nothing more goes once it has fired. */
  signal: AbortSignal;
}

/**
 * Deletes mirrors and checkouts until the goal is met, those first that were not used for the longest time, and never what
 * somebody alive uses. Returns what went, and how much is left.
 */
export async function evict(
  dataFolder: string,
  goal: Goal,
): Promise<{ evicted: Kept[]; totalBytes: number }> {
  const { limitBytes, unusedSince, hasRoom, signal } = goal;
  const oldestFirst = (await listKept(dataFolder)).sort(byUse);
  let total = oldestFirst.reduce((sum, { bytes }) => sum + bytes, 0);
  const evicted: Kept[] = [];
  for (const one of oldestFirst) {
    if (signal.aborted) break;
    if (one.usedAt >= unusedSince && total <= limitBytes && (await hasRoom())) break;
    if (!(await discard(dataFolder, one))) continue;
    await emptyTrash(dataFolder);
    total -= one.bytes;
    evicted.push(one);
  }
  return { evicted, totalBytes: total };
}

/** Checkouts before the mirror that was used with them: they are of no use without it. */
function byUse(one: Kept, other: Kept): number {
  return one.usedAt - other.usedAt || Number(one.kind === "mirror") - Number(other.kind === "mirror");
}

async function discard(dataFolder: string, { kind, repository, folder }: Kept): Promise<boolean> {
  if (kind === "mirror") return await setRepositoryAside(dataFolder, placesAt(dataFolder, repository));
  return await arranging(dataFolder, async () => {
    const lock = await tryLock(slotLock(folder)).catch(unlessGone);
    if (lock === undefined) return false;
    await setAside(dataFolder, folder);
    if (lock !== "gone") await lock.release();
    await removeEmptyParents(folder, 3);
    return true;
  });
}
