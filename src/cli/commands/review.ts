import { Option } from "@commander-js/extra-typings";
import { type LocalEnv, readLocalEnv } from "../../config/env.ts";
import { presentIndex } from "../../config/folders.ts";
import { AppError } from "../../errors.ts";
import { atLeast, type Severity, severities } from "../../finding.ts";
import type { StartedProcess } from "../../process/start-process.ts";
import { outcomeOf } from "../../reporters/outcome.ts";
import { PIPED_WIDTH, plainLine } from "../../reporters/terminal-style.ts";
import { isModelErrorWarning, type ReviewResult } from "../../review/review-result.ts";
import {
  type CommandContext,
  type CommandIo,
  changeCommand,
  chosenRange,
  examples,
  exitCodes,
  type OptionsOf,
  optionText,
  paragraphs,
} from "../command.ts";
import type { OpenRange } from "../open-range.ts";
import { complaint, requireWritable, wantsColour, widthsOf, write, writeOutput } from "../output.ts";
import { createProgress, type Progress } from "../progress.ts";
import { type Format, formatOfName, formats, type RenderOptions, renderResult } from "../render-result.ts";
import type { ReviewedRange, ReviewRangeOptions } from "../review-range.ts";
import { useProxy } from "../use-proxy.ts";

const thresholds = [...severities, "never"] as const;

const declare = () =>
  changeCommand("review")
    .description(
      paragraphs(
        "Reviews what a pull request of the working tree would change: everything since the merge base with --base, committed or " +
          "not, with untracked files that are not ignored. In a build (CI is set), with --committed or with another --head, only " +
          "commits are reviewed. Nothing is written to the repository. The configuration is .github/hunkwise.yml from the base.",
        "No model sees an untracked file that is binary, larger than 1 MB or named like a secret (.env*, *.pem, id_*, *.key), nor one " +
          "that a filter of your git converts. Such files are listed and scanned for secrets.",
        "A record of what was read, found and spent is kept for HUNKWISE_RETENTION_DAYS, readable only by this user: hunkwise runs " +
          "shows it.",
        "Without OPENAI_API_KEY and OPENAI_BASE_URL only the built-in analyzers review, and the report says so.",
        "Exit code: 0 clean, 1 findings at or above the threshold, 2 usage or setup, 3 not reviewed or only partly reviewed; " +
          "1 takes precedence over 3.\n" +
          "If a model is configured but did not judge a rule match, that match causes exit code 3, not 1. " +
          "Certain findings, such as secrets, always count.",
      ),
    )
    .addOption(
      new Option(
        "--format <FORMAT>",
        "the output format; default: by the extension of --output (.json, .md, .sarif), otherwise pretty",
      ).choices(formats),
    )
    .option("--output <FILE>", "write the result to this file instead of printing it", optionText)
    .addOption(
      new Option(
        "--fail-on <SEVERITY>",
        "exit with 1 if a finding has this severity or higher; default: as configured, otherwise high",
      ).choices(thresholds),
    )
    .option("--require-model", "exit with 2 if no model is configured, with 3 if no model answered")
    .option("--dry-run", "print what would be reviewed and the predicted cost; use no model")
    .option(
      "--trajectory <FILE>",
      "also write the record of the run to this file, one JSON object per line",
      optionText,
    )
    .option("--no-record", "leave no record of the run (see hunkwise runs --help)")
    .addHelpText(
      "after",
      examples(
        ["review the working tree against the default branch", "hunkwise review"],
        ["review only what is about to be committed", "hunkwise review --staged"],
        [
          "review the last three commits, without a threshold",
          "hunkwise review --base HEAD~3 --fail-on never",
        ],
        ["write a report for code scanning", "hunkwise review --base main --output review.sarif"],
        ["show what would be read, and how many tokens that takes", "hunkwise review --base main --dry-run"],
      ),
    );

type ReviewValues = OptionsOf<typeof declare>;

export const review = (io: CommandContext) =>
  declare().action(async (values) => {
    using progress = createProgress(io.stderr);
    const { startReviewProcess } = await import("../../process/start-process.ts");
    // The process loads its code while this process loads its own and git looks up the range.
    const graphIndex = presentIndex(values.repo, readLocalEnv());
    using started = values.dryRun ? null : (io.startProcess ?? startReviewProcess)({ graphIndex });
    io.exitCode = await runReview(values, progress, io, started ?? undefined);
  });

/**
 * Reviews a local range. Resolves to the exit code.
 *
 * @param started a review process that is already loading; if omitted, one is started after the range is open
 */
async function runReview(
  given: ReviewValues,
  progress: Progress,
  io: CommandIo,
  started?: StartedProcess,
): Promise<number> {
  const env = readLocalEnv();
  if (given.requireModel && env.model === null) throw noModel();
  const values = { ...given, format: await formatOf(given, io) };
  if (values.output !== undefined) await requireWritable(values.output);
  if (values.dryRun) return printDryRun(values, env, progress, io);
  useProxy(env);
  const { leftOut, openRange } = await import("../open-range.ts");
  const { connectModels } = await import("../review-range.ts");
  await using range = await openRange({ repo: values.repo, ...chosenRange(values), signal: io.signal });
  const say = (text: string) => progress.say(`warning: ${plainLine(text)}`);
  const config = await configOf(range, values, say);
  const onProbe = (model: string) => progress.handle({ type: "probe", model });
  const connected = await connectModels(env, { warn: say, onProbe, signal: io.signal });
  const { runsFolder: folder, retentionMs: keepMs, logseqDir } = env;
  const records = {
    ...{ repository: values.repo, file: values.trajectory, keepMs, logseqDir },
    folder: values.record ? folder : undefined,
  };
  const graphIndex = presentIndex(values.repo, env);
  const options = { range, config, connected, started, graphIndex, records, warn: say };
  const done = await reviewWithProgress(options, progress, io).catch((error: unknown) =>
    notReviewed(error, io),
  );
  if (done === null) return exitCodes.incomplete;
  const { reviewed, modelFault } = done;
  if (modelFault !== null) await warn(io, `The model failed: ${modelFault}`);
  // Printed once: the public warning about the fault says less than the line above.
  const isSaid = (warning: string) =>
    modelFault !== null && values.format === "pretty" && isModelErrorWarning(warning);
  const warnings = [...leftOut(range), ...reviewed.warnings.filter((warning) => !isSaid(warning))];
  const result = { ...reviewed, warnings };
  const threshold = values.failOn ?? config.check.threshold;
  const code = exitCodeOf(result, threshold, values.requireModel);
  const exit = { code, reason: exitReasonOf(code, result), threshold };
  await deliver(values, await render(result, range, values, exit, io), io);
  return code;
}

const noModel = () =>
  new AppError("usage", "--require-model is set, but no model is configured", {
    remedy: "Set OPENAI_API_KEY, or OPENAI_BASE_URL and HUNKWISE_MODEL. An empty variable counts as unset.",
  });

/** The configuration was valid, but the review ended without a result. */
async function notReviewed(error: unknown, { stderr, signal }: CommandIo): Promise<null> {
  if (signal.aborted) throw error;
  await write(stderr, complaint(error));
  return null;
}

type KnownValues = ReviewValues & { format: Format };

/** The requested format, else that of the file name. */
async function formatOf({ format, output }: ReviewValues, io: CommandIo): Promise<Format> {
  const named = output === undefined ? null : formatOfName(output);
  // SARIF is JSON, too.
  const fits = format === named || (format === "sarif" && named === "json");
  if (format !== undefined && named !== null && !fits) {
    await warn(
      io,
      `${output} is written as ${format} because of --format, although its name suggests ${named}`,
    );
  }
  return format ?? named ?? "pretty";
}

async function printDryRun(
  values: KnownValues,
  env: LocalEnv,
  progress: Progress,
  io: CommandIo,
): Promise<number> {
  const format = dryRunFormat(values.format);
  const { leftOut, openRange } = await import("../open-range.ts");
  await using range = await openRange({ repo: values.repo, ...chosenRange(values), signal: io.signal });
  const say = (text: string) => progress.say(`warning: ${plainLine(text)}`);
  const config = await configOf(range, values, say);
  for (const notice of [...leftOut(range), ...env.notices]) say(notice);
  const { dryRun } = await import("../dry-run.ts");
  const text = await dryRun(range, config, env, format);
  progress.end();
  await deliver(values, text, io);
  return exitCodes.clean;
}

/** The configuration of the range's base. Says notices about the range. */
async function configOf(range: OpenRange, { repo }: ReviewValues, say: (text: string) => void) {
  const { loadLocalConfig, rangeNotices } = await import("../open-range.ts");
  const { config } = await loadLocalConfig(range.workspace);
  for (const notice of rangeNotices(range, repo)) say(notice);
  return config;
}

async function reviewWithProgress(
  options: Omit<ReviewRangeOptions, "onProgress" | "signal">,
  progress: Progress,
  { signal }: CommandIo,
): Promise<ReviewedRange> {
  const { reviewRange } = await import("../review-range.ts");
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
  const { loadSources } = await import("../render-result.ts");
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

type ReviewExit = (typeof exitCodes)["clean" | "found" | "incomplete"];

/** The reason for an exit code, for programs. */
export function exitReasonOf(
  code: ReviewExit,
  { findings }: Pick<ReviewResult, "findings">,
): "clean" | "below_threshold" | "findings" | "incomplete" {
  if (code === exitCodes.found) return "findings";
  if (code === exitCodes.incomplete) return "incomplete";
  return findings.length === 0 ? "clean" : "below_threshold";
}

/**
 * The exit code of a review. A finding counts even if the review is partial. A rule match that no model judged does not count as a finding.
 *
 * @param requireModel a change that no model has read counts as not reviewed
 */
export function exitCodeOf(
  result: ReviewResult,
  threshold: Severity | "never",
  requireModel = false,
): ReviewExit {
  const reached = result.findings.some(
    ({ finding: { severity, verification } }) =>
      threshold !== "never" && verification !== "not_judged" && atLeast(severity, threshold),
  );
  if (reached) return exitCodes.found;
  const unread = requireModel && result.usage.requests === 0 && result.coverage.hunks_total > 0;
  return unread || outcomeOf(result) === "partial" ? exitCodes.incomplete : exitCodes.clean;
}
