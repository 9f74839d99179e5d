import pg from "pg";
import { describe } from "vitest";
import { openPostgresDatabase } from "../../src/server/queue/postgres-database.ts";
import { openReader } from "../../src/server/queue/reader.ts";
import { describePages } from "../contract/pages.ts";
import { query, sharedPostgres } from "../support/postgres.ts";

describe("the pages over Postgres", () =>
  describePages(async () => {
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const database = await openPostgresDatabase(databaseUrl);
    const reader = await openReader({ databaseUrl, dataFolder: "/nowhere" });
    const client = new pg.Client(databaseUrl);
    await client.connect();
    // What fits into few pages is otherwise read as a whole, because that is faster.
    await client.query("SET search_path TO hunkwise; SET enable_seqscan = off");
    return {
      database,
      reader,
      async plan(sql) {
        const names = [...new Set(Array.from(sql.matchAll(/:(\w+)/g), ([, name = ""]) => name))];
        const text = sql.replaceAll(/:(\w+)/g, (_, name: string) => `$${names.indexOf(name) + 1}`);
        const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN) ${text}`);
        return rows.map((row) => String(row["QUERY PLAN"]));
      },
      async remove() {
        await client.end();
        await reader.close();
        await database.close();
        await query(
          databaseUrl.replace(/\/\w+$/, "/postgres"),
          `DROP DATABASE ${databaseUrl.split("/").at(-1)}`,
        );
      },
    };
  }));
