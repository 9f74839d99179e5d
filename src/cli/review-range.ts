import type { Trajectory } from "../agent/trajectory.ts";
import type { LocalEnv } from "../config/env.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import type { ProgressEvent } from "../review/progress.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { registerSecret } from "../secrets/live-secrets.ts";
import { type ConnectedModels, createModels } from "./create-model.ts";
import type { OpenRange } from "./open-range.ts";
import { inputOf } from "./review-input.ts";

export interface ConnectOptions {
  /** Takes one line for whoever runs this. */
  warn(text: string): void;
  signal: AbortSignal;
}

/**
 * The models of the environment, ready to be asked; null where there is none and the analyzers review alone. Of a model that was
 * asked before, nothing is loaded or asked here.
 */
export async function connectModels(
  { model, pricesFile, modelFolder }: LocalEnv,
  { warn, signal }: ConnectOptions,
): Promise<ConnectedModels | null> {
  if (!model) return null;
  for (const key of [model.apiKey, model.fallback?.apiKey]) if (key) registerSecret(key, { keep: true });
  const connected = await createModels(model, { pricesFile, folder: modelFolder, warn });
  await connected.ready(signal);
  return connected;
}

export interface ReviewRangeOptions {
  range: OpenRange;
  config: EffectiveConfig;
  /** Null for a review by the analyzers alone. */
  connected: ConnectedModels | null;
  trajectory: Trajectory;
  onProgress(event: ProgressEvent): void;
  signal: AbortSignal;
  /** A process that has begun to load; it ends with the review. Without it one is started. */
  started?: StartedReviewProcess | undefined;
}

export interface ReviewedRange {
  reviewed: ReviewResult;
  /** Why the model failed, in full: for whoever runs this, never for the public. Null when it did not. */
  modelFault: string | null;
}

/** Reviews a local range in a process of its own. Rejects as `runReviewProcess` does. */
export async function reviewRange(options: ReviewRangeOptions): Promise<ReviewedRange> {
  const { range, config, connected, trajectory, signal, started } = options;
  let modelFault: string | null = null;
  const onProgress = (event: ProgressEvent) => {
    // The review process is at work now, and this one has nothing to do until the first turn.
    connected?.load().catch(() => {});
    if (event.type === "model_failed") modelFault = event.error;
    options.onProgress(event);
  };
  const models = connected?.models ?? null;
  const input = inputOf(range.names.base, config, models);
  const reviewed = await runReviewProcess({
    ...{ place: range.place, input, models, trajectory, onProgress, signal, started },
  });
  return { reviewed, modelFault };
}
