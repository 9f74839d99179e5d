import { z } from "zod";
import type { Database } from "./database.ts";

/** What a job is about to do, of that which has a limit. */
export interface QuotaEntry {
  installation: number;
  /** The repository's id: what is kept of it goes with it. */
  repository: number;
  /** Names the work itself: whatever is done again for it, after a crash too, is the same entry. */
  name: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** At most so many entries of an installation below one name since a moment. */
export interface QuotaLimit {
  /** What is limited: "pull 7#3", "person octocat". */
  scope: string;
  most: number;
  /** Milliseconds since 1970. */
  since: number;
}

/** Counts what is done so often at most. Every method resolves only when its effect is on disk. */
export interface Quotas {
  /**
   * Enters what is about to be done below each of the limits' names, unless one of them is full: then below none. What was
   * entered before passes and counts once. Resolves to the limit that is reached, null where there is room.
   */
  take(entry: QuotaEntry, limits: readonly QuotaLimit[]): Promise<QuotaLimit | null>;
}

const CountRow = z.object({ entries: z.int() });

const known =
  "SELECT 1 AS known FROM tally WHERE installation = :installation AND scope = :scope AND name = :name";
const count = `SELECT count(*) AS entries FROM tally
  WHERE installation = :installation AND scope = :scope AND at >= :since`;
const add = `INSERT INTO tally (installation, scope, name, repository, at)
  VALUES (:installation, :scope, :name, :repository, :at)`;

/** The tally beside the queue, which purges it with everything else: one for all processes, each entry by itself. */
export function createQuotas(database: Database): Quotas {
  return {
    take: ({ installation, repository, name, at }, limits) =>
      database.transaction(async (run) => {
        const fresh: string[] = [];
        for (const limit of limits) {
          const { scope, most, since } = limit;
          const { rows } = await run(known, { installation, scope, name });
          if (rows.length > 0) continue;
          const [row] = (await run(count, { installation, scope, since })).rows;
          if (CountRow.parse(row).entries >= most) return limit;
          fresh.push(scope);
        }
        for (const scope of fresh) await run(add, { installation, scope, name, repository, at });
        return null;
      }),
  };
}
