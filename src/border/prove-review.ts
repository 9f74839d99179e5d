import type { Models } from "../agent/llm/model.ts";
import { eachRole, factsOf } from "../agent/llm/model.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import { type ProveInput, type ProveResult, proveTask, targetsOf } from "../tasks/prove/prove-input.ts";
import type { Limits } from "../tasks/shapes/review-input.ts";
import { type ReviewResult, sumOfUsage } from "../tasks/shapes/review-result.ts";
import type { TestPlace } from "./messages.ts";
import { runTask, type TaskOptions } from "./run-task.ts";
import type { StartedProcess } from "./start-process.ts";

/** Where tests run; or why they cannot, as the end of a sentence. */
export type FoundTestPlace = TestPlace | { why: string };

export const NO_SANDBOX: FoundTestPlace = { why: "this machine has no sandbox" };

export interface ProveReviewOptions extends TaskOptions {
  models: Models;
  config: EffectiveConfig;
  targetBranch: string;
  pull: ProveInput["pull"];
  /** Those of the review: proofs get what it left. */
  limits: Limits;
  /** Starts the process of the proofs, if there are any. Default: as for a review. */
  startProcess?(): StartedProcess | undefined;
  /** Called only if a finding is worth a test. */
  findTestPlace(): Promise<FoundTestPlace>;
  /** Records the input, and may return that of an earlier attempt. */
  begin(input: ProveInput): Promise<ProveInput>;
}

/** Fewer tokens are not enough for a test. */
const MIN_TOKENS = 20_000;
/** Proofs get at least this much time, in milliseconds: a review that used all of its own has findings to prove. */
const MIN_MS = 60_000;

/** Proves the findings that are worth it, within what the review has left of its budget. */
export async function proveReview(result: ReviewResult, options: ProveReviewOptions): Promise<ReviewResult> {
  const { config, models, targetBranch, pull, findTestPlace, startProcess, begin } = options;
  const targets = config.prove.enabled ? targetsOf(result, config) : [];
  if (targets.length === 0) return result;
  const limits = limitsLeft(options.limits, result);
  if (limits === null) return withoutProofs(result, "the budget of the review is used up");
  const testPlace = await findTestPlace();
  if ("why" in testPlace) return withoutProofs(result, testPlace.why);
  const input = await begin({
    targetBranch,
    pull,
    targets,
    config,
    limits,
    models: eachRole(models, factsOf),
  });
  const started = startProcess?.();
  return withProofs(result, await runTask(proveTask, input, { ...options, testPlace, started }));
}

/** What a reader is told of a review whose findings were not tried out. */
export const withoutProofs = (result: ReviewResult, why: string): ReviewResult => ({
  ...result,
  warnings: [...result.warnings, `No finding was proved: ${why}.`],
});

function limitsLeft({ turns, tokens, costUsd, milliseconds }: Limits, result: ReviewResult): Limits | null {
  const { prompt_tokens, completion_tokens, cost_usd } = result.usage;
  const left: Limits = {
    turns,
    tokens: tokens - prompt_tokens - completion_tokens,
    costUsd: costUsd === null || cost_usd === null ? costUsd : costUsd - cost_usd,
    milliseconds: Math.max(MIN_MS, Math.floor(milliseconds - result.duration_ms)),
  };
  return left.tokens < MIN_TOKENS || (left.costUsd !== null && left.costUsd <= 0) ? null : left;
}

function withProofs(result: ReviewResult, { proofs, usage }: ProveResult): ReviewResult {
  const byId = new Map(proofs.map(({ id, proof }) => [id, proof]));
  return {
    ...result,
    usage: sumOfUsage(result.usage, usage),
    findings: result.findings.map(({ finding, placement }) => {
      const proof = byId.get(finding.id);
      return { finding: proof ? { ...finding, proof } : finding, placement };
    }),
  };
}
