import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type NewJob, noticePriority } from "../../src/server/queue/job.ts";
import { createStores, type Stores } from "../../src/server/queue/stores.ts";
import { commandJob, leaseMs, reviewJob } from "../contract/jobs.ts";
import { type OwnDatabase, ownDatabase, pagesOf, parseCsv, parsePage, person } from "./rendered.ts";

const shop = { installation: 1, id: 7, owner: "octo", name: "shop", mayWrite: false };

/** What the page says of the queue that the server has, not of rows that a test has written. */
describe("the page Now", () => {
  let own: OwnDatabase;
  let stores: Stores;
  let worker: (jobs: number) => Promise<unknown>;
  let time: number;
  beforeEach(async () => {
    time = Date.parse("2026-11-27T08:00:00Z");
    own = await ownDatabase();
    const { database } = own;
    stores = createStores(database, { now: () => time });
    worker = (concurrency) =>
      database.run(
        `INSERT INTO worker (name, version, concurrency, started_at, seen_at) VALUES ('w', '1', :concurrency, :time, :time)
          ON CONFLICT (name) DO UPDATE SET concurrency = excluded.concurrency`,
        { concurrency, time },
      );
  });
  afterEach(() => own.remove());

  const text = async (limit = 1) => {
    const answer = await pagesOf(own.reader.run, person([shop]), time, limit).request("/");
    return parsePage(await answer.text()).text;
  };
  const claimed = async () => {
    const job = await stores.queue.claim("w", leaseMs);
    if (!job) throw new Error("no job to claim");
    return job;
  };

  it("The page Now says that nothing waits or runs, and how to begin", async () => {
    const page = await text();
    for (const words of ["Nothing runs", "Nothing waits", "Nothing has run yet", "no worker is running"])
      expect(page).toContain(words);
  });

  it("With many repositories, the page Now does not say that nothing has run if it has not looked at all runs, and a file that is cut says so", async () => {
    await own.database.run(`INSERT INTO run (id, installation, repository, pull, kind, origin, outcome, attempts, stored_at, ended_at, turns,
      prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20100)
      SELECT 'r' || i, 1, 99, 1, 'review', 'event', 'done', 1, i, i, 0, 0, 0, 0, 0, 0 FROM n`);
    const many = (first: number) => Array.from({ length: 30 }, (_, at) => ({ ...shop, id: first + at }));
    const getAs = async (repositories: (typeof shop)[], address: string) =>
      (await pagesOf(own.reader.run, person(repositories), time).request(address)).text();
    expect(await getAs(many(100), "/")).not.toContain("Nothing has run yet");
    expect(await getAs(many(100), "/")).toContain("among the newest that were looked at");
    const rows = parseCsv(await getAs(many(90), "/reviews.csv"));
    expect([rows.length, rows.at(-1)?.length, rows.at(-1)?.[0]]).toEqual([
      10_002,
      rows[0]?.length,
      "Older rows are left out here: choose fewer days or repositories.",
    ]);
    expect(await getAs(many(90), "/reviews.csv?to=1969-12-31")).not.toContain("left out");
  });

  it("The page Now leaves out the notices for the operator's programs", async () => {
    const notice = {
      kind: "notify",
      repository: { installation: 1, id: 7, owner: "octo", name: "shop" },
      id: "n",
      body: "{}",
      headSha: null,
    };
    const task = notice as Extract<NewJob["task"], { kind: "notify" }>;
    await stores.queue.enqueue({ task, concurrencyKey: "n", coalesce: false, priority: noticePriority });
    expect(await text()).toContain("Nothing waits");
  });

  it("The page Now gives the reason of each wait: the quiet time, no worker, no free place, the limit, the run before", async () => {
    await stores.queue.enqueue(reviewJob(1, { debounceMs: 30_000 }));
    expect(await text()).not.toContain("no worker has a free place");
    await stores.queue.enqueue(reviewJob(1, { debounceMs: 30_000 }));
    expect(await text()).toContain("quiet time after a push, until 2026-11-27 08:00 (in 30 s)");
    time += 30_000;
    expect(await text()).toMatch(/octo\/shop#1review\s*no worker is running/);
    await worker(1);
    expect(await text()).toContain("a worker will take it in a moment");
    await claimed();
    await stores.queue.enqueue(commandJob(2, 5));
    expect(await text(1)).toContain("its installation is at its limit of 1 run at a time");
    expect(await text(9)).toContain("no worker has a free place");
    await stores.queue.enqueue(reviewJob(1));
    expect(await text()).toContain("another run of this pull request is under way");
  });

  it("The page Now tells an outage from a failed attempt, and when the next try is", async () => {
    await stores.queue.enqueue(reviewJob(1));
    await stores.queue.release(await claimed(), 60_000, "the model does not answer", { countAttempt: false });
    expect(await text()).toContain(
      "parked, because a service that it needs does not answer; next try at 2026-11-27 08:01 (in 1 min)",
    );
    time += 60_000;
    await stores.queue.release(await claimed(), 5_000, "the model does not answer");
    expect(await text()).toContain("its attempt failed; next try at 2026-11-27 08:01 (in 5 s)");
    // Why, in words that may name the operator's machines, is not for everybody.
    expect(await text()).not.toContain("the model does not answer");
  });

  it("The page Now follows a run through its steps", async () => {
    await stores.queue.enqueue(reviewJob(1));
    const job = await claimed();
    expect(await text()).toContain("preparing");
    await stores.queue.record(job, { kind: "began", head: "a" });
    expect(await text()).toContain("preparing");
    const stopped = (loop: string) => stores.queue.record(job, { kind: "stopped", loop, reason: "finished" });
    await stopped("review");
    time += 12_000;
    expect(await text()).toMatch(/reading the change.*12 s ago/s);
    await stopped('verify:a"b');
    expect(await text()).toContain("second looks at findings");
    await stores.queue.record(job, { kind: "result", head: "a", base: "b", result: {} });
    await stores.queue.record(job, { kind: "wrote", request: "POST /x", id: 1, url: null });
    expect(await text()).toContain("publishing");
    time += leaseMs;
    expect(await text()).toContain("its worker no longer answers");
  });

  it("The page Now is loaded again by itself only if somebody asks for that", async () => {
    const pages = pagesOf(own.reader.run, person([shop]), time, 1);
    const refresh = '<meta http-equiv="refresh" content="10">';
    expect(await (await pages.request("/")).text()).not.toContain(refresh);
    expect(await (await pages.request("/?live")).text()).toContain(refresh);
  });
});
