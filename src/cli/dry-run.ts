import { createTokenEstimator } from "../agent/tokens.ts";
import type { LocalEnv } from "../config/env.ts";
import { defaultContextTokens } from "../config/environment-docs.ts";
import type { RepoConfig } from "../config/repo-config.ts";
import { costOf, priceOf, readPrices } from "../llm/pricing.ts";
import { escapeUnseen } from "../reporters/json.ts";
import { dollars, plural, thousands } from "../reporters/outcome.ts";
import { plainLine, WIDEST } from "../reporters/terminal-style.ts";
import { wrap } from "../reporters/terminal-wrap.ts";
import { firstMessages } from "../review/context.ts";
import { firstDiffBytes } from "../review/model-review.ts";
import { createDiffSource } from "../tools/diff-source.ts";
import { readingTools, reportingTools } from "../tools/index.ts";
import { toDefinition } from "../tools/to-openai.ts";
import type { ChangedFile } from "../tools/tool.ts";
import { readPricesFile } from "./create-model.ts";
import type { OpenRange } from "./open-range.ts";
import { inputOf } from "./review-input.ts";

/** What a review would read and begin with. Snake case: `--format json` prints it as it is. */
interface DryRun {
  model: string | null;
  files: { path: string; hunks: number; skipped: string | null }[];
  hunks_total: number;
  first_request: { prompt_tokens: number; hunks_shown: number; cost_usd: number | null };
  limits: { tokens: number; turns: number; cost_usd: number | null };
}

/** Predicts a review without asking a model. */
export async function dryRun(
  range: OpenRange,
  config: RepoConfig,
  env: LocalEnv,
  format: "pretty" | "json",
): Promise<string> {
  const prediction = await predict(range, config, env);
  return format === "json"
    ? `${escapeUnseen(JSON.stringify(prediction, null, 2))}\n`
    : `${lines(prediction).join("\n")}\n`;
}

async function predict(range: OpenRange, config: RepoConfig, env: LocalEnv): Promise<DryRun> {
  const diffs = createDiffSource(range.workspace, config.paths);
  const files = await diffs.files();
  const contextTokens = env.model?.contextTokens ?? defaultContextTokens;
  let shown = 0;
  const messages = await firstMessages({
    input: inputOf(range.names.base, config, null),
    shas: range.workspace.shas,
    files,
    commits: await range.workspace.commits(20),
    candidates: [],
    diffs,
    coverage: { serve: () => shown++ },
    diffBytes: firstDiffBytes(contextTokens),
  });
  const promptTokens = createTokenEstimator([...readingTools, ...reportingTools].map(toDefinition)).request(
    messages,
  );
  const price = env.model && priceOf(env.model.name, readPrices(await readPricesFile(env.pricesFile)));
  const usage = { promptTokens, cachedTokens: 0, completionTokens: 0 };
  return {
    model: env.model?.name ?? null,
    files: files.map(({ change, totalHunks, skipReason }) => ({
      path: change.path,
      hunks: totalHunks,
      skipped: skipReason,
    })),
    hunks_total: reviewable(files).reduce((sum, file) => sum + file.totalHunks, 0),
    first_request: { prompt_tokens: promptTokens, hunks_shown: shown, cost_usd: costOf(usage, price) },
    limits: { tokens: config.budget.tokens, turns: config.budget.turns, cost_usd: config.budget.cost_usd },
  };
}

const reviewable = (files: readonly ChangedFile[]) => files.filter((file) => file.reviewable);

function lines({ model, files, hunks_total, first_request, limits }: DryRun): string[] {
  const width = String(Math.max(0, ...files.map((file) => file.hunks))).length;
  const file = ({ path, hunks, skipped }: DryRun["files"][number]) => {
    const count = (skipped === null ? String(hunks) : "-").padStart(width);
    const reason = skipped === null ? "" : `  (skipped: ${plainLine(skipped)})`;
    return `  ${count}  ${plainLine(path)}${reason}`;
  };
  const read = files.filter(({ skipped }) => skipped === null);
  const cost = first_request.cost_usd === null ? "" : `, ${dollars(first_request.cost_usd)}`;
  const limit = [
    plural(limits.turns, "turn"),
    `${thousands(limits.tokens)} tokens`,
    ...(limits.cost_usd === null ? [] : [dollars(limits.cost_usd)]),
  ].join(", ");
  const beginning =
    model === null
      ? "No model is set up, so the analyzers would review alone and nothing would be spent. A model would begin with"
      : `${plainLine(model)} would begin with`;
  return [
    `${plural(files.length, "changed file")}, ${read.length} to be reviewed with ${plural(hunks_total, "hunk")}`,
    ...files.map(file),
    "",
    ...wrap(
      `${beginning} about ${thousands(first_request.prompt_tokens)} tokens${cost}, ` +
        `showing ${first_request.hunks_shown} of ${plural(hunks_total, "hunk")} at once. ` +
        "Each further turn sends these again, mostly from the provider's cache, and what was read since. " +
        `The limit is ${limit}.`,
      WIDEST,
    ),
  ];
}
