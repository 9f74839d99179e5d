import type { Message } from "../../../agent/llm/model.ts";
import { createTokenEstimator } from "../../../agent/loop/limits.ts";
import { readingTools, reportingTools } from "../../../agent/tools/index.ts";
import { toDefinition } from "../../../agent/tools/to-openai.ts";
import type { Effort } from "../../../config/repo-config.ts";
import { countReviewed, type ReviewedHunks } from "../../reviewed/known-change.ts";
import type { Prediction } from "../../shapes/review-result.ts";
import type { Plan } from "../plan/plan-units.ts";
import { focusesOf } from "./focus.ts";

/* Averages of recorded reviews (docs/quality.md). A single review may need half or twice as much. */

/** Requests of a loop over one unit. */
const REQUESTS_A_UNIT = 1.7;
/** Tokens that tool results and the model's answer add to the next request. */
const GROWTH_TOKENS = 5_500;
const ANSWER_TOKENS = 600;
/** Expected findings by number of hunks; not proportional for large changes. */
const findingsOf = (hunks: number) => Math.min(12, 1.3 + hunks / 40);
/** Findings that one verification checks, its requests, and the tokens of each. */
const FINDINGS_A_LOOK = 4;
const REQUESTS_A_LOOK = 1.25;
const LOOK_REQUEST_TOKENS = 7_500;
const LOOK_ANSWER_TOKENS = 470;
/** The merge loop usually takes one request. A single loop needs none. */
const MERGE_TOKENS = 3_200;

/** Share of small changes with at least one finding. */
const SHARE_WITH_FINDINGS = 0.85;

interface PredictionParts {
  plan: Plan;
  effort: Effort;
  /** Tokens of the first request over the first unit. */
  firstTokens: number;
  limitTokens: number;
  known?: Pick<ReviewedHunks, "known">;
}

/** Tokens of the first request of a loop, tool definitions included. */
export function firstRequestTokens(messages: readonly Message[]): number {
  return createTokenEstimator([...readingTools, ...reportingTools].map(toDefinition)).request(messages);
}

export function predictReview({
  plan,
  effort,
  firstTokens,
  limitTokens,
  known,
}: PredictionParts): Omit<Prediction, "cost_usd"> {
  const [first] = plan.units;
  if (!first) return { requests: 0, prompt_tokens: 0, completion_tokens: 0 };
  const loopsAUnit = focusesOf(effort).length;
  const growth = (REQUESTS_A_UNIT * (REQUESTS_A_UNIT - 1) * GROWTH_TOKENS) / 2;
  const files = plan.units.flatMap((unit) => unit.files);
  const hunks =
    files.reduce((sum, { totalHunks }) => sum + totalHunks, 0) - (known ? countReviewed(files, known) : 0);
  const findings = findingsOf(hunks);
  const looks =
    effort === "low"
      ? 0
      : Math.max(findings / FINDINGS_A_LOOK, SHARE_WITH_FINDINGS * Math.min(plan.units.length, findings));
  const merges = plan.units.length > 1 || loopsAUnit > 1 ? 1 : 0;
  const passes = plan.units.map(({ diffBytes }) => {
    // A constant part is in every unit: instructions, tools, the pull request's description.
    const scale = 0.3 + 0.7 * (diffBytes / Math.max(1, first.diffBytes));
    return firstTokens * Math.min(1.5, scale) * REQUESTS_A_UNIT + growth;
  });
  const reading = passes.reduce((sum, tokens) => sum + tokens, 0) * loopsAUnit;
  const requests = plan.units.length * loopsAUnit * REQUESTS_A_UNIT;
  const looking = looks * REQUESTS_A_LOOK * LOOK_REQUEST_TOKENS;
  const promptTokens = reading + looking + merges * MERGE_TOKENS;
  const answerTokens = (requests + merges) * ANSWER_TOKENS + looks * REQUESTS_A_LOOK * LOOK_ANSWER_TOKENS;
  // The limit stops the review there.
  const share = Math.min(1, limitTokens / (promptTokens + answerTokens));
  return {
    requests: Math.round((requests + looks * REQUESTS_A_LOOK + merges) * share),
    prompt_tokens: Math.round(promptTokens * share),
    completion_tokens: Math.round(answerTokens * share),
  };
}
