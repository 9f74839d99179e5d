import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteQueue } from "../../src/queue/sqlite.ts";
import { sqliteMigrations } from "../../src/queue/sqlite-migrations.ts";
import { describeStores } from "../contract/describe-stores.ts";
import { commandJob, reviewJob } from "../contract/jobs.ts";
import { onSqlite } from "../contract/stores.ts";

const newFolder = () => mkdtempSync(join(tmpdir(), "hunkwise-queue-"));
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

describeStores("in SQLite", onSqlite);

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

  it("of a newer version is left alone", () => {
    const database = new DatabaseSync(join(folder, "queue.db"));
    database.exec("PRAGMA user_version = 99");
    database.close();
    expect(() => openSqliteQueue(folder)).toThrow(/schema 99, written by a newer Hunkwise/);
  });

  it("of every earlier version is taken over with its jobs", async () => {
    for (const version of sqliteMigrations.keys()) {
      const place = join(folder, `schema-${version}`);
      mkdirSync(place);
      const database = new DatabaseSync(join(place, "queue.db"));
      for (const step of sqliteMigrations.slice(0, version)) database.exec(step);
      database.exec(`PRAGMA user_version = ${version}`);
      const { task, serialKey } = reviewJob(1);
      if (version > 0) {
        database
          .prepare(
            `INSERT INTO job (id, task, serial_key, coalesces, priority, state, run_after, created_at)
             VALUES ('old', :task, :serialKey, 1, 0, 'waiting', 0, 0)`,
          )
          .run({ task: JSON.stringify(task), serialKey });
      }
      database.close();
      const queue = openSqliteQueue(place);
      const id = await queue.enqueue(reviewJob(1, { headSha: "b".repeat(40) }));
      expect(id === "old").toBe(version > 0);
      expect(await queue.claim("worker", 1_000)).toMatchObject({ id, task: { headSha: "b".repeat(40) } });
      await queue.close();
    }
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

describe("processes on one SQLite queue", () => {
  let folder: string;
  const children: ChildProcess[] = [];
  beforeEach(() => {
    folder = newFolder();
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    remove(folder);
  });

  /** Runs a module text with a queue at hand in another process, and gives its lines. */
  function inOtherProcess(script: string) {
    const source = `import { openSqliteQueue } from ${JSON.stringify(import.meta.resolve("../../src/queue/sqlite.ts"))};
      const queue = openSqliteQueue(${JSON.stringify(folder)});
      ${script}`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(child);
    return { child, lines: createInterface({ input: child.stdout }) };
  }

  it("take over a job after kill -9 of the process that holds it", async () => {
    const queue = openSqliteQueue(folder);
    const id = await queue.enqueue(reviewJob(1));
    const { child, lines } = inOtherProcess(`
      const job = await queue.claim("doomed", 1500);
      await queue.record(job, { kind: "stopped", loop: "review", reason: "paid" });
      console.log(job.id);
      setInterval(() => queue.heartbeat(job, 1500), 200);`);
    const [claimedId] = await once(lines, "line");
    expect(claimedId).toBe(id);
    expect(await queue.claim("next", 1_500)).toBeUndefined();
    child.kill("SIGKILL");
    await once(child, "exit");
    let taken = await queue.claim("next", 30_000);
    while (!taken) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      taken = await queue.claim("next", 30_000);
    }
    expect(taken).toMatchObject({ id, attempt: 2 });
    expect(await queue.trajectory(id)).toEqual([{ kind: "stopped", loop: "review", reason: "paid" }]);
    await queue.close();
  });

  it("claim every job exactly once between them while more arrive", async () => {
    const queue = openSqliteQueue(folder);
    const drain = `
      let empty = 0;
      while (empty < 20) {
        const job = await queue.claim("w", 30000);
        if (!job) { empty++; await new Promise((r) => setTimeout(r, 20)); continue; }
        empty = 0;
        console.log(job.id);
        await queue.complete(job, { kind: "done", reason: "" });
      }`;
    const claims: string[] = [];
    const ends = [inOtherProcess(drain), inOtherProcess(drain)].map(async ({ child, lines }) => {
      lines.on("line", (line) => claims.push(line));
      await once(child, "close");
    });
    const ids: string[] = [];
    for (let n = 0; n < 60; n++) ids.push(await queue.enqueue(commandJob(n % 7, n)));
    await Promise.all(ends);
    expect(claims.toSorted()).toEqual(ids.toSorted());
    expect((await queue.stats()).jobs).toMatchObject({ done: 60, waiting: 0, active: 0 });
    await queue.close();
  });
});
