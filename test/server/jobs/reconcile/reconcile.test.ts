import { expect, it } from "vitest";
import { keepReconciling, lastRunNote } from "../../../../src/server/jobs/reconcile/reconcile.ts";
import type { NewJob } from "../../../../src/server/queue/job.ts";

const hour = 3_600_000;
const log = { info() {}, warn() {}, error() {} };

/** Some processes in a time of their own, before one queue that does at once what is enqueued. */
function world() {
  const stop = new AbortController();
  const notes = new Map<string, string>();
  const sleepers: { until: number; wake: () => void }[] = [];
  const ran: number[] = [];
  let time = 0;
  const sleep = (ms: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    sleepers.push({ until: time + ms, wake: resolve });
    return promise;
  };
  const queue = {
    enqueue: async (_: NewJob) => {
      ran.push(time);
      notes.set(lastRunNote, String(time));
      return "job";
    },
  };
  const settle = async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve();
  };
  return {
    ran,
    notes,
    async startProcess(everyMs = hour) {
      const remembered = {
        read: async (name: string) => notes.get(name) ?? null,
        write: async () => {},
        remove: async () => {},
      };
      const how = { queue, notes: remembered, everyMs, sleep, now: () => time, log, onEnqueued: () => {} };
      void keepReconciling(how, stop.signal);
      await settle();
    },
    async passUntil(end: number) {
      for (;;) {
        const next = sleepers.sort((a, b) => a.until - b.until)[0];
        if (!next || next.until > end) break;
        sleepers.shift();
        time = next.until;
        next.wake();
        await settle();
      }
      time = end;
    },
  };
}

it("What was missed is looked for at the start and then every hour", async () => {
  const { ran, startProcess, passUntil } = world();
  await startProcess();
  await passUntil(2.5 * hour);
  expect(ran).toEqual([0, hour, 2 * hour]);
});

it("What was missed is looked for once in a rhythm by all processes together, and at the start of each", async () => {
  const { ran, startProcess, passUntil } = world();
  await startProcess();
  await passUntil(hour / 4);
  await startProcess();
  await passUntil(hour / 2);
  await startProcess();
  await passUntil(2.9 * hour);
  expect(ran).toEqual([0, hour / 4, hour / 2, 1.5 * hour, 2.5 * hour]);
});

it("What was missed is looked for although a process whose clock was wrong has noted a time to come", async () => {
  const { ran, notes, startProcess, passUntil } = world();
  await startProcess();
  notes.set(lastRunNote, String(1_000 * hour));
  await passUntil(1.5 * hour);
  expect(ran).toEqual([0, hour]);
});

it("What was missed is never looked for if the interval is 0", async () => {
  const { ran, startProcess, passUntil } = world();
  await startProcess(0);
  await passUntil(10 * hour);
  expect(ran).toEqual([]);
});
