import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { livenessOf, ownIdentity } from "../process-identity.ts";

/** What a lock file holds. The nonce tells this holding from the next one of the same process. */
const Holder = z.object({ pid: z.number(), scope: z.string(), started: z.string(), nonce: z.string() });
type Holder = z.infer<typeof Holder>;

export interface PidLock {
  /** Whether the holder before us died with the lock in its hand: what it was writing may be half done. */
  readonly inherited: boolean;
  release(): Promise<void>;
}

const BEAT_MS = 3000;
/** A holder whose pid says nothing to us (another container) counts as dead after this long without a beat. */
const SILENCE_MS = 20_000;
const POLL_MS = 25;

/**
 * Takes a lock file if nobody alive holds it; undefined when somebody does. Works between processes and within one.
 * A dead holder's file is replaced, never removed first, so that two who find it dead cannot both get it.
 */
export async function tryLock(path: string): Promise<PidLock | undefined> {
  const mine: Holder = { ...ownIdentity, nonce: randomUUID() };
  const draft = `${path}.${mine.nonce}`;
  await writeFile(draft, JSON.stringify(mine));
  try {
    if (await linked(draft, path)) return held(path, mine, false);
    const holder = await holderOf(path);
    if (holder === "gone" || (await isAlive(path, holder))) return undefined;
    return await takeOver(path, holder, draft, mine);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Waits until the lock is free. Rejects with `aborted` when the signal fires first. */
export async function lock(path: string, signal?: AbortSignal): Promise<PidLock> {
  for (;;) {
    const taken = await tryLock(path);
    if (taken) return taken;
    if (signal?.aborted)
      throw new AppError("aborted", "Aborted while waiting for another job on the same repository");
    await sleep(POLL_MS, undefined, signal ? { signal } : {}).catch(() => {});
  }
}

/** Hard links are made or not made; a file that was created but not yet written cannot be seen. */
async function linked(draft: string, path: string): Promise<boolean> {
  return await link(draft, path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return false;
      throw error;
    },
  );
}

/**
 * Replaces the file of a dead holder. The right to do so is itself a lock, named after the holding that ended; whoever
 * gets it looks again, because another may have been through already.
 */
async function takeOver(path: string, dead: Holder | "unreadable", draft: string, mine: Holder) {
  const nonce = dead === "unreadable" ? dead : dead.nonce;
  const right = await tryLock(`${path}.heir-of-${nonce}`);
  if (!right) return undefined;
  try {
    const now = await holderOf(path);
    const unchanged = now === dead || (typeof now === "object" && now.nonce === nonce);
    if (!unchanged) return undefined;
    await rename(draft, path);
    return held(path, mine, true);
  } finally {
    await right.release();
  }
}

async function holderOf(path: string): Promise<Holder | "gone" | "unreadable"> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return "gone";
  try {
    return Holder.parse(JSON.parse(text));
  } catch {
    return "unreadable";
  }
}

async function isAlive(path: string, holder: Holder | "unreadable"): Promise<boolean> {
  const liveness = holder === "unreadable" ? "unknown" : livenessOf(holder);
  if (liveness !== "unknown") return liveness === "alive";
  const beat = await stat(path).catch(() => undefined);
  return beat !== undefined && Date.now() - beat.mtimeMs < SILENCE_MS;
}

function held(path: string, mine: Holder, inherited: boolean): PidLock {
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, BEAT_MS);
  beat.unref();
  return {
    inherited,
    release: async () => {
      clearInterval(beat);
      const holder = await holderOf(path);
      if (typeof holder === "object" && holder.nonce === mine.nonce) await rm(path, { force: true });
    },
  };
}
