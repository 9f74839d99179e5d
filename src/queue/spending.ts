/** Whose review spends: a pull request, by its number and the repository's id, and the installation that pays. */
export interface Spender {
  installation: number;
  repository: number;
  pull: number;
}

/** One pull request, or all that an installation reviews. */
export type SpendingScope = Spender | Pick<Spender, "installation">;

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
