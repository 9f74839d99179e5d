import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { openSqliteQueue } from "../../src/queue/sqlite.ts";
import { sqliteMigrations } from "../../src/queue/sqlite-migrations.ts";
import { openSqliteSpending } from "../../src/queue/sqlite-spending.ts";
import { reviewJob } from "../contract/jobs.ts";

const newFolder = () => mkdtempSync(join(tmpdir(), "hunkwise-spending-"));
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

it("A queue of the version before gets its place for spending, and keeps its jobs", async () => {
  const folder = newFolder();
  const database = new DatabaseSync(join(folder, "queue.db"));
  database.exec(`${sqliteMigrations[0]}; PRAGMA user_version = 1`);
  database.close();
  const queue = openSqliteQueue(folder);
  await queue.enqueue(reviewJob(1));
  const spending = openSqliteSpending(folder);
  await spending.charge({ installation: 1, repository: 7, pull: 1 }, { tokens: 3, costUsd: 0 }, 0);

  expect(await spending.spentOn("1970-01-01", { installation: 1 })).toEqual({ tokens: 3, costUsd: 0 });
  expect((await queue.stats()).jobs.waiting).toBe(1);
  await Promise.all([queue.close(), spending.close()]);
  remove(folder);
});
