import { readdirSync, readFileSync } from "node:fs";

/** Peak resident sizes in megabytes, as recorded by the kernel. */
export interface Peaks {
  parent: number;
  child: number;
}

/** Rare enough to take no time from what is measured. The last moments of a review process may be missed. */
const INTERVAL_MS = 25;

/** Watches a process and its review process until the returned function is called. The two peaks may be at different times. */
export function watchMemory(pid: number): () => Peaks {
  const peaks: Peaks = { parent: 0, child: 0 };
  const look = () => {
    peaks.parent = Math.max(peaks.parent, highWaterMark(pid));
    for (const child of reviewProcessesOf(pid)) peaks.child = Math.max(peaks.child, highWaterMark(child));
  };
  const timer = setInterval(look, INTERVAL_MS);
  return () => {
    clearInterval(timer);
    return peaks;
  };
}

/** Zero once the process has ended. */
function highWaterMark(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1];
  return Number(kilobytes ?? 0) / 1024;
}

function reviewProcessesOf(pid: number): number[] {
  return childrenOf(pid).filter((child) => read(`/proc/${child}/cmdline`).includes("review-process"));
}

function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    return tasks.flatMap((task) =>
      read(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
