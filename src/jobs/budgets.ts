import type { LoopEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import { factsOf, type Model, type Usage } from "../llm/model.ts";
import type { ClaimedJob, RepositoryRef, Task } from "../queue/job.ts";
import { dayOf, type Spender, type Spending } from "../queue/spending.ts";
import type { Tally, TallyEntry, TallyLimit } from "../queue/tally.ts";
import type { Limits } from "../review/review-input.ts";

/** What may be spent on one calendar day (UTC). Null: no limit. */
export interface DayLimits {
  tokens: number | null;
  costUsd: number | null;
}

interface DayBudgetOptions {
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
interface LeftToday extends DayLimits {
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

/** How much may be asked of Hunkwise. 0: as much as anybody likes. */
export interface MostUsage {
  /** Commands and replies of one person within an hour, in all repositories of an installation. */
  commandsAnHour: number;
  /** Reviews of one pull request on a calendar day (UTC). */
  pullReviewsADay: number;
  /** Reviews on such a day of all pull requests that one person opened, in all repositories of an installation. */
  authorReviewsADay: number;
  /** Reviews of all pull requests of an installation on such a day. */
  installationReviewsADay: number;
}

/** What keeps one person, one pull request or one installation from taking everything: time, money and GitHub's patience. */
export interface UsageLimits {
  /** Whether whoever asked for the job may ask that much. Counted before anything is known of them, and so for strangers, too. */
  mayAsk(job: ClaimedJob): Promise<boolean>;
  /**
   * Asked right before a review costs anything. Rejects with `budget_spent` beyond a limit, in words that everybody may read. A
   * job that comes back counts once for each head that it begins to review.
   */
  requireReview(of: ReviewToBegin): Promise<void>;
}

interface ReviewToBegin {
  /** Of the job. */
  id: string;
  repository: RepositoryRef;
  pull: number;
  head: string;
  /** Login of whoever opened the pull request. */
  author: string;
}

interface UsageLimitsOptions {
  tally: Tally;
  most: MostUsage;
  /** Milliseconds since 1970. */
  now(): number;
}

const hourMs = 3_600_000;

export function createUsageLimits({ tally, most, now }: UsageLimitsOptions): UsageLimits {
  const { commandsAnHour, pullReviewsADay, authorReviewsADay, installationReviewsADay } = most;
  const enter = async (entry: TallyEntry, limits: readonly TallyLimit[]) => {
    const inForce = limits.filter((limit) => limit.most > 0);
    return inForce.length > 0 ? tally.enter(entry, inForce) : null;
  };
  return {
    async mayAsk({ id, task }) {
      const asked = askedBy(task);
      if (asked === null) return true;
      const { repository, login } = asked;
      const at = now();
      const limit = { scope: `person ${login.toLowerCase()}`, most: commandsAnHour, since: at - hourMs };
      const entry = { installation: repository.installation, repository: repository.id, name: id, at };
      return (await enter(entry, [limit])) === null;
    },

    async requireReview({ id, repository, pull, head, author }) {
      const at = now();
      const since = Date.parse(dayOf(at));
      const ofPull = { scope: `pull ${repository.id}#${pull}`, most: pullReviewsADay, since };
      const ofAuthor = { scope: `author ${author.toLowerCase()}`, most: authorReviewsADay, since };
      const ofAll = { scope: "installation", most: installationReviewsADay, since };
      const entry = {
        ...{ installation: repository.installation, repository: repository.id, at },
        name: `${id} ${head}`,
      };
      const reached = await enter(entry, [ofPull, ofAuthor, ofAll]);
      if (reached) throw tooMany(reached);
    },
  };
}

/** Null for what no person asked for. */
function askedBy(task: Task): { repository: RepositoryRef; login: string } | null {
  switch (task.kind) {
    case "review":
      return task.requestedBy === null ? null : { repository: task.repository, login: task.requestedBy };
    case "command":
      return { repository: task.repository, login: task.requestedBy };
    case "reply":
      return { repository: task.repository, login: task.author };
    default:
      return null;
  }
}

const owners = {
  pull: "this pull request",
  author: "the pull requests of its author",
  installation: "its installation",
};

function tooMany({ scope, most }: TallyLimit): AppError {
  const [kind] = scope.split(" ");
  return new AppError(
    "budget_spent",
    `${most} reviews a day are the limit of ${owners[kind as keyof typeof owners]}, and today's are used up; a push or a command after midnight (UTC) has everything reviewed that came meanwhile`,
  );
}
