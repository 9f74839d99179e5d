import type { PaidTurn, Payer, Spender } from "../../src/server/queue/usage.ts";

/** A model turn that took this many tokens. */
export const paidTurn = ({ tokens, costUsd }: { tokens: number; costUsd: number | null }): PaidTurn => ({
  ...{ model: "test-model", promptTokens: tokens, cachedTokens: 0, completionTokens: 0, costUsd },
});

/** A job that is not in the database pays for it. */
export const payer = (by: Spender): Payer => ({ job: "a job", ...by });
