import { setImmediate } from "node:timers/promises";
import type { Result } from "./database.ts";

/**
 * Deletes portion by portion until nothing is left; resolves to how many rows. Between two portions other things happen: SQLite
 * deletes in this very thread, and overwrites what it deletes, a minute's work after a month of reviews.
 */
export async function inPortions(deleteSome: () => Promise<Pick<Result, "changes">>): Promise<number> {
  let rows = 0;
  for (;;) {
    const { changes } = await deleteSome();
    if (changes === 0) return rows;
    rows += changes;
    await setImmediate();
  }
}
