import { readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import { atLeast, severities } from "../finding.ts";
import type { Model } from "../llm/model.ts";
import { outcomeOf } from "../reporters/outcome.ts";
import { PIPED_WIDTH, plainLine } from "../reporters/terminal-style.ts";
import type { ProgressEvent } from "../review/progress.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { type CommandIo, defineCommand, exitCodes, type ValuesOf } from "./command.ts";
import { createModel } from "./create-model.ts";
import { loadSources } from "./load-sources.ts";
import { loadLocalConfig } from "./local-config.ts";
import { type OpenRange, openRange } from "./open-range.ts";
import { requireWritable, wantsColour, write, writeOutput } from "./output.ts";
import { createProgress } from "./progress.ts";
import { type Format, formats, renderResult } from "./render-result.ts";
import { inputOf } from "./review-input.ts";
import { openTrajectory } from "./trajectory-file.ts";
import { useProxy } from "./use-proxy.ts";

const thresholds = [...severities, "never"] as const;

const options = {
  repo: { type: "string", value: "DIR", description: "the repository", default: "." },
  base: {
    type: "string",
    value: "REF",
    description: "what the change is to be merged into; without it origin's default branch, main or master",
  },
  head: { type: "string", value: "REF", description: "the last commit of the change", default: "HEAD" },
  format: {
    type: "string",
    value: "FORMAT",
    description: "how to print",
    choices: formats,
    default: "pretty",
  },
  output: { type: "string", value: "FILE", description: "write the result there instead of printing it" },
  "fail-on": {
    type: "string",
    value: "SEVERITY",
    description: "exit 1 at a finding as severe as this; without it as the configuration says, else high",
    choices: thresholds,
  },
  "dry-run": { type: "boolean", description: "print what would be reviewed and what it costs; ask no model" },
  trajectory: {
    type: "string",
    value: "FILE",
    description: "write a record of the run, one JSON object a line",
  },
} as const;

type Values = ValuesOf<typeof options>;

export const review = defineCommand({
  positionals: [],
  options,
  notes: [
    "Reviews the commits between the merge base of the two revisions and the head. Uncommitted changes are not reviewed, " +
      "and nothing is written to the repository. Its configuration is .github/hunkwise.yml as it stands at the base.",
    "",
    "Without OPENAI_API_KEY and OPENAI_BASE_URL the built-in analyzers review alone, and the report says so.",
    "",
    "Exit code: 0 clean, 1 a finding at or above --fail-on, 2 usage, failure, or a review that is only partial.",
  ],
  examples: [
    { command: "hunkwise review", says: "the checked-out branch against the default branch" },
    { command: "hunkwise review --base HEAD~3 --fail-on never", says: "the last three commits, for reading" },
    {
      command: "hunkwise review --base main --format sarif --output review.sarif",
      says: "for code scanning",
    },
    {
      command: "hunkwise review --base main --dry-run",
      says: "what would be read, and how many tokens that is",
    },
  ],
  run: runReview,
});

async function runReview(values: Values, _: readonly string[], io: CommandIo): Promise<number> {
  const env = readLocalEnv();
  if (values.output !== undefined) await requireWritable(values.output);
  const { repo, base, head } = values;
  await using range = await openRange({ repo, base, head, signal: io.signal });
  const { config, notice } = await loadLocalConfig(range.workspace);
  if (range.dirty) await warn(io, `uncommitted changes in ${repo} are not reviewed`);
  if (notice !== null) await warn(io, notice);
  if (values["dry-run"]) {
    const { dryRun } = await import("./dry-run.ts");
    await deliver(values, await dryRun(range, config, env, dryRunFormat(values.format)), io);
    return exitCodes.clean;
  }
  useProxy(env);
  const model = env.model && (await createModel(env.model, env.pricesFile));
  const reviewed = await reviewRange(range, inputOf(range.names.base, config, model), model, values, io);
  const result = notice === null ? reviewed : { ...reviewed, warnings: [notice, ...reviewed.warnings] };
  await deliver(values, await render(result, range, values, io), io);
  return exitCodeOf(result, values["fail-on"] ?? config.check.threshold);
}

async function reviewRange(
  { place }: OpenRange,
  input: ReviewInput,
  model: Model | null,
  values: Values,
  { stderr, signal }: CommandIo,
): Promise<ReviewResult> {
  const { runReviewProcess } = await import("../process/run-review-process.ts");
  await using record = await openTrajectory(values.trajectory);
  const { trajectory } = record;
  const progress = createProgress(stderr);
  const onProgress = (event: ProgressEvent) => progress.handle(event);
  try {
    return await runReviewProcess({ place, input, model, trajectory, onProgress, signal });
  } finally {
    progress.end();
  }
}

async function render(result: ReviewResult, range: OpenRange, values: Values, { stdout }: CommandIo) {
  const found = result.findings.map(({ finding }) => finding);
  const toFile = values.output !== undefined;
  return renderResult(values.format, result, {
    range: range.names,
    source: await loadSources(range.workspace, found),
    colour: !toFile && wantsColour(stdout),
    width: (toFile ? 0 : stdout.columns) || PIPED_WIDTH,
  });
}

function dryRunFormat(format: Format): "pretty" | "json" {
  if (format === "pretty" || format === "json") return format;
  throw new AppError("usage", `--dry-run cannot print ${format}`, { remedy: "Use --format pretty or json." });
}

const warn = ({ stderr }: CommandIo, text: string) => write(stderr, `warning: ${plainLine(text)}\n`);

async function deliver(values: Values, text: string, io: CommandIo): Promise<void> {
  if (values.output === undefined) return write(io.stdout, text);
  await writeOutput(values.output, text);
  await write(io.stderr, `written to ${values.output}\n`);
}

function exitCodeOf(result: ReviewResult, threshold: (typeof thresholds)[number]): number {
  if (outcomeOf(result) === "partial") return exitCodes.failed;
  if (threshold === "never") return exitCodes.clean;
  const open = result.findings.some(({ finding }) => atLeast(finding.severity, threshold));
  return open ? exitCodes.found : exitCodes.clean;
}
