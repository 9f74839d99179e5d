import { basename, resolve } from "node:path";
import { eachRole, factsOf, type Models } from "../agent/llm/model.ts";
import { createJournal, openLogseqVault } from "../agent/record/journal.ts";
import { type FoundTestPlace, proveReview, withoutProofs } from "../border/prove-review.ts";
import { runTask } from "../border/run-task.ts";
import type { StartedProcess } from "../border/start-process.ts";
import type { TestPlaceOrder } from "../border/test-place.ts";
import { type LocalEnv, modelsOf } from "../config/env.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import { publicLine } from "../core/errors.ts";
import { registerSecret } from "../core/secrets/live-secrets.ts";
import { count } from "../core/text/count.ts";
import { reviewTask } from "../tasks/review/review-task.ts";
import { limitsOf, type PullText, type ReviewInput } from "../tasks/shapes/review-input.ts";
import type { ProgressEvent, ReviewResult } from "../tasks/shapes/review-result.ts";
import { onChangedFiles, type ToolResult } from "../tasks/shapes/tool-result.ts";
import { type ConnectedModels, createModels } from "./create-model.ts";
import type { OpenRange } from "./open-range.ts";
import { onRecord, openRunRecord, type RecordPlaces, type RunRecord } from "./run-record.ts";

/** The review input of a range on the command line, with the limits of the repository. `pull`: null without a pull request. */
export function inputOf(
  targetBranch: string,
  config: EffectiveConfig,
  models: Models | null,
  pull: PullText | null = null,
): ReviewInput {
  return {
    targetBranch,
    pull,
    history: null,
    config,
    limits: limitsOf(config),
    models: models && eachRole(models, factsOf),
  };
}

interface ConnectOptions {
  /** Takes one line for the user. */
  warn(text: string): void;
  /** Called right before a model is probed. */
  onProbe?: (model: string) => void;
  signal: AbortSignal;
}

/**
 * The models of the environment; null if there is none and only the analyzers review. Neither loads nor asks a model that was probed before.
 * If a model cannot be reached, the requests of this run fail at once with that error.
 */
export async function connectModels(
  { model, pricesFile, modelFolder, notices }: LocalEnv,
  { warn, onProbe, signal }: ConnectOptions,
): Promise<ConnectedModels | null> {
  for (const notice of notices) warn(notice);
  if (!model) return null;
  for (const { apiKey } of modelsOf(model)) if (apiKey) registerSecret(apiKey, { keep: true });
  const options = { pricesFile, folder: modelFolder, forOneRun: true, warn, onProbe };
  const connected = await createModels(model, options);
  await connected.ready(signal);
  return connected;
}

export interface ReviewRangeOptions {
  range: OpenRange;
  config: EffectiveConfig;
  /** Text about the pull request; left out if the range is none. */
  pull?: PullText | undefined;
  /** Results of other tools. */
  results?: readonly ToolResult[];
  /** Null for a review by the analyzers only. */
  connected: ConnectedModels | null;
  /** Absolute path of the index of the repository's graph, which is only read; left out or null, there is none. */
  graphIndex?: string | null;
  /** Finds where the tests of proofs run; called only if a finding is worth a test. If omitted, no finding is proved. */
  findTestPlace?(order: Omit<TestPlaceOrder, "repository">, signal: AbortSignal): Promise<FoundTestPlace>;
  /** The place of its record; if omitted, nothing is recorded. */
  records?: RecordPlaces;
  /** Takes one line for the user. */
  warn?(text: string): void;
  onProgress(event: ProgressEvent): void;
  signal: AbortSignal;
  /** A process that is already loading; it ends with the review. */
  started?: StartedProcess | undefined;
}

export interface ReviewedRange {
  reviewed: ReviewResult;
  /** The full error of the model, only for the user and never for the public. Null if there was none. */
  modelFault: string | null;
}

/** Reviews a local range in a separate process, and records it from the first to the last step. Rejects as `runTask` does. */
export async function reviewRange(options: ReviewRangeOptions): Promise<ReviewedRange> {
  const { range, records = none } = options;
  await using record = await openRunRecord(records, `${range.names.base}...${range.names.head}`, {
    warn: options.warn,
  });
  return await onRecord(
    record,
    () => review(options, record),
    ({ reviewed }) => count(reviewed.findings.length, "finding"),
  );
}

function journalOf({ range, records, warn }: ReviewRangeOptions, record: RunRecord) {
  if (!records?.logseqDir) return undefined;
  return createJournal({
    about: `${basename(resolve(records.repository))} ${range.names.base}...${range.names.head}`,
    earlier: [],
    record: (note) => record.append(note),
    vault: openLogseqVault(records.logseqDir),
    warn: (text) => warn?.(text),
  });
}

const none: RecordPlaces = { repository: ".", folder: undefined, keepMs: 0 };

async function review(options: ReviewRangeOptions, record: RunRecord): Promise<ReviewedRange> {
  const { range, config, connected, graphIndex = null, signal, started } = options;
  let modelFault: string | null = null;
  const onProgress = (event: ProgressEvent) => {
    // The review process is working now, and this one is idle until the first turn.
    connected?.load().catch(() => {});
    if (event.type === "model_failed") modelFault = event.error;
    options.onProgress(event);
  };
  const models = connected?.models ?? null;
  const results = await onChangedFiles(options.results ?? [], range.workspace);
  const input = {
    ...inputOf(range.names.base, config, models, options.pull ?? null),
    ...(graphIndex !== null && { graph: true }),
    ...(results.length > 0 && { results }),
  };
  const { place } = range;
  await record.append({ kind: "run", shas: place.shas, input });
  const found = await runTask(reviewTask, input, {
    place,
    models,
    trajectory: record,
    onProgress,
    signal,
    started,
    graphIndex,
    journal: journalOf(options, record),
  });
  const reviewed = await prove(found, { ...options, onProgress }, input, record);
  const { head, base } = place.shas;
  await record.append({ kind: "result", head, base, result: reviewed });
  return { reviewed, modelFault };
}

/** Proves what a review found. A review is worth more than its proofs: if they fail, it stays as it is, and says so. */
async function prove(
  found: ReviewResult,
  { range, config, connected, onProgress, signal, findTestPlace }: ReviewRangeOptions,
  { targetBranch, pull, limits }: ReviewInput,
  record: RunRecord,
): Promise<ReviewResult> {
  if (connected === null || findTestPlace === undefined) return found;
  const { place } = range;
  try {
    return await proveReview(found, {
      place,
      models: connected.models,
      config,
      targetBranch,
      limits,
      trajectory: record,
      onProgress,
      signal,
      pull: pull && { number: pull.number, title: pull.title, body: pull.body },
      findTestPlace: () => findTestPlace({ place, config }, signal),
      async begin(input) {
        await record.append({ kind: "run", what: "prove", shas: place.shas, input });
        return input;
      },
    });
  } catch (error) {
    if (signal.aborted) throw error;
    return withoutProofs(found, publicLine(error).replace(/\.$/, ""));
  }
}
