import { createTokenEstimator } from "../../agent/limits.ts";
import type { Effort } from "../../config/repo-config.ts";
import type { Message } from "../../llm/model.ts";
import { readingTools, reportingTools } from "../../tools/index.ts";
import { toDefinition } from "../../tools/to-openai.ts";
import { countReviewed, type ReviewedHunks } from "../followup/known-change.ts";
import type { Plan } from "../plan/plan-units.ts";
import type { Prediction } from "../review-result.ts";
import { focusesOf } from "./focus.ts";

/*
 * What reviews took on average, measured on recorded ones (docs/quality.md says which). A model decides itself how much it
 * reads, so that a single review may well take half or twice of what is predicted.
 */

/** Requests of a loop over one unit. */
const REQUESTS_A_UNIT = 2.2;
/** Tokens that answers of tools, and the model's own words, add from one request to the next. */
const GROWTH_TOKENS = 3_000;
const ANSWER_TOKENS = 350;
/** Findings of a change of so many hunks: small ones have one or two, large ones not in proportion. */
const findingsOf = (hunks: number) => Math.min(12, 1.3 + hunks / 40);
/** A second look. Its requests hold the change and the code around one place, so they grow with those of the review. */
const REQUESTS_A_LOOK = 1.7;
const lookRequestTokens = (firstTokens: number) => Math.min(12_000, 2_500 + 0.4 * firstTokens);
const LOOK_ANSWER_TOKENS = 250;
/** The pass that merges: one request in most cases; it is left out where one loop found little. */
const MERGES = 0.4;
const MERGE_TOKENS = 3_200;

export interface PredictionParts {
  plan: Plan;
  effort: Effort;
  /** Of the first request over the first unit. */
  firstTokens: number;
  /** What the review may take at most. */
  limitTokens: number;
  /** What is not read again. */
  known?: Pick<ReviewedHunks, "known">;
}

/** Tokens of the first request of a loop, tool definitions included. */
export function firstRequestTokens(messages: readonly Message[]): number {
  return createTokenEstimator([...readingTools, ...reportingTools].map(toDefinition)).request(messages);
}

/** What a review is expected to take. Prices are the business of whoever makes the requests. */
export function predictReview({
  plan,
  effort,
  firstTokens,
  limitTokens,
  known,
}: PredictionParts): Omit<Prediction, "cost_usd"> {
  const [first] = plan.units;
  if (!first) return { requests: 0, prompt_tokens: 0, completion_tokens: 0 };
  const lenses = focusesOf(effort).length;
  const growth = (REQUESTS_A_UNIT * (REQUESTS_A_UNIT - 1) * GROWTH_TOKENS) / 2;
  const files = plan.units.flatMap((unit) => unit.files);
  const hunks =
    files.reduce((sum, { totalHunks }) => sum + totalHunks, 0) - (known ? countReviewed(files, known) : 0);
  const looks = effort === "low" ? 0 : findingsOf(hunks);
  const merges = plan.units.length > 1 || lenses > 1 ? 1 : looks > 0 ? MERGES : 0;
  const passes = plan.units.map(({ diffBytes }) => {
    // What does not grow with the diff is in every unit: instructions, tools, the pull request's own words.
    const scale = 0.3 + 0.7 * (diffBytes / Math.max(1, first.diffBytes));
    return firstTokens * Math.min(1.5, scale) * REQUESTS_A_UNIT + growth;
  });
  const reading = passes.reduce((sum, tokens) => sum + tokens, 0) * lenses;
  const requests = plan.units.length * lenses * REQUESTS_A_UNIT;
  const looking = looks * REQUESTS_A_LOOK * lookRequestTokens(firstTokens);
  const promptTokens = reading + looking + merges * MERGE_TOKENS;
  const answerTokens = (requests + merges) * ANSWER_TOKENS + looks * REQUESTS_A_LOOK * LOOK_ANSWER_TOKENS;
  // The limit ends it there.
  const share = Math.min(1, limitTokens / (promptTokens + answerTokens));
  return {
    requests: Math.round((requests + looks * REQUESTS_A_LOOK + merges) * share),
    prompt_tokens: Math.round(promptTokens * share),
    completion_tokens: Math.round(answerTokens * share),
  };
}
