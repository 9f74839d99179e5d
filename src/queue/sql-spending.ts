import { z } from "zod";
import type { Database } from "./database.ts";
import { dayOf, type Spending } from "./spending.ts";

const Row = z.object({ tokens: z.int(), cost: z.number() });

const add = `INSERT INTO spending (day, installation, repository, pull, tokens, cost_usd)
  VALUES (:day, :installation, :repository, :pull, :tokens, :cost)
  ON CONFLICT (day, installation, repository, pull) DO UPDATE
    SET tokens = spending.tokens + excluded.tokens, cost_usd = spending.cost_usd + excluded.cost_usd`;

const sum = `SELECT CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens, coalesce(sum(cost_usd), 0.0) AS cost FROM spending
  WHERE day = :day AND installation = :installation
    AND ((repository = :repository AND pull = :pull) OR :pull IS NULL)`;

/** The accounts beside the queue, which purges them with everything else. */
export function createSpending(database: Database): Spending {
  return {
    async charge({ installation, repository, pull }, { tokens, costUsd }, at) {
      const by = { day: dayOf(at), installation, repository, pull };
      await database.run(add, { ...by, tokens, cost: costUsd ?? 0 });
    },

    async spentOn(day, scope) {
      const { installation } = scope;
      const { repository, pull } = "pull" in scope ? scope : { repository: null, pull: null };
      const { rows } = await database.run(sum, { day, installation, repository, pull });
      const { tokens, cost } = Row.parse(rows[0]);
      return { tokens, costUsd: cost };
    },
  };
}
