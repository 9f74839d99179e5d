/**
 * Measures the quality of reviews: `npm run eval -- --cases PLACE` reviews pull requests with known issues and compares the findings.
 * docs/quality.md describes the formats and the figures.
 */
import { createModels } from "../src/cli/create-model.ts";
import { write } from "../src/cli/output.ts";
import { useProxy } from "../src/cli/use-proxy.ts";
import { type LocalEnv, readLocalEnv } from "../src/config/env.ts";
import { AppError } from "../src/core/errors.ts";
import { loadCases } from "./eval/load-cases.ts";
import { type EvalOptions, evalUsage, parseEvalOptions } from "./eval/options.ts";
import { evaluationJson, renderEvaluation } from "./eval/render-eval.ts";
import { noResultsFile, openResultsFile } from "./eval/results-file.ts";
import { runEval } from "./eval/run-eval.ts";
import { runScript } from "./eval/run-script.ts";

async function main(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const options = parseEvalOptions(argv);
  if (options === null) {
    await write(process.stdout, evalUsage);
    return 0;
  }
  const env = readLocalEnv();
  useProxy(env);
  const cases = await loadCases(options.cases, options.only);
  const { models, judge } = await modelsOf(options, env, signal);
  const { repos, effort, concurrency } = options;
  const evaluation = await runEval({
    ...{ cases, repos, models, judge, effort, concurrency, signal },
    results: options.output === null ? noResultsFile : await openResultsFile(options.output),
    say,
  });
  await write(process.stdout, (options.format === "json" ? evaluationJson : renderEvaluation)(evaluation));
  return evaluation.failed.length > 0 ? 2 : 0;
}

/** The models of a review, and the judge, which uses plain requests. */
async function modelsOf({ isJudged, judge }: EvalOptions, env: LocalEnv, signal: AbortSignal) {
  const { model, pricesFile, modelFolder } = env;
  if (model === null) {
    if (!isJudged) return { models: null, judge: null };
    throw new AppError("usage", "no model is configured", {
      remedy:
        "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENAI_BASE_URL, or measure only the built-in analyzers with --no-judge.",
    });
  }
  const options = { pricesFile, folder: modelFolder, warn: say };
  const { models, ready } = await createModels(model, options);
  await ready(signal);
  if (!isJudged) return { models, judge: null };
  const name = judge ?? model.name;
  const judging = { ...model, name, verify: null, protocol: "native" as const };
  return { models, judge: (await createModels(judging, options)).models.review };
}

const say = (line: string) => void process.stderr.write(`${line}\n`);

await runScript("eval", main);
