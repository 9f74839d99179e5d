import { Worker } from "node:worker_threads";

/** The thread must not wait for the event loop of the other one: that may be the one that does not turn any more. */
const thread = `
const { workerData } = require("node:worker_threads");
const never = new Int32Array(new SharedArrayBuffer(4));
while (process.ppid === workerData.parent) Atomics.wait(never, 0, 0, workerData.everyMs);
process.kill(-process.pid, "SIGKILL");
`;

/**
 * Kills this process, which leads a group, with everything in it soon after its parent died, also when it is busy with one
 * piece of hostile text and notices nothing. A thread that does this takes 50 ms to start, and so is only worth it for a
 * process that has lived for a while.
 */
export function watchParent(afterMs = 2_000, everyMs = 1_000): void {
  const parent = process.ppid;
  const start = () => new Worker(thread, { eval: true, env: {}, workerData: { parent, everyMs } }).unref();
  setTimeout(start, afterMs).unref();
}
