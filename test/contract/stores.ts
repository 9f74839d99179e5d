import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "../../src/server/queue/database.ts";
import { openPostgresDatabase } from "../../src/server/queue/postgres-database.ts";
import { createStores, type DatabaseLocation, openStores } from "../../src/server/queue/stores.ts";
import { sharedPostgres } from "../support/postgres.ts";
import type { StoresUnderTest } from "./suite.ts";

/** A new file for each test. */
export function onSqlite(): StoresUnderTest {
  const dataFolder = mkdtempSync(join(tmpdir(), "hunkwise-stores-"));
  const place: DatabaseLocation = { databaseUrl: null, dataFolder };
  return {
    place: async () => place,
    open: (options) => openStores({ ...place, ...options }),
    remove: async () => rmSync(dataFolder, { recursive: true, force: true }),
  };
}

const tables = [
  ...["delivery", "job", "spending", "last_claim", "note", "pulse", "tally"],
  ...["repository", "run", "pull", "finding", "finding_text", "outcome_week", "model_week", "run_week"],
  "worker",
];
let url: Promise<string> | undefined;
const connections: Database[] = [];

/**
 * An empty database. Consecutive tests share it and its connections, because creating them takes longer than most tests; `closePostgres`
 * closes them.
 */
export function onPostgres(): StoresUnderTest {
  let opened = 0;
  const databaseUrl = () => (url ??= sharedPostgres().then((server) => server.createDatabase()));
  return {
    place: async () => ({ databaseUrl: await databaseUrl(), dataFolder: "/nowhere" }),
    async open(options = {}) {
      const nth = opened++;
      connections[nth] ??= await openPostgresDatabase(await databaseUrl());
      return createStores(openOnly(connections[nth]), options);
    },
    async remove() {
      for (const table of tables) await connections[0]?.run(`DELETE FROM ${table}`);
    },
  };
}

/** The same connection, but it stays open when the stores close. */
const openOnly = (database: Database): Database => ({
  run: database.run,
  transaction: (work) => database.transaction(work),
  close: async () => {},
});

export async function closePostgres(): Promise<void> {
  await Promise.all(connections.splice(0).map((database) => database.close()));
}
