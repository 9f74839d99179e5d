import { loadLocalConfig, openRange } from "../../src/cli/open-range.ts";
import { inputOf } from "../../src/cli/review-range.ts";
import type { Effort } from "../../src/config/repo-config.ts";
import { AppError } from "../../src/errors.ts";
import type { Models } from "../../src/llm/model.ts";
import { runReviewProcess } from "../../src/process/run-review-process.ts";
import type { PullText } from "../../src/review/review-input.ts";
import type { ReviewResult } from "../../src/review/review-result.ts";
import { openCaseRepository } from "./case-repository.ts";
import type { EvalCase } from "./load-cases.ts";

export interface ReviewOptions {
  /** Folder of repositories; null if every case is a patch. */
  repos: string | null;
  /** Null: only the analyzers. */
  models: Models | null;
  /** Null: the effort in the repository's configuration. */
  effort: Effort | null;
  signal: AbortSignal;
}

/**
 * Reviews the pull request of a case as the App does, with its title and its description. Rejects with `model_failed` if the model failed:
 * partial findings would measure the endpoint and not the reviewer.
 */
export async function reviewCase(one: EvalCase, options: ReviewOptions): Promise<ReviewResult> {
  const { models, signal } = options;
  await using repository = await openCaseRepository(one, options.repos);
  await using range = await openRange({ ...repository, signal });
  const { config } = await loadLocalConfig(range.workspace);
  const chosen = options.effort === null ? config : { ...config, effort: options.effort };
  let fault: string | null = null;
  const result = await runReviewProcess({
    place: range.place,
    input: { ...inputOf(range.names.base, chosen, models), pull: pullTextOf(one) },
    models,
    trajectory: { append: async () => {} },
    onProgress(event) {
      if (event.type === "model_failed") fault = event.error;
    },
    signal,
  });
  if (result.stop_reason === "model_error" || result.stop_reason === "aborted")
    throw new AppError("model_failed", `the model failed: ${fault ?? result.stop_reason}`);
  return result;
}

/** The author's texts: a case has no others. */
export function pullTextOf({ pull }: EvalCase): PullText {
  const { title, body } = pull;
  return { number: 1, title, body: body ?? "", author: "author", issues: [], checks: [], earlier: [] };
}
