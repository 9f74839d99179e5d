import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readSqliteDatabase } from "../../../src/server/queue/sqlite-database.ts";
import { openSqliteStores } from "../../../src/server/queue/stores.ts";
import { describeStores } from "../../contract/describe-stores.ts";
import { commandJob, reviewJob } from "../../contract/jobs.ts";
import { onSqlite } from "../../contract/stores.ts";

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

  it("The SQLite queue's file is private, with its folder and its write-ahead log", async () => {
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

  it.skipIf(process.platform === "win32")(
    "The SQLite queue's file is no link to another file, which keeps its mode",
    () => {
      const other = join(folder, "other");
      writeFileSync(other, "", { mode: 0o644 });
      symlinkSync(other, join(folder, "queue.db"));
      expect(() => openSqliteQueue(folder)).toThrow(
        expect.objectContaining({ code: "data_folder_unusable" }),
      );
      expect([statSync(other).mode & 0o777, statSync(other).size]).toEqual([0o644, 0]);
    },
  );

  it.each([
    ["the folder is a file", "HUNKWISE_DATA_DIR", () => writeFileSync(join(folder, "data"), "")],
    [
      "the file is no database",
      "keep app.json",
      () => {
        mkdirSync(join(folder, "data"));
        writeFileSync(join(folder, "data", "queue.db"), "something else entirely ".repeat(100));
      },
    ],
    [
      "the file is a folder",
      "HUNKWISE_DATA_DIR",
      () => mkdirSync(join(folder, "data", "queue.db"), { recursive: true }),
    ],
  ])("The SQLite queue's file names the folder and the remedy in one line when %s", (_, remedy, arrange) => {
    arrange();
    const open = () => openSqliteQueue(join(folder, "data"));
    expect(open).toThrow(expect.objectContaining({ code: "data_folder_unusable" }));
    expect(open).toThrow(
      expect.objectContaining({ line: expect.stringMatching(new RegExp(`^.*data.*${remedy}.*$`)) }),
    );
  });

  it.runIf(process.getuid?.() !== 0)(
    "The SQLite queue's file names the folder when it may not be written",
    () => {
      mkdirSync(join(folder, "data"));
      chmodSync(join(folder, "data"), 0o500);
      expect(() => openSqliteQueue(join(folder, "data"))).toThrow(/Cannot use the data folder .*data/);
    },
  );

  it.each([
    ["a newer", 99],
    ["an earlier", 8],
  ])("The SQLite queue's file of %s version is refused and not changed", (_, version) => {
    const database = new DatabaseSync(join(folder, "queue.db"));
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    const refused = `queue.db has schema ${version}, written by another version`;
    expect(() => openSqliteQueue(folder)).toThrow(refused);
    expect(() => readSqliteDatabase(folder)).toThrow(refused);
  });

  it("The SQLite queue's file is purged bit by bit, and other things happen between", async () => {
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

  it("The SQLite queue's file does not stop at a job whose task another version stored", async () => {
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
