import { readdirSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/**
 * A third of what others get where all want the processor, and all of it where nobody does. At 10 it is a tenth: on a machine
 * with other work, reviews then hardly begin and ripgrep runs into its time limit.
 */
const NICENESS = 5;

/**
 * Lets a process that was just started, and whatever it starts, have the processor after the others: a webhook has to be
 * answered while reviews run. Whatever the system allows of it; never throws.
 */
export function yieldToServer(pid: number | undefined): void {
  if (pid === undefined) return;
  attempt(() => setPriority(pid, NICENESS));
  // Those it has by now; later ones take it over from the thread that starts them.
  for (const thread of threadsOf(pid)) attempt(() => setPriority(thread, NICENESS));
  // A leader of a session shares the processor as one of many sessions; Linux then asks the session how nice it is (sched(7)).
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS)));
}

/** Empty where the system shows none. */
function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The process has ended already, or the system knows nothing of this kind.
  }
}
