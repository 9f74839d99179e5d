import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../../src/server/queue/database.ts";
import { idList, idsIn, openReader, type Reader } from "../../../src/server/queue/reader.ts";
import { ownDatabase } from "../../pages/rendered.ts";
import { failure } from "../../support/failure.ts";

const count = "INSERT INTO pulse (id, at) VALUES (1, :at) ON CONFLICT (id) DO UPDATE SET at = excluded.at";
/** Takes some hundred milliseconds. */
const long = `WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 1000000)
  SELECT count(*) AS numbers FROM number`;

describe("a reader of SQLite", () => {
  let dataFolder: string;
  let database: Database;
  let reader: Reader;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    ({ dataFolder, database, reader, remove } = await ownDatabase());
  });
  afterEach(() => remove());

  it("A reader of SQLite lets this process write and answer while a long statement is read", async () => {
    const events: string[] = [];
    const reading = reader.run(long).then(({ rows }) => events.push(`read ${rows[0]?.numbers}`));
    await database.run(count, { at: 1 });
    events.push("written");
    await new Promise((resolve) => setTimeout(resolve, 1));
    events.push("answered");
    await reading;
    expect(events).toEqual(["written", "answered", "read 1000000"]);
  });

  it("A reader of SQLite sees what was written before it was asked", async () => {
    for (const at of [1, 2, 3]) {
      await database.run(count, { at });
      expect((await reader.run("SELECT at FROM pulse")).rows).toEqual([{ at }]);
    }
  });

  it("A reader of SQLite answers each of many questions with its own answer", async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        reader.run("SELECT :n AS n", { n }).then(({ rows }) => rows[0]?.n),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });

  it("A reader of SQLite reads a list of ids of any length, which a statement takes as one value", async () => {
    const ids = [1, 9, 5_000_000_000, ...Array.from({ length: 5_000 }, (_, index) => 10_000 + index)];
    const { rows } = await reader.run(`SELECT id FROM (${idsIn("ids")}) AS list ORDER BY id`, {
      ids: idList(ids),
    });
    expect(rows.map(({ id }) => id)).toEqual(ids.toSorted((a, b) => a - b));
    expect((await reader.run(idsIn("ids"), { ids: idList([]) })).rows).toEqual([]);
  });

  it("A reader of SQLite writes nothing, and goes on after a statement that fails", async () => {
    expect((await failure(reader.run(count, { at: 1 }))).message).toContain("readonly");
    expect((await failure(reader.run("SELECT * FROM nowhere"))).message).toContain("no such table");
    expect((await reader.run("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });

  it("A reader of SQLite rejects what waits when it is closed, and everything after", async () => {
    const waiting = failure(reader.run(long));
    await reader.close();
    expect(await waiting).toMatchObject({ code: "data_folder_unusable", retryable: true });
    expect(await failure(reader.run("SELECT 1"))).toMatchObject({ code: "aborted" });
    await reader.close();
  });

  it("A reader of SQLite is refused with the remedy if there is no database", async () => {
    const error = await failure(openReader({ databaseUrl: null, dataFolder: join(dataFolder, "nothing") }));
    expect(error).toMatchObject({
      code: "data_folder_unusable",
      remedy: "Set HUNKWISE_DATA_DIR to the data folder of the server.",
    });
  });
});
