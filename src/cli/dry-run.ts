import { forAllRoles, type Model } from "../agent/llm/model.ts";
import { costOf, priceOf, readPrices } from "../agent/llm/prices.ts";
import { privacyOf } from "../agent/tools/paths.ts";
import type { LocalEnv } from "../config/env.ts";
import type { EffectiveConfig, Effort } from "../config/repo-config.ts";
import { defaultContextTokens } from "../config/variables.ts";
import { AppError } from "../core/errors.ts";
import { count, thousands } from "../core/text/count.ts";
import { escapeUnseen } from "../core/text/escape-invisible.ts";
import { createDiffSource } from "../repo/diff-source.ts";
import { dollars } from "../report/outcome.ts";
import { plainLine, WIDEST, wrap } from "../report/terminal-style.ts";
import { createAnchorFiles } from "../tasks/anchor/anchor.ts";
import { type ReviewRun, startRun, type WorkDependencies } from "../tasks/loop/review-run.ts";
import { windowFor } from "../tasks/loop/run-loop.ts";
import { createReviewCoverage } from "../tasks/review/find/coverage-gate.ts";
import { firstRequestTokens, predictReview } from "../tasks/review/find/predict.ts";
import { planReview, startUnit } from "../tasks/review/find/review-units.ts";
import { findReviewedHunks } from "../tasks/reviewed/known-change.ts";
import { createRuleSwitch, ruleMatches } from "../tasks/rules/rule-matches.ts";
import { toolFindings } from "../tasks/rules/tool-results/tool-findings.ts";
import type { Prediction } from "../tasks/shapes/review-result.ts";
import type { ToolResult } from "../tasks/shapes/tool-result.ts";
import { readPricesFile } from "./create-model.ts";
import type { OpenRange } from "./open-range.ts";
import { inputOf } from "./review-range.ts";

/** The predicted scope and usage of a review. Snake case: `--format json` prints it unchanged. */
interface DryRun {
  model: string | null;
  effort: Effort;
  files: { path: string; hunks: number; skipped: string | null }[];
  hunks_total: number;
  /** Units with loops of their own, the riskiest first. */
  units: { id: string; files: number; hunks: number }[];
  /** Files that exceed the budget. */
  left: string[];
  first_request: { prompt_tokens: number; hunks_shown: number };
  predicted: Prediction;
  limits: { tokens: number; turns: number; cost_usd: number | null };
}

/** Predicts a review without asking a model. @param results of other tools, which take room in the prompt */
export async function dryRun(
  range: OpenRange,
  config: EffectiveConfig,
  env: LocalEnv,
  { format, results }: { format: "pretty" | "json"; results: readonly ToolResult[] },
): Promise<string> {
  const run = await openRun(range, config, env, results);
  const plan = await planReview(run);
  const first = plan.units[0];
  const window = windowFor(run.deps.models.review, first?.diffBytes ?? 0, plan.units.length === 1);
  const start = first ? await startUnit(run, { files: first.files, window }) : { messages: [], shown: [] };
  const firstTokens = firstRequestTokens(start.messages);
  const predicted = predictReview({
    plan,
    firstTokens,
    effort: config.effort,
    limitTokens: run.input.limits.tokens,
  });
  const price = env.model && priceOf(env.model.name, readPrices(await readPricesFile(env.pricesFile)));
  const usage = {
    promptTokens: predicted.prompt_tokens,
    cachedTokens: 0,
    completionTokens: predicted.completion_tokens,
  };
  const prediction: DryRun = {
    model: env.model?.name ?? null,
    effort: config.effort,
    files: run.change.files.map(({ change, totalHunks, skipReason }) => ({
      path: change.path,
      hunks: totalHunks,
      skipped: skipReason,
    })),
    hunks_total: run.change.coverage.counts().total,
    units: plan.units.map(({ id, files }) => ({
      id,
      files: files.length,
      hunks: files.reduce((sum, { totalHunks }) => sum + totalHunks, 0),
    })),
    left: plan.left.map(({ change }) => change.path),
    first_request: { prompt_tokens: firstTokens, hunks_shown: start.shown.length },
    predicted: { ...predicted, cost_usd: costOf(usage, price) },
    limits: { tokens: config.budget.tokens, turns: config.budget.turns, cost_usd: config.budget.cost_usd },
  };
  return format === "json"
    ? `${escapeUnseen(JSON.stringify(prediction, null, 2))}\n`
    : `${lines(prediction).join("\n")}\n`;
}

/** The start of a review, with a model that cannot be asked. */
async function openRun(
  range: OpenRange,
  config: EffectiveConfig,
  env: LocalEnv,
  results: readonly ToolResult[],
): Promise<ReviewRun> {
  const { workspace } = range;
  const isPrivate = await privacyOf(workspace, config.paths.private);
  const diffs = createDiffSource(workspace, { ...config.paths, isPrivate });
  const files = await diffs.files();
  const models = forAllRoles<Model>({
    name: env.model?.name ?? "none",
    contextTokens: env.model?.contextTokens ?? defaultContextTokens,
    protocol: "native",
    respond: () => Promise.reject(new AppError("model_refused", "no model is used in a dry run")),
  });
  const deps: WorkDependencies = {
    workspace,
    diffs,
    models,
    trajectory: { append: async () => {} },
    replay: [],
    isPrivate,
    progress: () => {},
    signal: new AbortController().signal,
    now: Date.now,
    startedAt: Date.now(),
  };
  const others = await toolFindings(results, files, { ...deps, isOff: createRuleSwitch(config) });
  return startRun(inputOf(range.names.base, config, null), deps, {
    files,
    analysis: { findings: others.findings, silenced: [], unfinished: [] },
    matches: ruleMatches(others.findings, others.messages),
    coverage: createReviewCoverage(files),
    known: findReviewedHunks(files, null, diffs),
    anchorFile: createAnchorFiles(workspace, diffs),
  });
}

function lines({ model, effort, files, hunks_total, units, left, first_request, predicted, limits }: DryRun) {
  const width = String(Math.max(0, ...files.map((file) => file.hunks))).length;
  const file = ({ path, hunks, skipped }: DryRun["files"][number]) => {
    const count = (skipped === null ? String(hunks) : "-").padStart(width);
    const reason = skipped === null ? "" : `  (skipped: ${plainLine(skipped)})`;
    return `  ${count}  ${plainLine(path)}${reason}`;
  };
  const read = files.filter(({ skipped }) => skipped === null);
  const cost =
    predicted.cost_usd === null ? "" : `, ${dollars(predicted.cost_usd)} if the provider caches nothing`;
  const limit = [
    `${thousands(limits.tokens)} tokens`,
    ...(limits.cost_usd === null ? [] : [dollars(limits.cost_usd)]),
  ].join(", ");
  const who =
    model === null
      ? "No model is configured, so only the analyzers would review, at no cost. A model would need"
      : `${plainLine(model)} would need`;
  const parts = units.length > 1 ? `, read in ${units.length} parts` : "";
  return [
    `${count(files.length, "changed file")}, ${read.length} to be reviewed with ${count(hunks_total, "hunk")}${parts}`,
    ...files.map(file),
    ...(left.length > 0
      ? ["", `The budget is too small for ${count(left.length, "file")}, those with the least risk.`]
      : []),
    "",
    ...wrap(
      `${who} about ${count(predicted.requests, "request")} with ` +
        `${thousands(predicted.prompt_tokens + predicted.completion_tokens)} tokens${cost}, at effort ${effort}. ` +
        `The first one has ${thousands(first_request.prompt_tokens)} tokens and shows ${first_request.hunks_shown} ` +
        `of ${count(hunks_total, "hunk")}. The prediction is an average of recorded reviews: the model decides how much ` +
        `it reads. The limit is ${limit}.`,
      WIDEST,
    ),
  ];
}
