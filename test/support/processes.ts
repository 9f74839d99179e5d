import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A running process, as the system reports it. */
interface Running {
  pid: number;
  parent: number;
  /** Start time: a pid can be reused. */
  start: string;
}

/** The descendants of a process, as "pid start". Empty on systems without /proc. */
export function below(pid: number | undefined): string[] {
  const all = running();
  const under = (parent: number | undefined): string[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [nameOf(one), ...under(one.pid)]);
  return under(pid);
}

/** The processes among these that still run. */
export function stillRunning(names: readonly string[]): string[] {
  const now = new Set(running().map(nameOf));
  return names.filter((name) => now.has(name));
}

/** Resolves when none of these processes runs any more. */
export async function gone(names: readonly string[]): Promise<void> {
  while (stillRunning(names).length > 0) await sleep(20);
}

const nameOf = ({ pid, start }: Running) => `${pid} ${start}`;

function running(): Running[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => statOf(Number(pid)));
  } catch {
    return [];
  }
}

/** A process that has ended but is not reaped yet does not count as running. */
function statOf(pid: number): Running[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the program's name, may hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? [] : [{ pid, parent: Number(fields[1]), start: fields[19] ?? "" }];
  } catch {
    return [];
  }
}

/** Memory of a process and its descendants, in bytes. Shared memory counts once (Pss). */
function memoryBelow(root: number): number {
  const kilobytes = [String(root), ...below(root)].map((name) => {
    try {
      const rollup = readFileSync(`/proc/${Number.parseInt(name, 10)}/smaps_rollup`, "utf8");
      return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0);
    } catch {
      // It has ended in the meantime.
      return 0;
    }
  });
  return kilobytes.reduce((sum, one) => sum + one, 0) * 1024;
}

/** Samples the memory of a process and its descendants; `peakBytes` is the largest sample. */
export class MemoryWatch implements Disposable {
  peakBytes = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#timer = setInterval(() => {
      this.peakBytes = Math.max(this.peakBytes, memoryBelow(pid));
    }, 100);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
