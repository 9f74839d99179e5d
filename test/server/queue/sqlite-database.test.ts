import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Database } from "../../../src/server/queue/database.ts";
import { openSqliteDatabase } from "../../../src/server/queue/sqlite-database.ts";

let folder: string;
let database: Database;
let stranger: DatabaseSync;
const note = "INSERT INTO note (name, text, written_at) VALUES (:name, '', 0)";
const names = async () =>
  (await database.run("SELECT name FROM note ORDER BY name")).rows.map((row) => row.name);

function open(patienceMs: number): void {
  folder = mkdtempSync(join(tmpdir(), "hunkwise-sqlite-"));
  database = openSqliteDatabase(folder, { patienceMs });
  stranger = new DatabaseSync(join(folder, "queue.db"));
}
beforeEach(() => open(60_000));
afterEach(async () => {
  stranger.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

it("A locked file blocks writers, and nothing else in the process", async () => {
  stranger.exec("BEGIN IMMEDIATE");
  let written = 0;
  const writes = [
    database.run(note, { name: "one" }).then(() => written++),
    database.transaction((run) => run(note, { name: "two" })).then(() => written++),
  ];
  for (let turn = 0; turn < 5; turn++) await sleep(1);
  expect(written).toBe(0);
  stranger.exec("COMMIT");
  await Promise.all(writes);
  expect(await names()).toEqual(["one", "two"]);
});

it("All writers that wait too long for a locked file fail at the same time, and may try again", async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
  stranger.close();
  open(0);
  stranger.exec("BEGIN IMMEDIATE");
  const locked = {
    ...{
      code: "data_folder_unusable",
      retryable: true,
      message: expect.stringMatching(/queue\.db: database is locked/),
    },
    cause: expect.objectContaining({ errcode: 5 }),
  };
  await Promise.all(
    ["one", "two"].map((name) => expect(database.run(note, { name })).rejects.toMatchObject(locked)),
  );
  await expect(database.transaction((run) => run(note, { name: "three" }))).rejects.toMatchObject(locked);
  stranger.exec("COMMIT");
  await database.run(note, { name: "four" });
  expect(await names()).toEqual(["four"]);
});

it("Transactions that are begun at once run one after the other, also on two connections of one file", async () => {
  const other = openSqliteDatabase(folder);
  const count = (on: Database) =>
    on.transaction(async (run) => {
      const { rows } = await run("SELECT count(*) AS notes FROM note");
      await run(note, { name: `note ${rows[0]?.notes}` });
    });
  await Promise.all(Array.from({ length: 6 }, (_, n) => count(n % 2 ? other : database)));
  expect(await names()).toEqual([0, 1, 2, 3, 4, 5].map((n) => `note ${n}`));
  await other.close();
});

it("A transaction that fails half way leaves nothing, and what follows is not part of it", async () => {
  const failed = database.transaction(async (run) => {
    await run(note, { name: "half" });
    throw new Error("no");
  });
  const next = database.run(note, { name: "whole" });
  await expect(failed).rejects.toThrow("no");
  await next;
  expect(await names()).toEqual(["whole"]);
});
