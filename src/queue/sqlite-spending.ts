import { z } from "zod";
import { inTransaction, openDatabase } from "./database.ts";
import { dayOf, type Spending } from "./spending.ts";

const Row = z.object({ tokens: z.int(), cost: z.number() });

/**
 * Opens the accounts that live beside the queue in `<dataFolder>/queue.db`. The queue purges them with everything else.
 * @throws AppError `data_folder_unusable`.
 */
export function openSqliteSpending(dataFolder: string): Spending {
  const database = openDatabase(dataFolder);
  const add = database.prepare(
    `INSERT INTO spending (day, installation, repository, pull, tokens, cost_usd)
     VALUES (:day, :installation, :repository, :pull, :tokens, :cost)
     ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens, cost_usd = cost_usd + excluded.cost_usd`,
  );
  const sum = database.prepare(
    `SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost_usd), 0.0) AS cost FROM spending
     WHERE day = :day AND installation = :installation
       AND (:pull IS NULL OR (repository = :repository AND pull = :pull))`,
  );

  return {
    async charge({ installation, repository, pull }, { tokens, costUsd }, at) {
      const by = { day: dayOf(at), installation, repository, pull };
      inTransaction(database, () => add.run({ ...by, tokens, cost: costUsd ?? 0 }));
    },

    async spentOn(day, scope) {
      const { installation } = scope;
      const { repository, pull } = "pull" in scope ? scope : { repository: null, pull: null };
      const { tokens, cost } = Row.parse(sum.get({ day, installation, repository, pull }));
      return { tokens, costUsd: cost };
    },

    async close() {
      if (database.isOpen) database.close();
    },
  };
}
