import { expect, it } from "vitest";
import type { IndexReport, IndexTask } from "../../../src/border/index-messages.ts";
import { keepIndexes } from "../../../src/server/jobs/graph-index.ts";

const report: IndexReport = { files: 3, parsed: 2, known: 1, skipped: 0, milliseconds: 5 };
const task = (file: string, sha = "a"): IndexTask => ({
  ...{ gitPath: "/usr/bin/git", gitDir: "/mirror.git", emptyHome: "/home", sha, file, privatePaths: [] },
});

/** A keeper whose runs end when told, and what it did. */
function keep() {
  const runs: { task: IndexTask; signal: AbortSignal; end: PromiseWithResolvers<IndexReport> }[] = [];
  const logged: string[] = [];
  const log = (_: object, message: string) => void logged.push(message);
  const keeper = keepIndexes({
    log: { info: log, warn: log, error: log },
    isThere: (file) => file !== "/gone",
    run: (one, { signal }) => {
      const end = Promise.withResolvers<IndexReport>();
      runs.push({ task: one, signal, end });
      return end.promise;
    },
  });
  /** Ends the run that is under way and lets the next one begin. */
  const endRun = async (outcome: IndexReport | Error = report) => {
    const { end } = runs.at(-1)!;
    if (outcome instanceof Error) end.reject(outcome);
    else end.resolve(outcome);
    await new Promise(setImmediate);
  };
  return { keeper, runs, logged, endRun };
}

it("The keeper of indexes brings one index after the other up to date", async () => {
  const { keeper, runs, endRun, logged } = keep();
  keeper.update(task("/a"));
  keeper.update(task("/b"));
  expect(runs.map((one) => one.task.file)).toEqual(["/a"]);
  await endRun();
  expect(runs.map((one) => one.task.file)).toEqual(["/a", "/b"]);
  await endRun();
  keeper.update(task("/c"));
  expect(runs.map((one) => one.task.file)).toEqual(["/a", "/b", "/c"]);
  expect(logged).toEqual(["Index updated", "Index updated"]);
});

it("The keeper of indexes takes only the newest of the waiting commits", async () => {
  const { keeper, runs, endRun } = keep();
  keeper.update(task("/a", "1"));
  for (const sha of ["2", "3", "4"]) keeper.update(task("/a", sha));
  await endRun();
  await endRun();
  expect(runs.map((one) => one.task.sha)).toEqual(["1", "4"]);
});

it("The keeper of indexes starts nothing for the last commit again, unless that failed", async () => {
  const { keeper, runs, endRun } = keep();
  keeper.update(task("/a", "1"));
  await endRun(new Error("no disk"));
  keeper.update(task("/a", "1"));
  await endRun();
  keeper.update(task("/a", "1"));
  expect(runs).toHaveLength(2);
  keeper.update(task("/a", "2"));
  expect(runs).toHaveLength(3);
});

it("The keeper of indexes makes an index again that was deleted with its mirror", async () => {
  const { keeper, runs, endRun } = keep();
  keeper.update(task("/gone", "1"));
  await endRun();
  keeper.update(task("/gone", "1"));
  expect(runs).toHaveLength(2);
});

it("The keeper of indexes goes on after a failure, which it logs", async () => {
  const { keeper, runs, endRun, logged } = keep();
  keeper.update(task("/a"));
  keeper.update(task("/b"));
  await endRun(new Error("no disk"));
  expect(logged).toEqual(["Index not updated: no disk"]);
  expect(runs).toHaveLength(2);
});

it("The keeper of indexes ends what runs when the server does, and begins nothing more", async () => {
  const { keeper, runs, logged } = keep();
  keeper.update(task("/a"));
  keeper.update(task("/b"));
  const closed = keeper.close();
  expect(runs[0]?.signal.aborted).toBe(true);
  runs[0]?.end.reject(new Error("killed"));
  await closed;
  keeper.update(task("/c"));
  expect(runs).toHaveLength(1);
  expect(logged).toEqual([]);
});
