import { type LocalEnv, readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import type { Severity } from "../finding.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import { PIPED_WIDTH, plainLine } from "../reporters/terminal-style.ts";
import type { ProgressEvent } from "../review/progress.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { registerSecret } from "../secrets/live-secrets.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { type ConnectedModels, createModels } from "./create-model.ts";
import { exitCodeOf } from "./exit-code.ts";
import { loadSources } from "./load-sources.ts";
import { loadLocalConfig } from "./local-config.ts";
import { type OpenRange, openRange } from "./open-range.ts";
import { requireWritable, wantsColour, write, writeOutput } from "./output.ts";
import { createProgress } from "./progress.ts";
import { type Format, renderResult } from "./render-result.ts";
import { inputOf } from "./review-input.ts";
import { openTrajectory } from "./trajectory-file.ts";
import { useProxy } from "./use-proxy.ts";

/** The options of the command, as its help describes them. */
export interface ReviewValues {
  repo: string;
  base: string | undefined;
  head: string;
  format: Format;
  output: string | undefined;
  "fail-on": Severity | "never" | undefined;
  "dry-run": boolean;
  trajectory: string | undefined;
}

/**
 * Reviews a local range. Resolves to the exit code.
 *
 * @param started a review process that has begun to load; without it one is started when the checkout is there
 */
export async function runReview(
  values: ReviewValues,
  io: CommandIo,
  started?: StartedReviewProcess,
): Promise<number> {
  const env = readLocalEnv();
  if (values.output !== undefined) await requireWritable(values.output);
  if (values["dry-run"]) return printDryRun(values, env, io);
  useProxy(env);
  await using range = await openRange({ ...values, signal: io.signal });
  const { config, notices } = await configOf(range, values, io);
  const connected = await connect(env, io);
  const input = inputOf(range.names.base, config, connected?.models ?? null);
  const { reviewed, modelFault } = await reviewRange({ range, input, connected, started }, values, io);
  if (modelFault !== null) await sayModelFault(modelFault, reviewed, values.format, io);
  const result = { ...reviewed, warnings: [...notices, ...reviewed.warnings] };
  await deliver(values, await render(result, range, values, io), io);
  return exitCodeOf(result, values["fail-on"] ?? config.check.threshold);
}

/** Of a model that was asked before, nothing is loaded or asked here. */
async function connect({ model, pricesFile, modelFolder }: LocalEnv, io: CommandIo) {
  if (!model) return null;
  for (const key of [model.apiKey, model.fallback?.apiKey]) if (key) registerSecret(key, { keep: true });
  const say = (text: string) => void warn(io, text);
  const connected = await createModels(model, { pricesFile, folder: modelFolder, warn: say });
  await connected.ready(io.signal);
  return connected;
}

async function printDryRun(values: ReviewValues, env: LocalEnv, io: CommandIo): Promise<number> {
  const format = dryRunFormat(values.format);
  await using range = await openRange({ ...values, signal: io.signal });
  const { config } = await configOf(range, values, io);
  const { dryRun } = await import("./dry-run.ts");
  await deliver(values, await dryRun(range, config, env, format), io);
  return exitCodes.clean;
}

/** The configuration of the range's base; says what people should know before the review begins. */
async function configOf(range: OpenRange, { repo }: ReviewValues, io: CommandIo) {
  const loaded = await loadLocalConfig(range.workspace);
  if (range.dirty) await warn(io, `uncommitted changes in ${repo} are not reviewed`);
  for (const notice of loaded.notices) await warn(io, notice);
  return loaded;
}

interface Reviewed {
  range: OpenRange;
  input: ReviewInput;
  connected: ConnectedModels | null;
  started: StartedReviewProcess | undefined;
}

async function reviewRange(
  { range: { place }, input, connected, started }: Reviewed,
  values: ReviewValues,
  { stderr, signal }: CommandIo,
): Promise<{ reviewed: ReviewResult; modelFault: string | null }> {
  await using record = await openTrajectory(values.trajectory);
  const { trajectory } = record;
  const progress = createProgress(stderr);
  let modelFault: string | null = null;
  const onProgress = (event: ProgressEvent) => {
    // The review process is at work now, and this one has nothing to do until the first turn.
    connected?.load().catch(() => {});
    if (event.type === "model_failed") modelFault = event.error;
    progress.handle(event);
  };
  try {
    const models = connected?.models ?? null;
    const options = { place, input, models, trajectory, onProgress, signal, started };
    const reviewed = await runReviewProcess(options);
    return { reviewed, modelFault };
  } finally {
    progress.end();
  }
}

async function render(result: ReviewResult, range: OpenRange, values: ReviewValues, { stdout }: CommandIo) {
  const found = result.findings.map(({ finding }) => finding);
  const toFile = values.output !== undefined;
  return renderResult(values.format, result, {
    range: range.names,
    source: await loadSources(range.workspace, found),
    colour: !toFile && wantsColour(stdout),
    width: (toFile ? 0 : stdout.columns) || PIPED_WIDTH,
  });
}

/**
 * The report tells the kind of fault alone: it may be shown to anybody. A model that never answered (a bad key, a wrong
 * address) leaves nothing for people to read but the reason.
 */
async function sayModelFault(
  fault: string,
  { usage, findings }: ReviewResult,
  format: Format,
  io: CommandIo,
): Promise<void> {
  const text = `The model failed: ${fault}`;
  const nothing = usage.requests === 0 && findings.length === 0;
  if (nothing && format === "pretty") throw new AppError("model_failed", text);
  await warn(io, text);
}

function dryRunFormat(format: Format): "pretty" | "json" {
  if (format === "pretty" || format === "json") return format;
  throw new AppError("usage", `--dry-run cannot print ${format}`, { remedy: "Use --format pretty or json." });
}

const warn = ({ stderr }: CommandIo, text: string) => write(stderr, `warning: ${plainLine(text)}\n`);

async function deliver(values: ReviewValues, text: string, io: CommandIo): Promise<void> {
  if (values.output === undefined) return write(io.stdout, text);
  await writeOutput(values.output, text);
  await write(io.stderr, `written to ${values.output}\n`);
}
