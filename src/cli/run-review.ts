import { type LocalEnv, readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import type { Severity } from "../finding.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import { PIPED_WIDTH, plainLine } from "../reporters/terminal-style.ts";
import { isPublicFault } from "../review/model-fault.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { complaint } from "./complaint.ts";
import { exitCodeOf, exitReasonOf } from "./exit-code.ts";
import { loadSources } from "./load-sources.ts";
import { loadLocalConfig } from "./local-config.ts";
import { presentIndex } from "./local-index.ts";
import { type OpenRange, openRange } from "./open-range.ts";
import { requireWritable, wantsColour, widthsOf, write, writeOutput } from "./output.ts";
import { createProgress, type Progress } from "./progress.ts";
import { rangeNotices } from "./range-notices.ts";
import { type Format, formatOfName, type RenderOptions, renderResult } from "./render-result.ts";
import { connectModels, type ReviewedRange, type ReviewRangeOptions, reviewRange } from "./review-range.ts";
import { useProxy } from "./use-proxy.ts";

/** The options of the command, as its help describes them. */
export interface ReviewValues {
  repo: string;
  base: string | undefined;
  head: string;
  format: Format | undefined;
  output: string | undefined;
  "fail-on": Severity | "never" | undefined;
  "dry-run": boolean;
  trajectory: string | undefined;
  "no-record": boolean;
  "require-model": boolean;
}

/**
 * Reviews a local range. Resolves to the exit code.
 *
 * @param started a review process that has begun to load; without it one is started when the checkout is there
 */
export async function runReview(
  given: ReviewValues,
  io: CommandIo,
  started?: StartedReviewProcess,
): Promise<number> {
  const env = readLocalEnv();
  if (given["require-model"] && env.model === null) throw noModel();
  const values = { ...given, format: await formatOf(given, io) };
  if (values.output !== undefined) await requireWritable(values.output);
  if (values["dry-run"]) return printDryRun(values, env, io);
  useProxy(env);
  await using range = await openRange({ ...values, signal: io.signal });
  const { config, notices } = await configOf(range, values, io);
  if (!isReadHere(values)) for (const notice of notices) await warn(io, notice);
  const say = (text: string) => void warn(io, text);
  const progress = createProgress(io.stderr);
  const onProbe = (model: string) => progress.handle({ type: "probe", model });
  const connecting = connectModels(env, { warn: say, onProbe, signal: io.signal });
  const connected = await connecting.catch((error: unknown) => {
    progress.end();
    throw error;
  });
  const { runsFolder: folder, retentionMs: keepMs, logseqDir } = env;
  const records = {
    ...{ repository: values.repo, file: values.trajectory, keepMs, logseqDir },
    folder: values["no-record"] ? undefined : folder,
  };
  const graphIndex = presentIndex(values.repo, env);
  const options = { range, config, connected, started, graphIndex, records, warn: say };
  const done = await reviewWithProgress(options, progress, io).catch((error: unknown) =>
    notReviewed(error, io),
  );
  if (done === null) return exitCodes.incomplete;
  const { reviewed, modelFault } = done;
  if (modelFault !== null) await warn(io, `The model failed: ${modelFault}`);
  // Said once: what a report for anybody says of the fault is less than what was just said.
  const isSaid = (warning: string) =>
    modelFault !== null && values.format === "pretty" && isPublicFault(warning);
  const warnings = [...notices, ...reviewed.warnings.filter((warning) => !isSaid(warning))];
  const result = { ...reviewed, warnings };
  const threshold = values["fail-on"] ?? config.check.threshold;
  const code = exitCodeOf(result, threshold, values["require-model"]);
  const exit = { code, reason: exitReasonOf(code, result), threshold };
  await deliver(values, await render(result, range, values, exit, io), io);
  return code;
}

const noModel = () =>
  new AppError("usage", "--require-model is given, and no model is configured", {
    remedy: "Set OPENAI_API_KEY or OPENAI_BASE_URL; an empty variable counts as unset.",
  });

/** All was set up, and the review broke off without a result. */
async function notReviewed(error: unknown, { stderr, signal }: CommandIo): Promise<null> {
  if (signal.aborted) throw error;
  await write(stderr, complaint(error));
  return null;
}

type KnownValues = ReviewValues & { format: Format };

/** What is asked for, else what the file's name stands for. */
async function formatOf({ format, output }: ReviewValues, io: CommandIo): Promise<Format> {
  const named = output === undefined ? null : formatOfName(output);
  // SARIF is JSON, too.
  const fits = format === named || (format === "sarif" && named === "json");
  if (format !== undefined && named !== null && !fits) {
    await warn(io, `${output} gets ${format}, as --format says, though its name stands for ${named}`);
  }
  return format ?? named ?? "pretty";
}

async function printDryRun(values: KnownValues, env: LocalEnv, io: CommandIo): Promise<number> {
  const format = dryRunFormat(values.format);
  await using range = await openRange({ ...values, signal: io.signal });
  const { config, notices } = await configOf(range, values, io);
  for (const notice of [...env.notices, ...notices]) await warn(io, notice);
  const { dryRun } = await import("./dry-run.ts");
  await deliver(values, await dryRun(range, config, env, format), io);
  return exitCodes.clean;
}

/** Whether whoever runs this reads the report, which holds all warnings: programs and files get it otherwise. */
const isReadHere = ({ format, output }: ReviewValues) =>
  output === undefined && (format === "pretty" || format === "markdown");

/** The configuration of the range's base; says what people should know before the review begins. */
async function configOf(range: OpenRange, { repo }: ReviewValues, io: CommandIo) {
  const loaded = await loadLocalConfig(range.workspace);
  for (const notice of rangeNotices(range, repo)) await warn(io, notice);
  return loaded;
}

async function reviewWithProgress(
  options: Omit<ReviewRangeOptions, "onProgress" | "signal">,
  progress: Progress,
  { signal }: CommandIo,
): Promise<ReviewedRange> {
  try {
    return await reviewRange({ ...options, onProgress: progress.handle, signal });
  } finally {
    progress.end();
  }
}

async function render(
  result: ReviewResult,
  range: OpenRange,
  values: KnownValues,
  exit: RenderOptions["exit"],
  { stdout }: CommandIo,
) {
  const found = result.findings.map(({ finding }) => finding);
  const toFile = values.output !== undefined;
  return renderResult(values.format, result, {
    range: range.names,
    source: await loadSources(range.workspace, found),
    colour: !toFile && wantsColour(stdout),
    exit,
    ...(toFile ? { width: PIPED_WIDTH } : widthsOf(stdout)),
  });
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
