import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { maxAttempts } from "../../../src/server/queue/job.ts";
import { openPostgresDatabase, readPostgresDatabase } from "../../../src/server/queue/postgres-database.ts";
import { createStores, openStores, type Stores } from "../../../src/server/queue/stores.ts";
import { describeStores } from "../../contract/describe-stores.ts";
import { delivery, leaseMs, reviewJob } from "../../contract/jobs.ts";
import { closePostgres, onPostgres } from "../../contract/stores.ts";
import { type LossyProxy, lossyProxy } from "../../support/lossy-proxy.ts";
import { query, sharedPostgres, startPostgres } from "../../support/postgres.ts";

afterAll(closePostgres);
describeStores("in Postgres", onPostgres);

const emptyDatabase = async () => (await sharedPostgres()).createDatabase();
const storesIn = (databaseUrl: string) => openStores({ databaseUrl, dataFolder: "/nowhere" });

it("A Postgres database may be opened for the first time by many at once, and again after all have closed it", async () => {
  const url = await emptyDatabase();
  const all = await Promise.all(Array.from({ length: 8 }, () => storesIn(url)));
  const ids = await Promise.all(all.map(({ queue }, n) => queue.enqueue(reviewJob(n))));
  await Promise.all(all.map((stores) => stores.close()));
  const again = await storesIn(url);
  expect((await again.queue.stats()).jobs.waiting).toBe(new Set(ids).size);
  await again.close();
  await again.close();
});

it("A Postgres database holds nothing of ours outside our schema", async () => {
  const url = await emptyDatabase();
  await (await storesIn(url)).close();
  const tables =
    "SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
  expect(await query(url, tables)).toEqual([{ schemaname: "hunkwise" }]);
});

it.each([
  ["a newer", 99],
  ["an earlier", 5],
])("A Postgres database of %s version is refused and not changed", async (_, version) => {
  const url = await emptyDatabase();
  await (await storesIn(url)).close();
  await query(url, `UPDATE hunkwise.version SET steps = ${version}`);
  const refused = {
    ...{ code: "database_unreachable", retryable: false },
    message: expect.stringContaining(`schema ${version}, written by another version`),
  };
  await expect(storesIn(url)).rejects.toMatchObject(refused);
  await expect(readPostgresDatabase(url)).rejects.toMatchObject(refused);
});

it("A Postgres database is opened by a user who may not create a schema, if it exists", async () => {
  const url = await emptyDatabase();
  await (await storesIn(url)).close();
  const user = `u${url.slice(-12)}`;
  await query(
    url,
    `CREATE USER ${user} PASSWORD 'p'; GRANT USAGE ON SCHEMA hunkwise TO ${user};
       GRANT ALL ON ALL TABLES IN SCHEMA hunkwise TO ${user}`,
  );
  const stores = await storesIn(url.replace("hunkwise:a-password", `${user}:p`));
  await stores.queue.enqueue(reviewJob(1));
  await stores.close();
});

it("A Postgres database keeps a text with what Postgres cannot store in one", async () => {
  const stores = await storesIn(await emptyDatabase());
  await stores.notes.write("odd", "a\0b\u{d800}");
  expect(await stores.notes.read("odd")).toBe("a\u{fffd}b\u{fffd}");
  await stores.close();
});

it.each([
  ["is not there", "postgres://ada:pass-word@127.0.0.1:1/shop", /127\.0\.0\.1:1\/shop: .*ECONNREFUSED/],
  ["has no such host", "postgres://ada:pass-word@nowhere.invalid/shop", /nowhere\.invalid\/shop: /],
])(
  "A Postgres that cannot be used and %s is named with the reason and without the password",
  async (_, url, message) => {
    const error = await storesIn(url).then(undefined, (reason) => reason);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({
      code: "database_unreachable",
      retryable: true,
      message: expect.stringMatching(message),
    });
    expect(error.line).toContain("DATABASE_URL");
    expect(error.line).not.toContain("pass-word");
  },
);

it("A Postgres with another password is reported without ours", async () => {
  const url = (await emptyDatabase()).replace("a-password", "pass-word");
  const error = await storesIn(url).then(undefined, (reason) => reason);
  expect(error).toMatchObject({
    code: "database_unreachable",
    message: expect.stringContaining("authentication failed"),
  });
  expect(error.line).not.toContain("pass-word");
});

it("A Postgres that stops and starts again is used again by the same connections, and has lost nothing", async () => {
  await using server = await startPostgres();
  const stores = await storesIn(await server.createDatabase());
  const { queue } = stores;
  await queue.accept(delivery("d1"), [reviewJob(1)]);
  const job = await queue.claim("worker", leaseMs);
  if (!job) throw new Error("no job to claim");
  await server.stop();
  const away = { code: "database_unreachable", retryable: true };
  await expect(queue.heartbeat(job, leaseMs)).rejects.toMatchObject(away);
  await expect(queue.accept(delivery("d2"), [reviewJob(2)])).rejects.toMatchObject(away);
  await expect(queue.check()).rejects.toMatchObject(away);
  await server.start();
  await queue.check();
  expect(await queue.heartbeat(job, leaseMs)).toBe(true);
  expect(await queue.accept(delivery("d1"), [])).toBe(false);
  expect(await queue.accept(delivery("d2"), [reviewJob(2)])).toBe(true);
  await stores.close();
});

it("A late worker that comes back while its job is given up loses it, or keeps it: the run counts once", async () => {
  const url = await emptyDatabase();
  const database = await openPostgresDatabase(url);
  let now = Date.now();
  const late = createStores(database, { now: () => now });
  await late.queue.enqueue(reviewJob(1));
  for (let claims = 1; claims < maxAttempts + 1; claims++) {
    await late.queue.claim("worker", leaseMs);
    now += leaseMs;
  }
  const job = await late.queue.claim("late", leaseMs);
  if (!job) throw new Error("no job to claim");
  now += leaseMs;
  let beat: Promise<boolean> | undefined;
  const { queue } = createStores(
    {
      ...{ run: database.run, close: () => database.close() },
      transaction: (work) =>
        database.transaction((run) =>
          work(async (sql, parameters) => {
            const result = await run(sql, parameters);
            if (!sql.startsWith("INSERT INTO run ")) return result;
            beat = late.queue.heartbeat(job, leaseMs);
            // It waits for the end of the transaction if that has the row.
            await Promise.race([beat, sleep(300)]);
            return result;
          }),
        ),
    },
    { now: () => now },
  );
  expect(await queue.claim("other", leaseMs)).toBeUndefined();
  const isOurs = await beat;
  expect(await late.queue.complete(job, { kind: "done", reason: "" })).toBe(isOurs);
  const runs = await database.run("SELECT outcome FROM run");
  expect(runs.rows).toEqual([{ outcome: isOurs ? "done" : "failed" }]);
  await database.close();
});

describe("a lost answer of Postgres", () => {
  let proxy: LossyProxy;
  let stores: Stores;
  let time = 0;
  const lost = { code: "database_unreachable", retryable: true };

  beforeEach(async () => {
    time = 1_800_000_000_000;
    const url = new URL(await emptyDatabase());
    proxy = await lossyProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(proxy.port);
    stores = await openStores({ databaseUrl: url.href, dataFolder: "/nowhere", now: () => time });
  });
  afterEach(async () => {
    await stores.close();
    await proxy[Symbol.asyncDispose]();
  });

  async function claimed() {
    const job = await stores.queue.claim("worker", leaseMs);
    if (!job) throw new Error("no job to claim");
    return job;
  }

  it("A lost answer of Postgres to a delivery has it stored once, however often it comes again", async () => {
    proxy.loseAnswerTo("COMMIT");
    await expect(stores.queue.accept(delivery("d1"), [reviewJob(1)])).rejects.toMatchObject(lost);
    expect(await stores.queue.accept(delivery("d1"), [reviewJob(1)])).toBe(false);
    expect((await stores.queue.stats()).jobs.waiting).toBe(1);
  });

  it("A lost answer of Postgres to a claim makes the job wait until the lease expires", async () => {
    await stores.queue.enqueue(reviewJob(1));
    proxy.loseAnswerTo("COMMIT");
    await expect(claimed()).rejects.toMatchObject(lost);
    expect(await stores.queue.claim("worker", leaseMs)).toBeUndefined();
    time += leaseMs;
    expect(await claimed()).toMatchObject({ attempt: 2, fence: 2 });
  });

  it("A lost answer of Postgres to the end of a job or to its hand-back leaves nothing that is done twice", async () => {
    const { queue } = stores;
    for (const pull of [1, 2]) await queue.enqueue(reviewJob(pull));
    const [ended, handedBack] = [await claimed(), await claimed()];
    proxy.loseAnswerTo("COMMIT");
    const end = () => queue.complete(ended, { kind: "done", reason: "" });
    await expect(end()).rejects.toMatchObject(lost);
    expect(await end()).toBe(false);
    proxy.loseAnswerTo("COMMIT");
    const handBack = () => queue.release(handedBack, 0, "stop", { countAttempt: false });
    await expect(handBack()).rejects.toMatchObject(lost);
    expect(await handBack()).toBe(false);
    expect((await queue.stats()).jobs).toMatchObject({ waiting: 1, active: 0, done: 1 });
    expect(await claimed()).toMatchObject({ id: handedBack.id, attempt: 1 });
  });
});

it("A session that Postgres ends in the middle of a transaction leaves nothing half done", async () => {
  const url = await emptyDatabase();
  await (await storesIn(url)).close();
  const database = await openPostgresDatabase(url);
  const cut = database.transaction(async (run) => {
    await run("INSERT INTO note (name, text, written_at) VALUES ('half', '', 0)");
    const { rows } = await run("SELECT pg_backend_pid() AS pid");
    await query(url, `SELECT pg_terminate_backend(${rows[0]?.pid})`);
    await run("SELECT 1");
  });
  await expect(cut).rejects.toMatchObject({ code: "database_unreachable" });
  expect((await database.run("SELECT name FROM note")).rows).toEqual([]);
  await database.close();
});
