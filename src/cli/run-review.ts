import { type LocalEnv, readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import type { Severity } from "../finding.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import { PIPED_WIDTH, plainLine } from "../reporters/terminal-style.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { exitCodeOf } from "./exit-code.ts";
import { loadSources } from "./load-sources.ts";
import { loadLocalConfig } from "./local-config.ts";
import { presentIndex } from "./local-index.ts";
import { type OpenRange, openRange } from "./open-range.ts";
import { requireWritable, wantsColour, write, writeOutput } from "./output.ts";
import { createProgress } from "./progress.ts";
import { type Format, renderResult } from "./render-result.ts";
import { connectModels, type ReviewedRange, type ReviewRangeOptions, reviewRange } from "./review-range.ts";
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
  "no-record": boolean;
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
  const say = (text: string) => void warn(io, text);
  const connected = await connectModels(env, { warn: say, signal: io.signal });
  const { runsFolder: folder, retentionMs: keepMs, logseqDir } = env;
  const records = {
    ...{ repository: values.repo, file: values.trajectory, keepMs, logseqDir },
    folder: values["no-record"] ? null : folder,
  };
  const graphIndex = presentIndex(values.repo, env);
  const options = { range, config, connected, started, graphIndex, records, warn: say };
  const { reviewed, modelFault } = await reviewWithProgress(options, io);
  if (modelFault !== null) await sayModelFault(modelFault, reviewed, values.format, io);
  const result = { ...reviewed, warnings: [...notices, ...reviewed.warnings] };
  await deliver(values, await render(result, range, values, io), io);
  return exitCodeOf(result, values["fail-on"] ?? config.check.threshold);
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

async function reviewWithProgress(
  options: Omit<ReviewRangeOptions, "onProgress" | "signal">,
  { stderr, signal }: CommandIo,
): Promise<ReviewedRange> {
  const progress = createProgress(stderr);
  try {
    return await reviewRange({ ...options, onProgress: progress.handle, signal });
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
