import { factsOf, type Model } from "../../agent/llm/model.ts";
import type { LoopEntry } from "../../agent/record/trajectory.ts";
import type { Env } from "../../config/env.ts";
import type { RepoConfig } from "../../config/repo-config.ts";
import { AppError } from "../../core/errors.ts";
import type { Limits } from "../../tasks/shapes/review-input.ts";
import { askedBy, type ClaimedJob, type RepositoryRef } from "../queue/job.ts";
import {
  dayOf,
  monthOf,
  type QuotaEntry,
  type QuotaLimit,
  type Quotas,
  type Spending,
} from "../queue/usage.ts";

/** Spending limits for one calendar day or month (UTC). Null: no limit. */
export interface SpendingLimits {
  tokens: number | null;
  costUsd: number | null;
}

interface Left extends SpendingLimits {
  /** The budget that has nothing left. */
  usedUp:
    | "today's budget for this pull request"
    | "today's budget for its installation"
    | "this month's budget of its organization"
    | null;
}

/** Nothing starts with fewer tokens left than this: every request needs more. */
const leastTokens = 1_000;

interface BudgetedJob {
  id: string;
  task: { repository: Pick<RepositoryRef, "installation" | "id">; pull: number };
}

interface BudgetConfig {
  budget: Pick<RepoConfig["budget"], "day">;
  policy?: { month: RepoConfig["budget"]["day"] } | null | undefined;
}

interface BudgetDependencies {
  /** `dailyBudget` is the operator's, for each installation. */
  limits: { spending: Spending; dailyBudget: SpendingLimits };
  now(): number;
}

export type Budget = ReturnType<typeof budgetOf>;

/** The budgets of a review, checked before each model turn and charged after it. A turn without a known price counts only by its tokens. */
export function budgetOf(
  { id, task: { repository, pull } }: BudgetedJob,
  { budget, policy }: BudgetConfig,
  { limits: { spending, dailyBudget }, now }: BudgetDependencies,
) {
  const { installation } = repository;
  const by = { job: id, installation, repository: repository.id, pull };
  const ofPull = { tokens: budget.day.tokens, costUsd: budget.day.cost_usd };
  const ofMonth = { tokens: policy?.month.tokens ?? null, costUsd: policy?.month.cost_usd ?? null };

  async function left(): Promise<Left> {
    const [day, month] = [dayOf(now()), monthOf(now())];
    const everyone = { installation };
    const budgets = [
      { of: "today's budget for this pull request", limits: ofPull, period: day, scope: by },
      { of: "today's budget for its installation", limits: dailyBudget, period: day, scope: everyone },
      { of: "this month's budget of its organization", limits: ofMonth, period: month, scope: everyone },
    ] as const;
    const left: Left = { tokens: null, costUsd: null, usedUp: null };
    for (const { of, limits, period, scope } of budgets) {
      if (limits.tokens === null && limits.costUsd === null) continue;
      const one = remaining(limits, await spending.spentOn(period, scope));
      left.tokens = smaller(left.tokens, one.tokens);
      left.costUsd = smaller(left.costUsd, one.costUsd);
      if (isUsedUp(one)) left.usedUp ??= of;
    }
    return left;
  }

  /** Rejects with `budget_spent` when nothing is left. */
  async function requireLeft(): Promise<void> {
    const { usedUp } = await left();
    if (usedUp) throw new AppError("budget_spent", `${usedUp} is used up`);
  }

  return {
    left,
    require: requireLeft,

    /** The model with a budget check before each request, which rejects with `budget_spent` when nothing is left. */
    meter: (model: Model): Model => ({
      ...factsOf(model),
      costOf: (usage) => model.costOf?.(usage) ?? null,
      async respond(request, signal) {
        await requireLeft();
        const turn = await model.respond(request, signal);
        const { answeredBy, promptTokens, cachedTokens, completionTokens, costUsd } = turn.usage;
        const paid = { promptTokens, cachedTokens, completionTokens, costUsd };
        await spending.charge(by, { model: answeredBy ?? model.name, ...paid }, now());
        return turn;
      },
    }),
  };
}

/** The limits of a review with this much left. Recorded turns count against them but were charged before, so they are added on top. */
export function withinBudget(limits: Limits, left: SpendingLimits, recorded: readonly LoopEntry[]): Limits {
  const turns = recorded.flatMap((entry) => (entry.kind === "turn" ? [entry.model.usage] : []));
  const tokens = turns.reduce((sum, one) => sum + one.promptTokens + one.completionTokens, 0);
  const costUsd = turns.reduce((sum, one) => sum + (one.costUsd ?? 0), 0);
  return {
    ...limits,
    tokens: left.tokens === null ? limits.tokens : Math.min(limits.tokens, Math.max(1, left.tokens + tokens)),
    costUsd: smaller(limits.costUsd, left.costUsd === null ? null : Math.max(1e-9, left.costUsd + costUsd)),
  };
}

function remaining(limits: SpendingLimits, spent: { tokens: number; costUsd: number }): SpendingLimits {
  return {
    tokens: limits.tokens === null ? null : Math.max(0, limits.tokens - spent.tokens),
    costUsd: limits.costUsd === null ? null : Math.max(0, limits.costUsd - spent.costUsd),
  };
}

function isUsedUp({ tokens, costUsd }: SpendingLimits): boolean {
  return (tokens !== null && tokens < leastTokens) || (costUsd !== null && costUsd <= 0);
}

function smaller(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** How much people may ask of Hunkwise, in all repositories of an installation: in an hour, or on a calendar day (UTC). 0: no limit. */
export type MostUsage = Env["usageLimits"];

export type UsageLimits = ReturnType<typeof createUsageLimits>;

interface ReviewToBegin {
  id: string;
  repository: RepositoryRef;
  pull: number;
  head: string;
  author: string;
}

interface UsageLimitsOptions {
  quotas: Quotas;
  most: MostUsage;
  now(): number;
}

const hourMs = 3_600_000;

/** Keeps one person, pull request or installation from using up everything: time, money and GitHub's patience. */
export function createUsageLimits({ quotas, most, now }: UsageLimitsOptions) {
  const { commandsAnHour, pullReviewsADay, authorReviewsADay, installationReviewsADay } = most;
  const enter = async (entry: QuotaEntry, limits: readonly QuotaLimit[]) => {
    const inForce = limits.filter((limit) => limit.most > 0);
    return inForce.length > 0 ? quotas.take(entry, inForce) : null;
  };
  return {
    /** Whether the person who asked for the job may ask that much. Strangers are counted, too. */
    async mayAsk({ id, task }: ClaimedJob): Promise<boolean> {
      const login = askedBy(task);
      if (login === null || !("repository" in task)) return true;
      const { repository } = task;
      const at = now();
      const limit = { scope: `person ${login.toLowerCase()}`, most: commandsAnHour, since: at - hourMs };
      const entry = { installation: repository.installation, repository: repository.id, name: id, at };
      return (await enter(entry, [limit])) === null;
    },

    /** Rejects with `budget_spent` beyond a limit, with a public message. A job counts once for each head that it starts to review. */
    async requireReview({ id, repository, pull, head, author }: ReviewToBegin): Promise<void> {
      const at = now();
      const since = Date.parse(dayOf(at));
      const ofPull = { scope: `pull ${repository.id}#${pull}`, most: pullReviewsADay, since };
      const ofAuthor = { scope: `author ${author.toLowerCase()}`, most: authorReviewsADay, since };
      const ofAll = { scope: "installation", most: installationReviewsADay, since };
      const name = `${id} ${head}`;
      const entry = { installation: repository.installation, repository: repository.id, name, at };
      const reached = await enter(entry, [ofPull, ofAuthor, ofAll]);
      if (reached) throw tooMany(reached);
    },
  };
}

const owners = {
  pull: "this pull request",
  author: "the pull requests of its author",
  installation: "its installation",
};

function tooMany({ scope, most }: QuotaLimit): AppError {
  const [kind] = scope.split(" ");
  return new AppError(
    "budget_spent",
    `today's ${most} reviews for ${owners[kind as keyof typeof owners]} are used up; a push or a command after midnight (UTC) starts a review of everything that was added since`,
  );
}
