import type { Database } from "./database.ts";

/**
 * A key-value store for facts that can be found out again, such as the last delivery that was read. Every method resolves only
 * when its effect is on disk.
 */
export interface Notes {
  /** Null if there is none. */
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}

const read = "SELECT text FROM note WHERE name = :name";
const write = `INSERT INTO note (name, text, written_at) VALUES (:name, :text, :now)
  ON CONFLICT (name) DO UPDATE SET text = excluded.text, written_at = excluded.written_at`;
const remove = "DELETE FROM note WHERE name = :name";

/** The queue's purge deletes notes by age; one that is still needed has to be written again. */
export function createNotes(database: Database, now: () => number): Notes {
  return {
    async read(name) {
      const row = (await database.run(read, { name })).rows[0];
      return row ? String(row.text) : null;
    },

    async write(name, text) {
      await database.run(write, { name, text, now: now() });
    },

    async remove(name) {
      await database.run(remove, { name });
    },
  };
}
