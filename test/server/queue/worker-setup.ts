import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClaimedJob, JobOutcome } from "../../../src/server/queue/job.ts";
import type { JobTools } from "../../../src/server/queue/run-job.ts";
import { openSqliteStores } from "../../../src/server/queue/stores.ts";

export const done: JobOutcome = { kind: "done", reason: "reviewed" };

/** A queue in a folder of its own. */
export function ownQueue(now: () => number) {
  const folder = mkdtempSync(join(tmpdir(), "hunkwise-worker-"));
  const { queue } = openSqliteStores(folder, { now });
  return {
    queue,
    async remove() {
      await queue.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A handler that goes on until its signal fires. */
export const untilAborted = (_: ClaimedJob, { signal }: JobTools) =>
  new Promise<JobOutcome>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
