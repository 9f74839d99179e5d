import { z } from "zod";
import type { Database } from "./database.ts";

/** A person who is logged in on the pages. */
export interface Session {
  /** GitHub's numeric id. */
  account: number;
  login: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/**
 * The sessions of all web processes, each by the hash of its id: who reads the database can use none of them. A session whose row is gone
 * has ended, in every process. Every method resolves only when its effect is on disk.
 */
export interface Sessions {
  add(hash: string, session: Session): Promise<void>;
  /** Null if there is none, or if it has expired. */
  find(hash: string): Promise<Session | null>;
  end(hash: string): Promise<void>;
  /** Ends every session of a person. */
  endAllOf(account: number): Promise<void>;
}

const Row = z
  .object({ account: z.int(), login: z.string(), expires_at: z.int() })
  .transform(({ account, login, expires_at: expiresAt }): Session => ({ account, login, expiresAt }));

const add =
  "INSERT INTO session (hash, account, login, expires_at) VALUES (:hash, :account, :login, :expiresAt)";
const find = "SELECT account, login, expires_at FROM session WHERE hash = :hash AND expires_at > :now";
const end = "DELETE FROM session WHERE hash = :hash";
const endAllOf = "DELETE FROM session WHERE account = :account";

/** The queue's purge deletes expired sessions. */
export function createSessions(database: Database, now: () => number): Sessions {
  return {
    async add(hash, { account, login, expiresAt }) {
      await database.run(add, { hash, account, login, expiresAt });
    },

    async find(hash) {
      const [row] = (await database.run(find, { hash, now: now() })).rows;
      return row ? Row.parse(row) : null;
    },

    async end(hash) {
      await database.run(end, { hash });
    },

    async endAllOf(account) {
      await database.run(endAllOf, { account });
    },
  };
}
