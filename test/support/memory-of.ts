import { readdirSync, readFileSync } from "node:fs";

interface Sampled {
  parent: number;
  residentBytes: number;
}

/** What is resident of a process and of all below it, all together. Pages that they share count for each. 0 without /proc. */
function residentBelow(root: number): number {
  const all = new Map<number, Sampled>();
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    const sampled = sample(name);
    if (sampled) all.set(Number(name), sampled);
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === root || isBelow(all.get(pid)?.parent));
  let bytes = 0;
  for (const [pid, { residentBytes }] of all) if (isBelow(pid)) bytes += residentBytes;
  return bytes;
}

function sample(pid: string): Sampled | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [, resident] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return { parent: Number(parent), residentBytes: Number(resident) * 4096 };
  } catch {
    // It has ended.
    return undefined;
  }
}

/** Watches a process and all below it; `peakBytes` is the most that was resident at one of its looks. */
export class MemoryWatch implements Disposable {
  peakBytes = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#timer = setInterval(() => {
      this.peakBytes = Math.max(this.peakBytes, residentBelow(pid));
    }, 15);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
