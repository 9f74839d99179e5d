import { resolve } from "node:path";
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { StartedProcess } from "../../border/start-process.ts";
import { type LocalEnv, rawEnv, readLocalEnv, withModel } from "../../config/env.ts";
import { presentIndex } from "../../config/folders.ts";
import { withOverrides } from "../../config/overrides.ts";
import type { EffectiveConfig } from "../../config/repo-config.ts";
import { AppError } from "../../core/errors.ts";
import { atLeast, type Severity, severities } from "../../core/finding.ts";
import { NOT_SELECTED } from "../../repo/diff/filter.ts";
import { countBySeverity, isPartialBesidesNeutral, isUnread, outcomeSentence } from "../../report/outcome.ts";
import { plainLine } from "../../report/terminal-style.ts";
import { isModelErrorWarning, type ReviewResult } from "../../tasks/shapes/review-result.ts";
import type { ToolResult } from "../../tasks/shapes/tool-result.ts";
import {
  type CommandContext,
  type CommandIo,
  changeCommand,
  chosenRange,
  exitCodes,
  explained,
  type OptionsOf,
  optionText,
  repeatedText,
} from "../command.ts";
import type { OpenPull } from "../open-pull.ts";
import type { OpenRange } from "../open-range.ts";
import {
  complaint,
  pipedWidth,
  requireWritable,
  wantsColor,
  widthsOf,
  write,
  writeOutput,
} from "../output.ts";
import { givenConfig, overridesOf, requirePrices, withOverrideOptions } from "../override-options.ts";
import { createProgress, type Progress } from "../progress.ts";
import { type Format, formatOfName, formats, type RenderOptions, renderResult } from "../render-result.ts";
import type { ReviewedRange } from "../review-range.ts";
import { useProxy } from "../use-proxy.ts";

const thresholds = [...severities, "never"] as const;

const declare = () =>
  explained(withOverrideOptions(changeCommand("review")), {
    text: [
      "Reviews what a pull request of the working tree would change: everything since the merge base with --base, committed or " +
        "not, with untracked files that are not ignored. In a build (CI is set), with --committed or with another --head, only " +
        "commits are reviewed. Nothing is written to the repository. The configuration is .github/hunkwise.yml from the base.",
      "Never sent to a model: untracked files that are binary, over 1 MB or named like a secret (.env, *.pem, *.key, id_rsa, .npmrc and such), " +
        "new files with such a name, and files with a filter in .gitattributes. They are listed and scanned for secrets.",
      "A record of what was read, found and spent is kept for HUNKWISE_RETENTION_DAYS, readable only by this user: hunkwise runs " +
        "shows it.",
      "Without OPENAI_API_KEY, ANTHROPIC_API_KEY and OPENAI_BASE_URL, or with --no-model, only the built-in analyzers review, and the report says so.",
      "Exit code: 0 clean, 1 findings at or above the threshold, 2 usage or setup, 3 not reviewed or only partly reviewed; " +
        "1 takes precedence over 3.\n" +
        "If a model is configured but did not judge a rule match, that match causes exit code 3, not 1. " +
        "Certain findings, such as secrets, always count.",
    ],
    examples: [
      ["review the working tree against the default branch", "hunkwise review"],
      ["review only what is about to be committed", "hunkwise review --staged"],
      ["review the last three commits, without a threshold", "hunkwise review --base HEAD~3 --fail-on never"],
      ["write a report for code scanning", "hunkwise review --base main --output review.sarif"],
      ["post the findings with reviewdog", "hunkwise review --format rdjson | reviewdog -f=rdjson"],
      ["judge what a linter reports on the changed lines", "hunkwise review --findings eslint.sarif"],
      ["hand the findings to a coding agent", "hunkwise review --format prompt"],
      ["review one folder, at a limited cost", "hunkwise review --only 'api/**' --max-cost 0.50"],
      ["show what would be read, and how many tokens that takes", "hunkwise review --base main --dry-run"],
    ],
  })
    .addOption(
      new Option(
        "--pr <NUMBER>",
        "review a pull request on GitHub, by its number at origin or the address of its page, with the token of GH_TOKEN or of gh",
      )
        .argParser(optionText)
        .conflicts(["base", "head", "uncommitted", "staged", "committed", "commit"]),
    )
    .option("--publish", "with --pr: post the result there, under the name of the token's owner")
    .addOption(
      new Option(
        "--format <FORMAT>",
        "the output format; default: by the extension of --output (.json, .md, .sarif, .rdjson, .rdjsonl), otherwise pretty",
      ).choices(formats),
    )
    .option("--output <FILE>", "write the result to this file instead of printing it", optionText)
    .option(
      "--category <NAME>",
      "for sarif: a name that tells this analysis apart from others of the same commit, such as those of other jobs; " +
        "without it, GitHub's upload-sarif names it by workflow and job",
      categoryName,
    )
    .addOption(
      new Option(
        "--fail-on <SEVERITY>",
        "exit with 1 if a finding has this severity or higher; default: check.threshold of the configuration, otherwise high",
      ).choices(thresholds),
    )
    .option(
      "--findings <FILE>",
      "results of another tool (SARIF, rdjson, rdjsonl), which the model judges; can be repeated",
      repeatedText,
    )
    .option("--require-model", "exit with 2 if no model is configured, with 3 if no model answered")
    .option("--dry-run", "print what would be reviewed and the predicted cost; use no model")
    .option(
      "--trajectory <FILE>",
      "also write the record of the run to this file, one JSON object per line",
      optionText,
    )
    .option("--no-record", "leave no record of the run (see hunkwise runs --help)")
    .option("--quiet", "print no progress and no notices, only the result and errors");

/** Code scanning takes what follows the last slash for the name of one run. */
function categoryName(value: string): string {
  const name = optionText(value).replace(/\/+$/, "");
  if (/^[\w.:/-]{1,100}$/.test(name)) return name;
  throw new InvalidArgumentError("It must consist of 1 to 100 letters, digits and . : / _ -");
}

interface ReviewValues extends OptionsOf<typeof declare> {
  /** Says one line about a review that is clean, and nothing about changes that are not part of it. No progress in a log. */
  brief?: boolean;
  /** What people call the ends of the range, instead of how they are given. */
  called?: { base?: string | undefined; head: string };
  /** Absolute path of the index to read, for hooks of git. */
  indexFile?: string;
  /** Maximum duration in minutes, if the configuration allows more. */
  mostMinutes?: number;
}

export const review = (io: CommandContext) =>
  declare().action(async (values) => {
    io.exitCode = await reviewLocally(values, io);
  });

/** Reviews a local range as the command does. Resolves to the exit code; rejects if the review could not begin. */
export async function reviewLocally(values: ReviewValues, io: CommandIo): Promise<number> {
  using progress = createProgress(io.stderr, { isLogged: !values.brief, onlyFaults: values.quiet === true });
  const { startReviewProcess } = await import("../../border/start-process.ts");
  // The process loads its code while this process loads its own and git looks up the range.
  const graphIndex = presentIndex(values.repo, envOf(values));
  using started = values.dryRun ? null : (io.startProcess ?? startReviewProcess)({ graphIndex });
  return await runReview(values, progress, io, started ?? undefined);
}

/** `--no-model` leaves the environment's model aside. */
function envOf({ model }: ReviewValues): LocalEnv {
  const env = readLocalEnv(withModel(rawEnv(), typeof model === "string" ? model : undefined));
  return model === false ? { ...env, model: null, notices: [] } : env;
}

/** The environment, if it has what the options need. */
async function workableEnv(given: ReviewValues): Promise<LocalEnv> {
  const env = envOf(given);
  const needing = [
    given.requireModel && "--require-model",
    given.prove && "--prove",
    given.model && "--model",
  ];
  for (const option of needing) {
    if (!option || env.model !== null) continue;
    if (given.model === false)
      throw new AppError("usage", `${option} and --no-model are both set`, {
        remedy: "Leave out one of them.",
      });
    throw noModel(option, env);
  }
  await requirePrices(given, env);
  return env;
}

/** @param started a review process that is already loading; if omitted, one is started after the range is open */
async function runReview(
  given: ReviewValues,
  progress: Progress,
  io: CommandIo,
  started?: StartedProcess,
): Promise<number> {
  const env = await workableEnv(given);
  const values = { ...given, format: given.format ?? formatOfName(given.output ?? "") ?? "pretty" };
  for (const file of [values.output, values.trajectory]) if (file !== undefined) await requireWritable(file);
  useProxy(env);
  const dryFormat = values.dryRun ? dryRunFormat(values.format) : null;
  const { connectModels, reviewRange } = await import("../review-range.ts");
  const { leftOut, whyNotReviewable } = await import("../open-range.ts");
  const say = (text: string) => progress.say(`warning: ${plainLine(text)}`);
  const { range, pull } = await open(values, env, say, io);
  await using _ = range;
  const config = await configOf(range, values, say);
  const why = await whyNotReviewable(range, config);
  if (why !== null) {
    progress.end();
    return notReviewed(why, io);
  }
  const results = await resultsOf(values, range, say);
  if (dryFormat !== null) {
    for (const notice of [...leftOut(range), ...env.notices]) say(notice);
    const { dryRun } = await import("../dry-run.ts");
    const text = await dryRun(range, config, env, { format: dryFormat, results });
    progress.end();
    await deliver(values, text, io);
    return exitCodes.clean;
  }
  const onProbe = (model: string) => progress.handle({ type: "probe", model });
  const connected = await connectModels(env, { warn: say, onProbe, signal: io.signal });
  const done = await reviewRange({
    range,
    config,
    pull: await pull?.textFor(config),
    results,
    connected,
    started,
    graphIndex: pull === null ? presentIndex(values.repo, env) : null,
    records: {
      repository: values.repo,
      file: values.trajectory,
      keepMs: env.retentionMs,
      logseqDir: env.logseqDir,
      folder: values.record ? env.runsFolder : undefined,
    },
    warn: say,
    // Loads what finds a sandbox only if a finding is worth a test.
    async findTestPlace(order, signal) {
      const { localTestPlaces } = await import("../test-places.ts");
      return localTestPlaces(env)({ ...order, repository: resolve(values.repo) }, signal);
    },
    onProgress: progress.handle,
    signal: io.signal,
  })
    .finally(progress.end)
    .catch((error: unknown) => notReviewed(error, io));
  return done === exitCodes.incomplete ? done : await printReview(done, { values, range, pull, config }, io);
}

interface Reviewed {
  values: KnownValues;
  range: OpenRange;
  pull: OpenPull | null;
  config: EffectiveConfig;
}

async function printReview(
  { reviewed, modelFault }: ReviewedRange,
  { values, range, pull, config }: Reviewed,
  io: CommandIo,
): Promise<number> {
  const { leftOut, withEdited } = await import("../open-range.ts");
  if (modelFault !== null) await warn(io, `The model failed: ${modelFault}`);
  // Printed once: the public warning about the fault says less than the line above.
  const isSaid = (warning: string) =>
    modelFault !== null && values.format === "pretty" && isModelErrorWarning(warning);
  const warnings = [
    ...leftOut(range),
    // A pull request shows them in its summary.
    ...reviewed.config_changes.map((what) => `A merge changes the configuration of reviews: ${what}`),
    ...reviewed.warnings.filter((warning) => !isSaid(warning)),
  ];
  const result = withEdited({ ...reviewed, warnings }, range, config);
  const threshold = values.failOn ?? config.check.threshold;
  const code = exitCodeOf(result, threshold, values.requireModel, values.failOn === "never");
  const exit = { code, reason: exitReasonOf(code, result), threshold };
  for (const notice of values.brief || values.quiet ? [] : noticesOf(result, values)) await warn(io, notice);
  if (values.brief && code === exitCodes.clean) await write(io.stdout, `${briefLine(result, values)}\n`);
  else await deliver(values, await render(result, range, values, exit, io), io);
  if (pull && values.publish) await write(io.stderr, `${await pull.publish(result, config)}\n`);
  return code;
}

/** Results of other tools. */
async function resultsOf(
  { findings = [] }: ReviewValues,
  { roots, workspace }: OpenRange,
  warn: (text: string) => void,
): Promise<ToolResult[]> {
  if (findings.length === 0) return [];
  const { readResults } = await import("../read-results.ts");
  return await readResults(findings, { roots, within: null, workspace, warn });
}

/** The range to review: commits of a repository on this machine, or a pull request on GitHub. */
async function open(
  values: KnownValues,
  env: LocalEnv,
  warn: (text: string) => void,
  { signal }: CommandIo,
): Promise<{ range: OpenRange; pull: OpenPull | null }> {
  const { pr, publish = false, repo } = values;
  if (pr === undefined) {
    if (publish) throw new AppError("usage", "--publish needs --pr", { remedy: "Name the pull request." });
    const { openRange } = await import("../open-range.ts");
    const { indexFile, output, trajectory, called: { base, head } = {} } = values;
    const reports = [output, trajectory].filter((file) => file !== undefined);
    const range = await openRange({ repo, ...chosenRange(values), indexFile, reports, signal });
    const names = { ...range.names, ...(base && { base }), ...(head && { head }) };
    return { range: { ...range, names }, pull: null };
  }
  const { openPull } = await import("../open-pull.ts");
  const pull = await openPull({ pr, repo, publish, env, warn, signal });
  return { range: pull, pull };
}

/** One line about a review without findings that count. */
function briefLine(result: ReviewResult, { model, called }: Pick<ReviewValues, "model" | "called">): string {
  const about = plainLine(called ? `hunkwise: ${called.head}: ` : "hunkwise: ");
  if (result.coverage.files_total === 0) return `${about}nothing was changed, so nothing was reviewed`;
  const found = countBySeverity(result.findings.map(({ finding }) => finding)) || "no findings";
  if (model === false) return `${about}${found} by the analyzers`;
  return `${about}${found}${isUnread(result) ? "; no model looked at this, only the analyzers" : ""}`;
}

const noModel = (option: string, { notices }: LocalEnv) =>
  new AppError("usage", `${option} is set, but no model is configured`, {
    remedy: [
      "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, or OPENAI_BASE_URL and HUNKWISE_MODEL. An empty variable counts as unset.",
      ...notices.map((notice) => notice.replace(/(?<=\w)$/, ".")),
    ].join(" "),
  });

/** The configuration was valid, but the review ended without a result. */
async function notReviewed(error: unknown, { stderr, signal }: CommandIo) {
  if (signal.aborted) throw error;
  await write(stderr, complaint(error));
  return exitCodes.incomplete;
}

type KnownValues = ReviewValues & { format: Format };

/** The configuration of the range's base, with what the options override. Says notices about the range. */
async function configOf(range: OpenRange, values: ReviewValues, say: (text: string) => void) {
  const { loadLocalConfig, rangeNotices } = await import("../open-range.ts");
  const overrides = await overridesOf(values);
  const { config: given } = await loadLocalConfig(range.workspace, await givenConfig(values));
  for (const notice of values.brief ? [] : rangeNotices(range, values.repo)) say(notice);
  const config = withOverrides(given, overrides);
  const minutes = Math.min(config.budget.minutes, values.mostMinutes ?? Number.POSITIVE_INFINITY);
  return { ...config, budget: { ...config.budget, minutes } };
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
    color: !toFile && wantsColor(stdout),
    exit,
    category: values.category,
    ...(toFile ? { width: pipedWidth() } : widthsOf(stdout)),
  });
}

function dryRunFormat(format: Format): "pretty" | "json" {
  if (format === "pretty" || format === "json") return format;
  throw new AppError("usage", `--dry-run cannot print ${format}`, { remedy: "Use --format pretty or json." });
}

/** What the printed result does not say, or not clearly. */
function noticesOf(result: ReviewResult, { format, only = [] }: KnownValues): string[] {
  const { files_skipped, files_total } = result.coverage;
  const leftOut = files_skipped.filter(({ reason }) => reason === NOT_SELECTED).length;
  const isAll = leftOut > 0 && leftOut === files_total;
  const sentence = outcomeSentence(result);
  return [
    ...(isAll ? [`no changed file matches --only ${only.join(" ")}`] : []),
    ...(findingsOnly.has(format) && sentence !== "" ? [`${sentence}.`] : []),
    ...(findingsOnly.has(format) ? result.warnings : []),
  ];
}

const warn = ({ stderr }: CommandIo, text: string) => write(stderr, `warning: ${plainLine(text)}\n`);

/** These formats have no place for what was not done. */
const findingsOnly: ReadonlySet<Format> = new Set(["rdjson", "rdjsonl"]);

async function deliver(values: ReviewValues, text: string, io: CommandIo): Promise<void> {
  if (values.output === undefined) return write(io.stdout, text);
  await writeOutput(values.output, text);
  if (!values.quiet) await write(io.stderr, `written to ${values.output}\n`);
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
 * The exit code of a review. A finding counts even if the review is partial, and one of a blocking rule whatever the threshold is. A rule
 * match that no model judged does not count as a finding.
 *
 * @param requireModel a change that no model has read counts as not reviewed
 * @param isLenient no finding fails the review, not even one of a blocking rule
 */
export function exitCodeOf(
  result: ReviewResult,
  threshold: Severity | "never",
  requireModel = false,
  isLenient = false,
): ReviewExit {
  const blocking = new Set(
    (result.rules?.applied ?? []).flatMap((rule) => (rule.blocking ? [rule.name] : [])),
  );
  const reached = result.findings.some(
    ({ finding: { severity, verification, rule } }) =>
      verification !== "not_judged" &&
      ((threshold !== "never" && atLeast(severity, threshold)) ||
        (!isLenient && rule !== undefined && blocking.has(rule))),
  );
  if (reached) return exitCodes.found;
  const unread = requireModel && result.usage.requests === 0 && result.coverage.hunks_total > 0;
  return unread || isPartialBesidesNeutral(result) ? exitCodes.incomplete : exitCodes.clean;
}
