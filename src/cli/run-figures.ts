import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { Usage } from "../llm/model.ts";
import type { RecordedEntry } from "../queue/runs.ts";
import { ReviewResult } from "../review/review-result.ts";

/** Figures of a run. Snake case: `--format json` prints them. */
export interface RunFigures {
  /** Of its last review; null where none came to a result. */
  findings: number | null;
  /** What all its model turns took, also those of attempts that came to nothing; null where no model was asked. */
  tokens: number | null;
  /** In dollars; null where a price is not known as well. */
  cost_usd: number | null;
}

/** @param entries the record of a run, or its turns and results alone */
export function figuresOf(entries: readonly RecordedEntry[]): RunFigures {
  const last = entries.findLast(({ entry }) => entry.kind === "result")?.entry;
  const review = last?.kind === "result" ? ReviewResult.safeParse(last.result).data : undefined;
  const paid = paidFor(entries.map(({ entry }) => entry));
  return {
    findings: review?.findings.length ?? null,
    tokens: paid.turns === 0 ? null : paid.tokens,
    cost_usd: paid.turns === 0 ? null : paid.costUsd,
  };
}

/** What turns of a model took. */
export interface Paid {
  turns: number;
  tokens: number;
  cachedTokens: number;
  /** Null where the price of one is not known. */
  costUsd: number | null;
}

/** What a run paid for: every turn on record, each of which stands there once, whichever attempt made use of it. */
export function paidFor(entries: readonly TrajectoryEntry[]): Paid {
  const usages = entries.flatMap((entry) => (entry.kind === "turn" ? [entry.model.usage] : []));
  const sum = (of: (usage: Usage) => number) => usages.reduce((total, usage) => total + of(usage), 0);
  return {
    turns: usages.length,
    tokens: sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    costUsd: usages.every(({ costUsd }) => costUsd !== null) ? sum(({ costUsd }) => costUsd ?? 0) : null,
  };
}
