import { readdirSync, readFileSync } from "node:fs";

/** The parent of each process. */
function parents(): Map<number, number> {
  const found = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    const stat = contentOf(`/proc/${name}/stat`);
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    found.set(Number(name), Number(parent));
  }
  return found;
}

/** Empty if the process has ended in the meantime. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Memory of a process and its descendants, in bytes. Shared memory counts once (Pss). */
function memoryBelow(root: number): number {
  const all = parents();
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === root || isBelow(all.get(pid)));
  const kilobytes = [...all.keys()].filter(isBelow).map((pid) => {
    const [, pss] = /^Pss:\s+(\d+) kB$/m.exec(contentOf(`/proc/${pid}/smaps_rollup`)) ?? [];
    return Number(pss ?? 0);
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
