import type { Usage } from "../llm/model.ts";

/** What all requests of a loop used together. */
export interface Totals extends Omit<Usage, "answeredBy"> {
  requests: number;
  /** Of those, how many another model than was asked has answered, by its name; left out where none has. */
  standIns?: Readonly<Record<string, number>>;
}

export const noUsage: Totals = {
  requests: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  costUsd: 0,
};

/** With one more request. Its cost unknown, so is that of all. */
export function addUsage(totals: Totals, usage: Usage): Totals {
  return {
    requests: totals.requests + 1,
    promptTokens: totals.promptTokens + usage.promptTokens,
    cachedTokens: totals.cachedTokens + usage.cachedTokens,
    completionTokens: totals.completionTokens + usage.completionTokens,
    costUsd: totals.costUsd === null || usage.costUsd === null ? null : totals.costUsd + usage.costUsd,
    ...standIns(totals, usage),
  };
}

function standIns({ standIns: before }: Totals, { answeredBy }: Usage): Pick<Totals, "standIns"> {
  if (answeredBy === undefined) return before ? { standIns: before } : {};
  return { standIns: { ...before, [answeredBy]: (before?.[answeredBy] ?? 0) + 1 } };
}
