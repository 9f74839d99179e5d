import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const PAGE = 4_096;
const POLL_MS = 5;
const PATIENCE_MS = 10_000;

/** All processes of the room but its first, which only reaps, and the warden. */
export function strangers(): number[] {
  const ours = new Set([1, process.pid]);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => !ours.has(pid));
}

/**
 * Refuses to work where this is not the second process of a room of its own: elsewhere everybody else would be others, whom
 * {@link endStrangers} kills.
 */
export function requireRoom(): void {
  if (process.pid !== 2 || process.ppid !== 1) throw new Error("the warden is not in a room of its own");
}

/** Kills everybody else in the room, whatever they are to each other, until nobody is left. */
export async function endStrangers(): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    const left = strangers();
    if (left.length === 0) return;
    for (const pid of left) kill(pid);
    await sleep(POLL_MS);
  }
  throw new Error("processes of the command are still there");
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

/**
 * Bytes that processes hold, not counting files. What they share is counted once; looking so closely takes long, so that it is
 * only done where counting it several times comes to more than `enough`.
 */
export function memoryOf(pids: readonly number[], enough: number): number {
  const most = sum(pids.map(residentOf));
  return most <= enough ? most : sum(pids.map(proportionOf));
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** Field 2 of statm: pages in memory. */
const residentOf = (pid: number) => Number(textOf(`/proc/${pid}/statm`).split(" ")[1] ?? 0) * PAGE;

/** Its part of what is no file, in memory and swapped out; where the system does not say, all that it has in memory. */
function proportionOf(pid: number): number {
  const text = textOf(`/proc/${pid}/smaps_rollup`);
  if (text === "") return residentOf(pid);
  return (
    sum([...text.matchAll(/^(?:Pss_Anon|Pss_Shmem|SwapPss): +(\d+) kB$/gm)].map(([, kb]) => Number(kb))) *
    1_024
  );
}

/** What programs could still be given without anything else being swapped out; without limit where the system does not say. */
export function spareMemory(): number {
  const [, kb] = /^MemAvailable: +(\d+) kB$/m.exec(textOf("/proc/meminfo")) ?? [];
  return kb === undefined ? Number.POSITIVE_INFINITY : Number(kb) * 1_024;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // A process that has ended meanwhile.
    return "";
  }
}
