import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStores, type StoreOptions } from "../../src/queue/open-stores.ts";
import type { Stores } from "../../src/queue/stores.ts";
import { query, sharedPostgres } from "../support/postgres.ts";

/** How a suite gets at the stores of one database. `open` may be called again: the same data through another connection. */
export interface StoresUnderTest {
  open(options?: StoreOptions): Promise<Stores>;
  /** Removes the data after a test. */
  remove(): Promise<void>;
}

/** A new file for each test. */
export function onSqlite(): StoresUnderTest {
  const dataFolder = mkdtempSync(join(tmpdir(), "hunkwise-stores-"));
  return {
    open: (options) => openStores({ databaseUrl: null, dataFolder, ...options }),
    remove: async () => rmSync(dataFolder, { recursive: true, force: true }),
  };
}

const tables = ["delivery", "job", "spending", "last_claim", "pace", "creation", "note", "pulse"];
const idle: string[] = [];

/** A database that is empty; tests that follow each other use one in turn, because making one takes longer than most tests. */
export function onPostgres(): StoresUnderTest {
  const found = take();
  return {
    open: async (options) => openStores({ databaseUrl: await found, dataFolder: "/nowhere", ...options }),
    async remove() {
      const url = await found;
      await query(url, tables.map((table) => `DELETE FROM hunkwise.${table}`).join(";"));
      idle.push(url);
    },
  };
}

async function take(): Promise<string> {
  return idle.pop() ?? (await sharedPostgres()).createDatabase();
}

/** Each suite that every database passes. */
export const databases = [
  ["SQLite", onSqlite],
  ["Postgres", onPostgres],
] as const;
