import { readdirSync, readFileSync } from "node:fs";

/** Highest resident sizes in megabytes, as the kernel kept them. */
export interface Peaks {
  parent: number;
  child: number;
}

const INTERVAL_MS = 5;

/** Watches a process and its review process until it is told to stop. The peaks need not have been at the same time. */
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
