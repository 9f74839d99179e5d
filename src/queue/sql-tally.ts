import { z } from "zod";
import type { Database } from "./database.ts";
import type { Tally } from "./tally.ts";

const CountRow = z.object({ entries: z.int() });

const known =
  "SELECT 1 AS known FROM tally WHERE installation = :installation AND scope = :scope AND name = :name";
const count = `SELECT count(*) AS entries FROM tally
  WHERE installation = :installation AND scope = :scope AND at >= :since`;
const add = `INSERT INTO tally (installation, scope, name, repository, at)
  VALUES (:installation, :scope, :name, :repository, :at)`;

/** The tally beside the queue, which purges it with everything else: one for all processes, each entry by itself. */
export function createTally(database: Database): Tally {
  return {
    enter: ({ installation, repository, name, at }, limits) =>
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
