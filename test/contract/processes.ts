import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Stores } from "../../src/server/queue/stores.ts";
import { commandJob, reviewJob } from "./jobs.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const storesModule = import.meta.resolve("../../src/server/queue/stores.ts");

/** Several processes on one queue. */
export function describeProcesses(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let stores: Stores;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    stores = await data.open();
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  /** Runs module source with a queue in another process, and returns its output lines. */
  async function inOtherProcess(script: string) {
    const source = `import { openStores } from ${JSON.stringify(storesModule)};
      const { queue } = await openStores(${JSON.stringify(await data.place())});
      ${script}`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(child);
    return { child, lines: createInterface({ input: child.stdout }) };
  }

  it("A job of a process that was killed runs again when its lease is over, with its record", async () => {
    const { queue } = stores;
    const id = await queue.enqueue(reviewJob(1));
    const { child, lines } = await inOtherProcess(`
      const job = await queue.claim("killed", 8000);
      await queue.record(job, { kind: "stopped", loop: "review", reason: "paid" });
      setInterval(() => queue.heartbeat(job, 8000), 200);
      console.log("claimed");`);
    await once(lines, "line");
    expect(await queue.claim("next", 1_500)).toBeUndefined();
    child.kill("SIGKILL");
    await once(child, "exit");
    let taken = await queue.claim("next", 30_000);
    while (!taken) {
      await sleep(50);
      taken = await queue.claim("next", 30_000);
    }
    expect(taken).toMatchObject({ id, attempt: 2 });
    expect(await queue.trajectory(taken.id)).toEqual([{ kind: "stopped", loop: "review", reason: "paid" }]);
  });

  it("Several processes claim every job exactly once while more arrive", async () => {
    const { queue } = stores;
    const drain = `
      let empty = 0;
      while (empty < 20) {
        const job = await queue.claim("w", 30000);
        if (!job) { empty++; await new Promise((r) => setTimeout(r, 20)); continue; }
        empty = 0;
        console.log(job.id);
        await queue.complete(job, { kind: "done", reason: "" });
      }
      await queue.close();`;
    const claims: string[] = [];
    const others = [await inOtherProcess(drain), await inOtherProcess(drain)];
    const ends = others.map(async ({ child, lines }) => {
      lines.on("line", (line) => claims.push(line));
      await once(child, "close");
    });
    const ids: string[] = [];
    for (let n = 0; n < 60; n++) ids.push(await queue.enqueue(commandJob(n % 7, n)));
    await Promise.all(ends);
    expect(claims.toSorted()).toEqual(ids.toSorted());
    expect((await queue.stats()).jobs).toMatchObject({ done: 60, waiting: 0, active: 0 });
  });
}
