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

const SpentRow = z.object({ tokens: z.int(), cost: z.number() });

const addTurn = `INSERT INTO spending (day, installation, repository, pull, tokens, cost_usd)
  VALUES (:day, :installation, :repository, :pull, :tokens, :cost)
  ON CONFLICT (day, installation, repository, pull) DO UPDATE
    SET tokens = spending.tokens + excluded.tokens, cost_usd = spending.cost_usd + excluded.cost_usd`;

const sumOfDay = `SELECT CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens, coalesce(sum(cost_usd), 0.0) AS cost FROM spending
  WHERE day = :day AND installation = :installation
    AND ((repository = :repository AND pull = :pull) OR :pull IS NULL)`;

/** The accounts beside the queue, which purges them with everything else. */
export function createSpending(database: Database): Spending {
  return {
    async charge({ installation, repository, pull }, { tokens, costUsd }, at) {
      const by = { day: dayOf(at), installation, repository, pull };
      await database.run(addTurn, { ...by, tokens, cost: costUsd ?? 0 });
    },

    async spentOn(day, scope) {
      const { installation } = scope;
      const { repository, pull } = "pull" in scope ? scope : { repository: null, pull: null };
      const { rows } = await database.run(sumOfDay, { day, installation, repository, pull });
      const { tokens, cost } = SpentRow.parse(rows[0]);
      return { tokens, costUsd: cost };
    },
  };
}

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

const knownEntry =
  "SELECT 1 AS known FROM tally WHERE installation = :installation AND scope = :scope AND name = :name";
const countEntries = `SELECT count(*) AS entries FROM tally
  WHERE installation = :installation AND scope = :scope AND at >= :since`;
const addEntry = `INSERT INTO tally (installation, scope, name, repository, at)
  VALUES (:installation, :scope, :name, :repository, :at)`;

/** The tally beside the queue, which purges it with everything else: one for all processes, each entry by itself. */
export function createQuotas(database: Database): Quotas {
  return {
    take: ({ installation, repository, name, at }, limits) =>
      database.transaction(async (run) => {
        const fresh: string[] = [];
        for (const limit of limits) {
          const { scope, most, since } = limit;
          const { rows } = await run(knownEntry, { installation, scope, name });
          if (rows.length > 0) continue;
          const [row] = (await run(countEntries, { installation, scope, since })).rows;
          if (CountRow.parse(row).entries >= most) return limit;
          fresh.push(scope);
        }
        for (const scope of fresh) await run(addEntry, { installation, scope, name, repository, at });
        return null;
      }),
  };
}
