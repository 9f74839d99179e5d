import type { LoopEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import { factsOf, type Model, type Usage } from "../llm/model.ts";
import { dayOf, type Spender, type Spending } from "../queue/usage.ts";
import type { Limits } from "../review/review-input.ts";

/** What may be spent on one calendar day (UTC). Null: no limit. */
export interface DayLimits {
  tokens: number | null;
  costUsd: number | null;
}

export interface DayBudgetOptions {
  spending: Spending;
  by: Spender;
  /** Of the pull request, as its repository configures it. */
  ofPull: DayLimits;
  /** Of the installation, as the operator does. */
  ofInstallation: DayLimits;
  /** Milliseconds since 1970. */
  now(): number;
}

/** What is left today of the two budgets, whichever is tighter; null where neither has a limit. */
export interface LeftToday extends DayLimits {
  /** Whose budget has nothing left. */
  usedUp: "this pull request" | "its installation" | null;
}

/** With fewer tokens left than this nothing is begun: no request is as small. */
const leastTokens = 1_000;

/**
 * The budgets of the day that a review spends from. Reviews that run at the same time spend from the same ones, so they are
 * asked before each model turn, and charged after it: what goes beyond them is at most the turns under way at that moment.
 * A turn without a known price counts by its tokens alone.
 */
export class DayBudget {
  readonly #options: DayBudgetOptions;

  constructor(options: DayBudgetOptions) {
    this.#options = options;
  }

  async left(): Promise<LeftToday> {
    const { spending, by, ofPull, ofInstallation, now } = this.#options;
    const day = dayOf(now());
    const pull = remaining(ofPull, await spending.spentOn(day, by));
    const installation = remaining(
      ofInstallation,
      await spending.spentOn(day, { installation: by.installation }),
    );
    return {
      tokens: smaller(pull.tokens, installation.tokens),
      costUsd: smaller(pull.costUsd, installation.costUsd),
      usedUp: isUsedUp(pull) ? "this pull request" : isUsedUp(installation) ? "its installation" : null,
    };
  }

  /** Rejects with `budget_spent` when nothing is left. */
  async require(): Promise<void> {
    const { usedUp } = await this.left();
    if (usedUp) throw budgetSpent(usedUp);
  }

  /** The model, as long as there is something left. Rejects with `budget_spent` then; it will not pass today. */
  meter(model: Model): Model {
    return {
      ...factsOf(model),
      costOf: (usage) => model.costOf?.(usage) ?? null,
      respond: async (request, signal) => {
        await this.require();
        const turn = await model.respond(request, signal);
        await this.#charge(turn.usage);
        return turn;
      },
    };
  }

  async #charge({ promptTokens, completionTokens, costUsd }: Usage): Promise<void> {
    const { spending, by, now } = this.#options;
    await spending.charge(by, { tokens: promptTokens + completionTokens, costUsd }, now());
  }
}

/** In words that everybody may read. */
function budgetSpent(whose: NonNullable<LeftToday["usedUp"]>): AppError {
  return new AppError("budget_spent", `today's budget of ${whose} is used up`);
}

/**
 * The limits of a review that has no more than this left today. Turns on record count against its limits once more and were
 * charged when they were made, so they come on top.
 */
export function withinDay(limits: Limits, left: DayLimits, recorded: readonly LoopEntry[]): Limits {
  const turns = recorded.flatMap((entry) => (entry.kind === "turn" ? [entry.model.usage] : []));
  const tokens = turns.reduce((sum, one) => sum + one.promptTokens + one.completionTokens, 0);
  const costUsd = turns.reduce((sum, one) => sum + (one.costUsd ?? 0), 0);
  return {
    ...limits,
    tokens: smaller(limits.tokens, left.tokens === null ? null : Math.max(1, left.tokens + tokens)),
    costUsd: smaller(limits.costUsd, left.costUsd === null ? null : Math.max(1e-9, left.costUsd + costUsd)),
  };
}

function remaining(limits: DayLimits, spent: { tokens: number; costUsd: number }): DayLimits {
  return {
    tokens: limits.tokens === null ? null : Math.max(0, limits.tokens - spent.tokens),
    costUsd: limits.costUsd === null ? null : Math.max(0, limits.costUsd - spent.costUsd),
  };
}

function isUsedUp({ tokens, costUsd }: DayLimits): boolean {
  return (tokens !== null && tokens < leastTokens) || (costUsd !== null && costUsd <= 0);
}

function smaller(one: number, other: number | null): number;
function smaller(one: number | null, other: number | null): number | null;
function smaller(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
