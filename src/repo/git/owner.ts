import { createHash, randomBytes } from "node:crypto";
import { lstat, lutimes, readdir, readFile, readlink, rename, rm, symlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.ts";
import { livenessOf, ownIdentity } from "../../core/process-identity.ts";

const scope = createHash("sha256").update(ownIdentity.scope).digest("base64url").slice(0, 12);

/** Identifies this process in about thirty characters without a space, so that a later process can find out whether this one is alive. */
export const ownTag = [ownIdentity.pid, ownIdentity.started, scope].join(".");

/** Whether the process with this tag runs; "unknown" if its pid is from another scope, or if this is not a tag. */
export function livenessOfTag(tag: string): "alive" | "dead" | "unknown" {
  const [, pid, started, where] = /^(\d{1,10})\.(\d*)\.([\w-]{12})$/.exec(tag) ?? [];
  if (where !== scope) return "unknown";
  return livenessOf({ ...ownIdentity, pid: Number(pid), started: started ?? "" });
}

const NAME = "HUNKWISE_OWNER";

/** The variable in the environment of every program and its children that names the process they belong to. */
export const ownerVariable: Readonly<Record<string, string>> = { [NAME]: ownTag };

const PATIENCE_MS = 5_000;
const POLL_MS = 20;

/** Ends the programs of killed processes, which may still write to a mirror or a checkout. Only where /proc shows the environment of processes. */
export async function endOrphans(): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    const orphans = await listOrphans();
    if (orphans.length === 0) return;
    orphans.forEach(kill);
    await sleep(POLL_MS);
  }
}

async function listOrphans(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  const owned = names
    // The parent of this process may also have a parent that is gone.
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(async (name) => {
      // Unreadable for processes of other users, empty for ended ones.
      const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
      const [, tag] = environment.match(pattern) ?? [];
      return tag !== undefined && livenessOfTag(tag) === "dead" ? [Number(name)] : [];
    });
  return (await Promise.all(owned)).flat();
}

const pattern = new RegExp(`(?:^|\\0)${NAME}=([^\\0]+)`);

function kill(pid: number): void {
  // A review process leads the group of its programs.
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // Not the leader of a group, or already gone.
    }
  }
}

export interface PidLock {
  /** Whether the previous holder died with the lock: its writes may be incomplete. */
  readonly inherited: boolean;
  release(): Promise<void>;
}

interface LockOptions {
  /** Also takes the lock from a stopped process: for work that two processes may safely do at the same time. */
  evenFrozen?: boolean;
}

const BEAT_MS = 3000;
/** A holder whose pid is unknown here (another container) counts as dead after this long without a heartbeat. */
const SILENCE_MS = 20_000;
const LOCK_POLL_MS = 25;

/**
 * Takes a lock unless a live process holds it. A lock is a symbolic link without a target that names its holder: created atomically, and
 * without disk space, so a full disk can be cleaned up.
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

/** Waits until the lock is free. Rejects with `aborted` if the signal fires first. */
export async function lock(path: string, signal?: AbortSignal, options?: LockOptions): Promise<PidLock> {
  for (;;) {
    const taken = await tryLock(path, options);
    if (taken) return taken;
    if (signal?.aborted)
      throw new AppError("aborted", "Aborted while waiting for another job on the same repository");
    await sleep(LOCK_POLL_MS, undefined, signal ? { signal } : {}).catch(() => {});
  }
}

interface Taken {
  /** The process and, after the last full stop, a word that distinguishes this holding from its next one. */
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
 * Replaces a dead holder. The right to do so is itself a lock, named after the ended holding, and becomes the lock: so two processes
 * cannot both get it. The holder of the right checks again, because another process may have finished this already.
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

/** The holder of anything that is not our lock. */
const STRANGER = "0.0.something-else";

/** Undefined if the lock is free. The targets of our links become part of other names. */
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
