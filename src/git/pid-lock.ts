import { randomBytes } from "node:crypto";
import { lstat, lutimes, readlink, rename, rm, symlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { livenessOfTag, ownTag } from "./owner.ts";

export interface PidLock {
  /** Whether the holder before us died with the lock in its hand: what it was writing may be half done. */
  readonly inherited: boolean;
  release(): Promise<void>;
}

export interface LockOptions {
  /**
   * Also takes the lock from a process that lives and gives no sign of life, because it was stopped: for what two may do
   * at a time without harm, and must not be kept from.
   */
  evenFrozen?: boolean;
}

const BEAT_MS = 3000;
/** A holder whose pid says nothing to us (another container) counts as dead after this long without a beat. */
const SILENCE_MS = 20_000;
const POLL_MS = 25;

/**
 * Takes a lock if nobody alive holds it; undefined when somebody does. Works between processes and within one. A lock is a
 * symbolic link that leads nowhere and names its holder: it is made or not made, never half written, and so short that it
 * needs no room on the disk, so that a full one can be cleared.
 */
export async function tryLock(path: string, options: LockOptions = {}): Promise<PidLock | undefined> {
  const taken = await take(path, options);
  if (!taken) return undefined;
  const beat = setInterval(() => {
    const now = new Date();
    lutimes(path, now, now).catch(() => {});
  }, BEAT_MS);
  beat.unref();
  return {
    inherited: taken.inherited,
    release: async () => {
      clearInterval(beat);
      await giveBack(path, taken.holder);
    },
  };
}

/** Waits until the lock is free. Rejects with `aborted` when the signal fires first. */
export async function lock(path: string, signal?: AbortSignal, options?: LockOptions): Promise<PidLock> {
  for (;;) {
    const taken = await tryLock(path, options);
    if (taken) return taken;
    if (signal?.aborted)
      throw new AppError("aborted", "Aborted while waiting for another job on the same repository");
    await sleep(POLL_MS, undefined, signal ? { signal } : {}).catch(() => {});
  }
}

interface Taken {
  /** The process and, after the last full stop, a word that tells this holding from its next one. */
  holder: string;
  inherited: boolean;
}

async function take(path: string, options: LockOptions): Promise<Taken | undefined> {
  const mine = `${ownTag}.${randomBytes(8).toString("base64url")}`;
  if (await linked(mine, path)) return { holder: mine, inherited: false };
  const holder = await holderOf(path);
  if (holder === undefined || (await isAlive(path, holder, options))) return undefined;
  return await takeOver(path, holder, options);
}

async function linked(holder: string, path: string): Promise<boolean> {
  return await symlink(holder, path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return false;
      throw error;
    },
  );
}

/**
 * Takes the place of a dead holder. The right to do so is itself a lock, named after the holding that ended, and becomes the
 * lock: so two who find the holder dead cannot both get it. Whoever gets the right looks again, because another may have been
 * through already.
 */
async function takeOver(path: string, dead: string, options: LockOptions): Promise<Taken | undefined> {
  const heir = `${path}.heir-of-${dead.split(".").at(-1)}`;
  const right = await take(heir, options);
  if (!right) return undefined;
  if ((await holderOf(path)) === dead) {
    await rename(heir, path);
    return { holder: right.holder, inherited: true };
  }
  await giveBack(heir, right.holder);
  return undefined;
}

/** Stands for whatever is no lock of ours, such as the file that an earlier version made. */
const STRANGER = "0.0.something-else";

/** Undefined when nobody holds it. What a link of ours says becomes part of the name of another one. */
async function holderOf(path: string): Promise<string | undefined> {
  return await readlink(path).then(
    (holder) => (/^[\w.-]{1,100}$/.test(holder) ? holder : STRANGER),
    (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? undefined : STRANGER),
  );
}

async function isAlive(path: string, holder: string, { evenFrozen }: LockOptions): Promise<boolean> {
  const liveness = livenessOfTag(holder.slice(0, holder.lastIndexOf(".")));
  if (liveness === "dead") return false;
  if (liveness === "alive" && !evenFrozen) return true;
  const beat = await lstat(path).catch(() => undefined);
  return beat !== undefined && Date.now() - beat.mtimeMs < SILENCE_MS;
}

async function giveBack(path: string, holder: string): Promise<void> {
  if ((await holderOf(path)) === holder) await rm(path, { force: true });
}
