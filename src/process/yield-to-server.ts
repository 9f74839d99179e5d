import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Of 19, the lowest: a server that has work to do gets some nine tenths of a core, and an idle machine is used in full. */
const NICENESS = 10;

/**
 * Lets a process that was just started, and whatever it starts, have the processor after the others: a webhook has to be
 * answered while reviews run. Whatever the system allows of it; never throws.
 */
export function yieldToServer(pid: number | undefined): void {
  if (pid === undefined) return;
  attempt(() => setPriority(pid, NICENESS));
  // A leader of a session shares the processor as one of many sessions; Linux then asks the session how nice it is (sched(7)).
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS)));
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The process has ended already, or the system knows nothing of this kind.
  }
}
