import { describe, expect, it } from "vitest";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { TempFolder } from "../support/git-repo.ts";
import { startPostgres } from "../support/postgres.ts";
import { finish, numbers, turn } from "./conformance-fixture.ts";
import { startSharedApp } from "./shared-app.ts";

/** Each review waits twenty seconds for its model: ten minutes in total. */
const modelLatencyMs = 20_000;
const installations = 20;

const base = { "src/numbers.js": numbers(60) };
const head = { "src/numbers.js": numbers(60, { 10: "const n10 = 0;" }) };
const agreeing = withAgreeingSceptic(() => turn(finish));

/** Reviews one pull request of each installation; resolves to the duration in milliseconds. */
async function reviewAll(workers: number): Promise<number> {
  await using postgres = await startPostgres();
  const folders = Array.from({ length: workers - 1 }, () => new TempFolder("worker"));
  await using all = await startSharedApp({
    everyRole: async (body) => ({ ...(await agreeing.script(body)), delay: modelLatencyMs }),
    env: { DATABASE_URL: await postgres.createDatabase(), HUNKWISE_CONCURRENCY: "1" },
  });
  // Each on a separate machine, with regard to files.
  for (const folder of folders) await all.app.addWorker({ HUNKWISE_DATA_DIR: folder.path });
  const pulls = Array.from({ length: installations }, () => all.addRepository(base).open(head));
  const began = performance.now();
  for (const pull of pulls) await pull.deliver("opened");
  for (const pull of pulls) await pull.concluded("success");
  const took = performance.now() - began;
  // A second review would make another request and another summary.
  expect(all.app.model?.requests).toHaveLength(installations);
  expect(pulls.map((pull) => pull.end())).toEqual(
    pulls.map(() => ({ reviews: 0, comments: [], summaries: 1, checks: ["success"] })),
  );
  expect(all.app.github.violations).toEqual([]);
  for (const folder of folders) folder.dispose();
  return took;
}

describe("four worker processes on Postgres", { timeout: 1_800_000 }, () => {
  it("Four workers review at least three times as fast as one, and nothing twice", async () => {
    const one = await reviewAll(1);
    const four = await reviewAll(4);
    console.info(`20 reviews: one worker ${Math.round(one / 1_000)} s, four ${Math.round(four / 1_000)} s`);
    expect(one / four).toBeGreaterThanOrEqual(3);
  });
});
