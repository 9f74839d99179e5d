import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Database } from "../../src/server/queue/database.ts";
import { openPostgresDatabase } from "../../src/server/queue/postgres-database.ts";
import {
  createStores,
  type DatabaseLocation,
  openStores,
  type StoreOptions,
  type Stores,
} from "../../src/server/queue/stores.ts";
import { sharedPostgres } from "../support/postgres.ts";

/** Access of a suite to the stores of one database. `open` may be called again: the same data through another connection. */
export interface StoresUnderTest {
  open(options?: StoreOptions): Promise<Stores>;
  /** Location of the same data for another process. */
  place(): Promise<DatabaseLocation>;
  /** Removes the data after a test. */
  remove(): Promise<void>;
}

/** The data of each test of a suite; what a test opens is closed after it, before the data are removed. */
export function dataOfTests(create: () => StoresUnderTest) {
  let underTest: StoresUnderTest;
  const opened: Stores[] = [];
  const close = () => Promise.all(opened.splice(0).map((stores) => stores.close()));
  beforeEach(() => {
    underTest = create();
  });
  afterEach(async () => {
    await close();
    await underTest.remove();
  });
  return {
    async open(options?: StoreOptions): Promise<Stores> {
      const stores = await underTest.open(options);
      opened.push(stores);
      return stores;
    },
    place: () => underTest.place(),
    close,
  };
}

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
