import { z } from "zod";
import { type Database, type RetryOptions, readRows, retryWhileUnavailable } from "./database.ts";
import { addUp } from "./schema.ts";

/** The pull request whose review spends; `repository` is its id, and the installation pays. */
export interface Spender {
  installation: number;
  repository: number;
  pull: number;
}

type SpendingScope = Spender | Pick<Spender, "installation">;

export interface Payer extends Spender {
  job: string;
}

export interface PaidTurn {
  /** The model's name. */
  model: string;
  promptTokens: number;
  /** The part of `promptTokens` that the provider had cached. */
  cachedTokens: number;
  completionTokens: number;
  /** In US dollars; null if the price is unknown. */
  costUsd: number | null;
}

export type Spending = ReturnType<typeof createSpending>;

/** The calendar day (UTC) of a time in milliseconds since 1970, as "2026-11-22". */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The calendar month (UTC) of a time in milliseconds since 1970, as "2026-11". */
export const monthOf = (at: number): string => dayOf(at).slice(0, "2026-11".length);

/** The Monday (UTC) of the week of a time in milliseconds since 1970, as "2026-11-23". */
export function weekOf(at: number): string {
  const day = Math.floor(at / dayMs);
  // 1 January 1970 was a Thursday.
  return dayOf((day - ((day + 3) % 7)) * dayMs);
}

const dayMs = 86_400_000;

const SpentRow = z.object({ tokens: z.int(), costUsd: z.number() });

const addTurn = `INSERT INTO spending (day, installation, repository, pull, tokens, cost_usd)
  VALUES (:day, :installation, :repository, :pull, :tokens, :cost)
  ON CONFLICT (day, installation, repository, pull) ${addUp("spending", "tokens, cost_usd")}`;

const addToModel = `INSERT INTO model_week (repository, week, model, turns, prompt_tokens, cached_tokens, completion_tokens,
    cost_usd, unpriced)
  VALUES (:repository, :week, :model, 1, :promptTokens, :cachedTokens, :completionTokens, :cost, :unpriced)
  ON CONFLICT (repository, week, model)
    ${addUp("model_week", "turns, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced")}`;
const addToJob = `UPDATE job SET turns = turns + 1, prompt_tokens = prompt_tokens + :promptTokens,
    cached_tokens = cached_tokens + :cachedTokens, completion_tokens = completion_tokens + :completionTokens,
    cost_usd = cost_usd + :cost, unpriced = unpriced + :unpriced WHERE id = :job`;

const sumOfDays = `SELECT CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens, coalesce(sum(cost_usd), 0.0) AS "costUsd" FROM spending
  WHERE day BETWEEN :first AND :last AND installation = :installation
    AND ((repository = :repository AND pull = :pull) OR :pull IS NULL)`;

/** Tokens and cost of model turns, by calendar day (UTC). Every method resolves only when its effect is on disk. */
export function createSpending(database: Database) {
  return {
    /** Adds a turn to the pull request's day, the model's week and the job. `at` is in milliseconds since 1970. */
    charge(by: Payer, turn: PaidTurn, at: number): Promise<void> {
      const { installation, repository, pull, job } = by;
      const { model, costUsd, promptTokens, cachedTokens, completionTokens } = turn;
      const price = { cost: costUsd ?? 0, unpriced: costUsd === null ? 1 : 0 };
      const taken = { promptTokens, cachedTokens, completionTokens, ...price };
      return database.transaction(async (run) => {
        const day = { day: dayOf(at), installation, repository, pull };
        await run(addTurn, { ...day, tokens: promptTokens + completionTokens, cost: price.cost });
        await run(addToModel, { repository, week: weekOf(at), model, ...taken });
        await run(addToJob, { job, ...taken });
      });
    },

    /**
     * The sum of a day ("2026-11-22") or a month ("2026-11"), of all processes: prompt and completion tokens together, and US dollars, without
     * turns whose price is unknown.
     */
    async spentOn(period: string, scope: SpendingScope): Promise<{ tokens: number; costUsd: number }> {
      const isMonth = period.length === "2026-11".length;
      const [first, last] = isMonth ? [`${period}-01`, `${period}-31`] : [period, period];
      const [sum] = await readRows(database.run, SpentRow, sumOfDays, { first, last, ...scope });
      return sum ?? { tokens: 0, costUsd: 0 };
    },
  };
}

/** Spending that waits for an unavailable database. A turn may be charged twice if only the answer is lost: budgets then end early. */
export function retryingSpending(spending: Spending, options: RetryOptions): Spending {
  const retry = <T>(attempt: () => Promise<T>) => retryWhileUnavailable(attempt, options);
  return {
    charge: (by, usage, at) => retry(() => spending.charge(by, usage, at)),
    spentOn: (period, scope) => retry(() => spending.spentOn(period, scope)),
  };
}

/** Work that counts against a quota. */
export interface QuotaEntry {
  installation: number;
  /** The repository's id; the entry is deleted with its data. */
  repository: number;
  /** Identifies the work: a retry, also after a crash, is the same entry. */
  name: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** At most `most` entries of an installation and scope since a moment. */
export interface QuotaLimit {
  /** What is limited: "pull 7#3", "person octocat". */
  scope: string;
  most: number;
  /** Milliseconds since 1970. */
  since: number;
}

export type Quotas = ReturnType<typeof createQuotas>;

const CountRow = z.object({ entries: z.int() });

const knownEntry =
  "SELECT 1 AS known FROM tally WHERE installation = :installation AND scope = :scope AND name = :name";
const countEntries = `SELECT count(*) AS entries FROM tally
  WHERE installation = :installation AND scope = :scope AND at >= :since`;
const addEntry = `INSERT INTO tally (installation, scope, name, repository, at)
  VALUES (:installation, :scope, :name, :repository, :at)`;

/** Quotas that all processes share. Every method resolves only when its effect is on disk. */
export function createQuotas(database: Database) {
  return {
    /** Counts the entry once in the scope of each limit, or in none if one is reached. Resolves to the limit that is reached, or null. */
    take: (
      { installation, repository, name, at }: QuotaEntry,
      limits: readonly QuotaLimit[],
    ): Promise<QuotaLimit | null> =>
      database.transaction(async (run) => {
        const fresh: string[] = [];
        for (const limit of limits) {
          const { scope, most, since } = limit;
          const { rows } = await run(knownEntry, { installation, scope, name });
          if (rows.length > 0) continue;
          const [row] = await readRows(run, CountRow, countEntries, { installation, scope, since });
          if (!row || row.entries >= most) return limit;
          fresh.push(scope);
        }
        for (const scope of fresh) await run(addEntry, { installation, scope, name, repository, at });
        return null;
      }),
  };
}
