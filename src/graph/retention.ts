import type { DatabaseSync } from "node:sqlite";
import { SEQ_BITS, tables } from "./schema.ts";

/** Blobs of other heads that are kept beside those of this one: as many again, and at least so many. */
const LEAST_KEPT = 2_000;

/**
 * Forgets facts of texts that are not at this head where there are more of them than of those that are: the file grows no
 * further than twice what its largest head needs. What was indexed first goes first.
 *
 * @returns how many blobs were forgotten
 */
export function forgetOld(database: DatabaseSync, leastKept = LEAST_KEPT): number {
  const count = (sql: string) => Number(database.prepare(sql).get()?.count ?? 0);
  const present = count("SELECT count(DISTINCT blob) AS count FROM temp.present");
  const surplus = count("SELECT count(*) AS count FROM main.blob") - present - Math.max(present, leastKept);
  if (surplus <= 0) return 0;
  // The newest stay: a new blob gets the number behind the last one, and another connection may know it still.
  const old = database
    .prepare(
      `SELECT id FROM main.blob WHERE id NOT IN (SELECT blob FROM temp.present WHERE blob IS NOT NULL) ORDER BY id LIMIT ?`,
    )
    .all(surplus);
  const facts = Object.keys(tables).filter((name) => name !== "blob");
  const forget = facts.map((name) => database.prepare(`DELETE FROM main.${name} WHERE blob = ?`));
  const forgetBlob = database.prepare("DELETE FROM main.blob WHERE id = ?");
  const forgetWords = database.prepare("DELETE FROM main.words WHERE rowid >= ? AND rowid < ?");
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const { id } of old) {
      const blob = Number(id);
      for (const each of forget) each.run(blob);
      forgetWords.run(blob * 2 ** SEQ_BITS, (blob + 1) * 2 ** SEQ_BITS);
      forgetBlob.run(blob);
    }
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
  return old.length;
}
