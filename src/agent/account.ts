import type { Usage } from "../llm/model.ts";
import type { StopReason } from "./events.ts";
import { type Limits, MIN_ANSWER_TOKENS } from "./limits.ts";
import type { Calibration } from "./tokens.ts";
import { addUsage, noUsage, type Totals } from "./totals.ts";

/** What several loops of one run may use together. Turns are each loop's own matter. */
export type SharedLimits = Pick<Limits, "tokens" | "costUsd">;

/** Tokens of a request that is under way: nobody else may spend them. */
export interface Hold {
  /** What its answer may have. */
  readonly answerTokens: number;
  /** The request has ended, with this usage, or null when it failed. */
  settle(usage: Usage | null): void;
}

/**
 * Keeps several loops within limits that they share. A request's tokens are held while it is under way, so that requests made
 * at the same time do not break a limit together that each of them keeps.
 */
export interface Account {
  readonly usage: Totals;
  /**
   * Holds what the next request may take, or says which limit it would break. Of the room for its answer, `answerTokens` at
   * most, others get their part as well.
   */
  hold(promptTokens: number, answerTokens?: number): Hold | StopReason;
  /** Counts a request that an earlier run has made: it is paid for, whatever the limits say now. */
  count(usage: Usage): void;
  /** Tokens that nobody has used or holds. */
  tokensLeft(): number;
  readonly calibration: Calibration;
  /**
   * A part of what is left now, to be spent by some of the loops alone; it counts here as well. The share may change while
   * they run.
   */
  part(share: () => number): Account;
}

/** One answer may take this part of what is left: as many loops as run at the same time find room for theirs. */
const ANSWER_SHARE = 1 / 4;

export const createAccount = (limits: SharedLimits): Account => openAccount(() => limits, null);

function openAccount(limitsNow: () => SharedLimits, parent: Account | null): Account {
  const calibration = parent?.calibration ?? { factor: 1 };
  let usage = noUsage;
  let held = 0;
  let dearest = 0;
  let underWay = 0;
  const tokensLeft = () => {
    const own = limitsNow().tokens - usage.promptTokens - usage.completionTokens - held;
    return Math.min(own, parent?.tokensLeft() ?? own);
  };

  /** What is under way costs about as much as the dearest request so far. */
  function isTooDear(): boolean {
    const { costUsd } = limitsNow();
    if (costUsd === null || usage.costUsd === null) return false;
    return usage.costUsd + dearest * (underWay + 1) > costUsd || usage.costUsd >= costUsd;
  }

  return {
    get usage() {
      return usage;
    },
    calibration,
    tokensLeft,
    hold(promptTokens, wanted = MIN_ANSWER_TOKENS) {
      const left = tokensLeft() - promptTokens;
      if (left < MIN_ANSWER_TOKENS) return "token_limit";
      if (isTooDear()) return "cost_limit";
      const answerTokens = Math.floor(Math.max(MIN_ANSWER_TOKENS, Math.min(wanted, left * ANSWER_SHARE)));
      const above = parent?.hold(promptTokens, answerTokens);
      if (typeof above === "string") return above;
      const tokens = promptTokens + answerTokens;
      held += tokens;
      underWay += 1;
      return {
        answerTokens,
        settle(used) {
          held -= tokens;
          underWay -= 1;
          if (used) usage = addUsage(usage, used);
          dearest = Math.max(dearest, used?.costUsd ?? 0);
          above?.settle(used);
        },
      };
    },
    count(paid) {
      usage = addUsage(usage, paid);
      dearest = Math.max(dearest, paid.costUsd ?? 0);
      parent?.count(paid);
    },
    part(share) {
      const { costUsd } = limitsNow();
      const costLeft = costUsd === null ? null : costUsd - (usage.costUsd ?? 0);
      const left = Math.max(0, tokensLeft());
      const limits = () => ({
        tokens: Math.floor(left * share()),
        costUsd: costLeft === null ? null : costLeft * share(),
      });
      return openAccount(limits, this);
    },
  };
}
