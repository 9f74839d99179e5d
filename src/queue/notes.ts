import type { Database } from "./database.ts";

/**
 * Small facts that are worth keeping and can be found out again: which answer of GitHub is known (ETags), up to which
 * delivery its list was read. Every method resolves only when its effect is on disk.
 */
export interface Notes {
  /** Null where there is none. */
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}

const read = "SELECT text FROM note WHERE name = :name";
const write = `INSERT INTO note (name, text, written_at) VALUES (:name, :text, :now)
  ON CONFLICT (name) DO UPDATE SET text = excluded.text, written_at = excluded.written_at`;
const remove = "DELETE FROM note WHERE name = :name";

/** Notes beside the queue. It purges them by age: whoever still needs one writes it again. */
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
