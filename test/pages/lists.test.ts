import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { openReader } from "../../src/queue/reader.ts";
import { openSqliteDatabase } from "../../src/queue/sqlite-database.ts";
import { describePages } from "../contract/pages.ts";

describe("the pages over SQLite", () =>
  describePages(async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), "hunkwise-pages-"));
    const database = openSqliteDatabase(dataFolder);
    const reader = await openReader({ databaseUrl: null, dataFolder });
    return {
      database,
      reader,
      plan: async (sql, parameters) =>
        (await reader.run(`EXPLAIN QUERY PLAN ${sql}`, parameters)).rows.map(({ detail }) => String(detail)),
      async remove() {
        await reader.close();
        await database.close();
        rmSync(dataFolder, { recursive: true, force: true });
      },
    };
  }));
