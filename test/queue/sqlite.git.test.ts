import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteDatabase, sqliteMigrations } from "../../src/queue/sqlite-database.ts";
import { openSqliteStores } from "../../src/queue/stores.ts";
import { describeStores } from "../contract/describe-stores.ts";
import { expectEarlierRuns, leaveEarlierRuns } from "../contract/earlier-runs.ts";
import { commandJob, reviewJob } from "../contract/jobs.ts";
import { onSqlite } from "../contract/stores.ts";
import { paidTurn, payer } from "../support/paid-turn.ts";

const newFolder = () => mkdtempSync(join(tmpdir(), "hunkwise-queue-"));
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

describeStores("in SQLite", onSqlite);

const openSqliteQueue = (place: string) => openSqliteStores(place).queue;

describe("the SQLite queue's file", () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });
  afterEach(() => remove(folder));

  it("is private, with its folder and its write-ahead log", async () => {
    const place = join(folder, "a", "data");
    const queue = openSqliteQueue(place);
    await queue.enqueue(reviewJob(1));
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect(mode(place)).toBe("700");
    expect(["queue.db", "queue.db-wal", "queue.db-shm"].map((name) => mode(join(place, name)))).toEqual([
      "600",
      "600",
      "600",
    ]);
    await queue.close();
  });

  it.each([
    ["the folder is a file", () => writeFileSync(join(folder, "data"), "")],
    [
      "the file is no database",
      () => {
        mkdirSync(join(folder, "data"));
        writeFileSync(join(folder, "data", "queue.db"), "something else entirely ".repeat(100));
      },
    ],
    ["the file is a folder", () => mkdirSync(join(folder, "data", "queue.db"), { recursive: true })],
  ])("names the folder and the remedy in one line when %s", (_, arrange) => {
    arrange();
    const open = () => openSqliteQueue(join(folder, "data"));
    expect(open).toThrow(expect.objectContaining({ code: "data_folder_unusable" }));
    expect(open).toThrow(
      expect.objectContaining({ line: expect.stringMatching(/^[^\n]*data[^\n]*HUNKWISE_DATA_DIR[^\n]*$/) }),
    );
  });

  it.runIf(process.getuid?.() !== 0)("names the folder when it may not be written", () => {
    mkdirSync(join(folder, "data"));
    chmodSync(join(folder, "data"), 0o500);
    expect(() => openSqliteQueue(join(folder, "data"))).toThrow(/Cannot use the data folder .*data/);
  });

  it("of a newer version is not changed", () => {
    const database = new DatabaseSync(join(folder, "queue.db"));
    database.exec("PRAGMA user_version = 99");
    database.close();
    expect(() => openSqliteQueue(folder)).toThrow(/schema 99, written by a newer Hunkwise/);
  });

  /** From the fourth version on, whoever wrote a task wrote this beside it. */
  const besideTasks = `UPDATE job SET installation = json_extract(task, '$.repository.installation'),
    repository = json_extract(task, '$.repository.id'), head = json_extract(task, '$.headSha')`;

  it("of every earlier version is taken over with its jobs", async () => {
    for (const version of sqliteMigrations.keys()) {
      const place = join(folder, `schema-${version}`);
      mkdirSync(place);
      const database = new DatabaseSync(join(place, "queue.db"));
      for (const step of sqliteMigrations.slice(0, version)) database.exec(step);
      database.exec(`PRAGMA user_version = ${version}`);
      const { task, concurrencyKey } = reviewJob(1);
      if (version > 0) {
        const add = database.prepare(
          `INSERT INTO job (id, task, serial_key, coalesces, priority, state, run_after, created_at)
           VALUES (:id, :task, :concurrencyKey, 1, 0, :state, 0, 0)`,
        );
        const old = { task: JSON.stringify(task), concurrencyKey };
        add.run({ ...old, id: "old", state: "waiting" });
        add.run({ ...old, id: "ended", state: "done" });
        if (version >= 4) database.exec(besideTasks);
        database.exec(
          `INSERT INTO trajectory (job_id, fence, entry, created_at) VALUES ('ended', 1, '{}', 0)`,
        );
      }
      database.close();
      const { queue, spending } = openSqliteStores(place);
      await spending.charge(
        payer({ installation: 1, repository: 7, pull: 1 }),
        paidTurn({ tokens: 3, costUsd: 0 }),
        0,
      );
      expect(await queue.knows("7#1", "a".repeat(40))).toBe(version > 0);
      const id = await queue.enqueue(reviewJob(1, { headSha: "b".repeat(40) }));
      expect(id === "old").toBe(version > 0);
      expect(await queue.claim("worker", 1_000)).toMatchObject({ id, task: { headSha: "b".repeat(40) } });
      expect(await queue.trajectory("ended")).toHaveLength(version > 0 ? 1 : 0);
      await queue.forget(1, null);
      expect(await queue.trajectory("ended")).toEqual([]);
      await queue.close();
    }
  });

  it("of the version before shows the runs that ended before the upgrade", async () => {
    const before = new DatabaseSync(join(folder, "queue.db"));
    for (const step of sqliteMigrations.slice(0, 7)) before.exec(step);
    before.exec("PRAGMA user_version = 7");
    await leaveEarlierRuns(async (sql, parameters = {}) => {
      before.prepare(sql).run(parameters);
      return { rows: [], changes: 1 };
    });
    before.close();
    const database = openSqliteDatabase(folder);
    await expectEarlierRuns(database.run);
    await database.close();
  });

  it("is purged bit by bit, and other things happen between", async () => {
    const queue = openSqliteQueue(folder);
    await queue.enqueue(reviewJob(1));
    const job = await queue.claim("worker", 60_000);
    if (!job) throw new Error("no job to claim");
    for (let n = 0; n < 25; n++) await queue.record(job, { kind: "stopped", loop: "review", reason: `${n}` });
    await queue.complete(job, { kind: "done", reason: "" });
    let others = 0;
    const purging = queue.purge(-1_000, 400 * 86_400_000).then(() => "purged");
    while ((await Promise.race([purging, setImmediate("other")])) === "other") others++;
    expect(others).toBeGreaterThan(2);
    expect(await queue.trajectory(job.id)).toEqual([]);
    await queue.close();
  });

  it("does not stop at a job whose task another version stored", async () => {
    const queue = openSqliteQueue(folder);
    await queue.enqueue(commandJob(1, 5));
    const next = await queue.enqueue(reviewJob(2));
    const database = new DatabaseSync(join(folder, "queue.db"));
    database.exec(`UPDATE job SET task = '{"kind":"dance"}' WHERE priority = 10`);
    database.close();
    expect((await queue.claim("worker", 1_000))?.id).toBe(next);
    expect((await queue.stats()).jobs.failed).toBe(1);
    await queue.close();
  });
});
