import { z } from "zod";
import type { Database } from "./database.ts";

/** Whose review spends: a pull request, by its number and the repository's id, and the installation that pays. */
export interface Spender {
  installation: number;
  repository: number;
  pull: number;
}

/** One pull request, or all that an installation reviews. */
type SpendingScope = Spender | Pick<Spender, "installation">;

export interface Spent {
  /** Prompt and completion tokens together. */
  tokens: number;
  /** In US dollars; what had no known price counts as nothing. */
  costUsd: number;
}

/** What model turns took, by calendar day (UTC). Every method resolves only when its effect is on disk. */
export interface Spending {
  /** Adds a turn that was paid for. `at` is in milliseconds since 1970, `costUsd` null where the price is not known. */
  charge(by: Spender, usage: { tokens: number; costUsd: number | null }, at: number): Promise<void>;
  /** All that was charged on the day, by any process. */
  spentOn(day: string, scope: SpendingScope): Promise<Spent>;
}

/** The calendar day (UTC) of a time in milliseconds since 1970, as "2026-11-22". */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

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
