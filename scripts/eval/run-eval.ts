import pMap from "p-map";
import type { Model, Models } from "../../src/agent/llm/model.ts";
import type { Effort } from "../../src/config/repo-config.ts";
import { AppError, errorLine } from "../../src/core/errors.ts";
import { plainLine } from "../../src/report/terminal-style.ts";
import type { EvalCase } from "./case-format.ts";
import type { CaseResult, Settings } from "./case-result.ts";
import { isUnweighed } from "./figures.ts";
import { createJudge } from "./judge.ts";
import { openCase } from "./open-case.ts";
import type { Evaluation } from "./render-eval.ts";
import type { ResultsFile } from "./results-file.ts";
import { scoreCase, weighFindings } from "./score-case.ts";

export interface EvalRun {
  cases: readonly EvalCase[];
  repos: string | null;
  /** Null: only the analyzers. */
  models: Models | null;
  /** Null: compare only places. */
  judge: Model | null;
  effort: Effort | null;
  results: ResultsFile;
  /** Concurrent cases. */
  concurrency: number;
  /** Prints one line of progress. */
  say(line: string): void;
  signal: AbortSignal;
  open?: typeof openCase;
}

/**
 * Reviews the cases without a result and compares the findings. A failed case is named and does not affect the others; it has no result, so
 * the next run retries it. Rejects with `usage` if only a judge could compare the findings, and there is none.
 */
export async function runEval(run: EvalRun): Promise<Evaluation> {
  const { cases, signal } = run;
  if (run.judge === null) requirePlaces(cases);
  const settings: Settings = {
    model: run.models && namesOf(run.models),
    effort: run.effort,
    judge: run.judge?.name ?? null,
  };
  const failed: { case: string; error: string }[] = [];
  const results = await pMap(
    cases,
    async (one, index) => {
      signal.throwIfAborted();
      const say = (text: string) => run.say(plainLine(`${index + 1}/${cases.length} ${one.name}: ${text}`));
      try {
        return await resultOf(one, run, settings, say);
      } catch (error) {
        signal.throwIfAborted();
        const line = reasonOf(error);
        failed.push({ case: one.name, error: line });
        say(`failed: ${line}`);
        return null;
      }
    },
    { concurrency: run.concurrency },
  );
  return { settings, results: results.filter((one) => one !== null), failed };
}

function requirePlaces(cases: readonly EvalCase[]): void {
  const one = cases.find(({ known }) => known.some(({ place }) => place === null));
  if (one)
    throw new AppError("usage", `the case ${one.name} does not say where its issues are`, {
      remedy: "Only a judge can compare findings with them: leave out --no-judge.",
    });
}

/** Includes the last output of a review process that died: the reader is the one who ran it. */
function reasonOf(error: unknown): string {
  const line = errorLine(error);
  if (!(error instanceof AppError) || error.code !== "child_died") return line;
  return error.cause instanceof Error ? `${line}: ${error.cause.message}` : line;
}

/** Distinct names, the reviewing model's first. */
const namesOf = ({ review, verify }: Models) => [...new Set([review.name, verify.name])].join(" + ");

async function resultOf(
  one: EvalCase,
  run: EvalRun,
  settings: Settings,
  say: (text: string) => void,
): Promise<CaseResult> {
  const { repos, models, effort, signal, open = openCase } = run;
  const earlier = run.results.resultOf(one, settings);
  const isWhole = (result: CaseResult) => run.judge === null || !result.findings.some(isUnweighed);
  if (earlier && isWhole(earlier)) {
    say("taken from the results file");
    return earlier;
  }
  const newJudge = () => run.judge && createJudge(run.judge, signal);
  await using opened = await open(one, repos, signal);
  let result = earlier;
  if (result === undefined) {
    say("reviewing");
    result = await scoreCase(one, await opened.review({ models, effort }), settings, newJudge());
    // Kept before the judge is asked more: its failure must not cost another review.
    await run.results.append(result);
  } else say("taken from the results file, which lacks the worth of findings: judging them");
  const judge = newJudge();
  if (judge && !isWhole(result)) {
    result = await weighFindings(one, result, { judge, codeOf: opened.codeOf });
    await run.results.append(result);
  }
  say(outcomeOf(result));
  return result;
}

function outcomeOf({ known, findings }: CaseResult): string {
  const found = known.filter((one) => one.found !== "missed").length;
  const reported = `${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
  return known.length === 0
    ? `${reported}, nothing to be found`
    : `found ${found} of ${known.length}, ${reported}`;
}
