import { readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mirrorIdOf, removeLeftovers } from "../mirror-folder.ts";
import { tryLock } from "../pid-lock.ts";
import { readState } from "../slot-state.ts";
import { removeAbandoned } from "../temp-folder.ts";
import { arranging } from "./arranging.ts";
import { mirrorLock, placesAt, type RepositoryPlaces, repositoriesIn, slotLock, slotsIn } from "./places.ts";
import { removeEmptyParents } from "./remove-repository.ts";
import { emptyTrash, setAside } from "./trash.ts";

/**
 * Removes what killed processes left on the disk: locks, drafts, packs and checkouts that were never finished, temporary
 * folders. What somebody alive uses is left alone, and what is whole is kept. Once the signal has fired, the rest is left.
 */
export async function sweep(dataFolder: string, signal?: AbortSignal): Promise<void> {
  await removeAbandoned(tmpdir());
  for (const repository of await repositoriesIn(dataFolder)) {
    if (signal?.aborted) return;
    // One at a time, so that jobs get their turn in between.
    await arranging(dataFolder, () => sweepRepository(dataFolder, placesAt(dataFolder, repository)));
  }
  await emptyTrash(dataFolder, signal);
}

async function sweepRepository(dataFolder: string, { gitDir, checkouts }: RepositoryPlaces): Promise<void> {
  await releaseRights([gitDir, ...(await slotsIn(checkouts))]);
  const id = await mirrorIdOf(gitDir);
  for (const slot of await slotsIn(checkouts)) {
    await ifFree(slotLock(slot), () => sweepSlot(dataFolder, slot, id));
  }
  await removeEmptyParents(join(checkouts, "0"), 3);
  await ifFree(mirrorLock(gitDir), async () => {
    // Asked again by the one who holds it: somebody may have made the mirror meanwhile.
    if ((await mirrorIdOf(gitDir)) !== undefined) return await removeLeftovers(gitDir);
    await setAside(dataFolder, gitDir);
    await removeEmptyParents(gitDir, 2);
  });
}

/** A checkout that was not finished, or was made from a mirror that is gone, would be written anew. */
async function sweepSlot(dataFolder: string, slot: string, mirror: string | undefined): Promise<void> {
  const state = await readState(slot);
  if (mirror === undefined || state?.mirror !== mirror) return await setAside(dataFolder, slot);
  for (const draft of ["state.json.new", "index.lock"]) await rm(join(slot, draft), { force: true });
}

/** Takes a lock if it is free or its holder died, and does something with it. */
async function ifFree(path: string, work: () => Promise<void>): Promise<void> {
  const lock = await tryLock(path).catch(() => undefined);
  try {
    if (lock) await work();
  } finally {
    await lock?.release();
  }
}

/** The right to inherit a lock stays behind when its holder dies while another inherits. */
async function releaseRights(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((one) => one.includes(".heir-of-"))) {
      await ifFree(join(folder, name), async () => {});
    }
  }
}
