import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

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

/** What a socket's two ends may hold of what nobody has taken yet (net.core.wmem_default, and what the kernel adds). */
const SOCKET = 256 * 1_024;

/**
 * Bytes that processes hold, not counting files, and that the kernel holds for them: tables of pages, and what may wait in sockets.
 * What they share is counted once; looking so closely takes long, so that it is only done where counting it several times comes to
 * more than `enough`.
 */
export function memoryOf(pids: readonly number[], enough: number): number {
  const sockets = socketsOf(pids) * SOCKET;
  const most = sum(pids.map(residentOf)) + sockets;
  return most <= enough ? most : sum(pids.map(proportionOf)) + sockets;
}

/** Of the network that a command is in. Whoever came last is behind the second wall, once there is one. */
function socketsOf(pids: readonly number[]): number {
  const [, used] = /^sockets: used (\d+)$/m.exec(textOf(`/proc/${Math.max(...pids)}/net/sockstat`)) ?? [];
  return Number(used ?? 0);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** What it has in memory, and what the tables take that say where. */
const residentOf = (pid: number) =>
  kilobytesIn(textOf(`/proc/${pid}/status`), /^Vm(?:RSS|PTE):\s+(\d+) kB$/gm);

/** Its part of what is no file, in memory and swapped out; where the system does not say, all that it has in memory. */
function proportionOf(pid: number): number {
  const text = textOf(`/proc/${pid}/smaps_rollup`);
  if (text === "") return residentOf(pid);
  const tables = kilobytesIn(textOf(`/proc/${pid}/status`), /^VmPTE:\s+(\d+) kB$/gm);
  return kilobytesIn(text, /^(?:Pss_Anon|Pss_Shmem|SwapPss): +(\d+) kB$/gm) + tables;
}

/** Bytes, of lines in kilobytes. */
const kilobytesIn = (text: string, lines: RegExp) =>
  sum([...text.matchAll(lines)].map(([, kb]) => Number(kb))) * 1_024;

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
