import { randomUUID } from "node:crypto";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ActionEnv } from "../../config/action-env.ts";
import { bySeverity, type Finding, type Severity, severities, toolOf } from "../../core/finding.ts";
import { withoutSecrets } from "../../core/secrets/redact.ts";
import { cutBytes } from "../../core/text/cut.ts";
import { outcomeOf } from "../../report/outcome.ts";
import { untrustedLine } from "../../report/safe-markdown.ts";
import type { ReviewResult } from "../../tasks/shapes/review-result.ts";
import { type RenderOptions, renderResult } from "../render-result.ts";
import type { ActionRun } from "./run-action.ts";

/** A step's summary may have 1 MiB; a larger one is not shown at all. */
const mostSummaryBytes = 900_000;

/** Why the step ends as it does; programs read it from the output `outcome`. */
type Outcome = "reviewed" | "skipped" | "failed";

/** Writes summary, outputs and reports of a run. Returns what the log gets: workflow commands, escaped. */
export async function report(
  run: ActionRun,
  { inputs, outputFile, summaryFile, tempFolder }: ActionEnv,
  exit: NonNullable<RenderOptions["exit"]>,
): Promise<string> {
  const { result, outcome } = run;
  const files = result && (await writeReports(result, tempFolder, exit));
  await appendFile(summaryFile, cutBytes(await summaryOf(run, exit), mostSummaryBytes));
  const isReviewed = result !== null && (outcome.kind === "done" || isUnpublished(run));
  const how: Outcome = isReviewed ? "reviewed" : outcome.kind === "failed" ? "failed" : "skipped";
  await appendFile(
    outputFile,
    outputLines({ outcome: how, conclusion: run.conclusion ?? "", ...countsOf(result), ...files }),
  );
  const lines = [
    ...(result !== null && isUnpublished(run) ? annotations(result) : []),
    ...run.notices.map((notice) => command("notice", {}, notice)),
    ...(isReviewed ? [] : [command(how === "failed" ? "error" : "notice", {}, sentence(run))]),
    ...(exit.code === 1 ? [command("error", {}, failed(inputs.failOn, run.result))] : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function failed(failOn: string, result: ActionRun["result"]): string {
  const isBlocking = result?.rules?.applied.some((rule) => rule.blocking) === true;
  return `Findings of severity ${failOn} or higher${isBlocking ? " or of a blocking rule" : ""} are open, or a part of the change was not read: see the summary`;
}

/** The review was made, and the token may not say so on the pull request. */
export const isUnpublished = ({ outcome, result }: ActionRun): boolean =>
  result !== null && outcome.kind === "failed";

/** A command that was answered is done without a review. */
const outcomeWords = {
  done: "Done",
  failed: "The review failed",
  skipped: "Not reviewed",
  superseded: "Not reviewed",
} as const;

const sentence = ({ outcome: { kind, reason } }: ActionRun) => `${outcomeWords[kind]}: ${reason}`;

async function summaryOf(run: ActionRun, exit: RenderOptions["exit"]): Promise<string> {
  const { result, notices } = run;
  const lines = [
    ...(result === null ? [sentence(run)] : []),
    ...(isUnpublished(run) ? [`Nothing could be written on the pull request: ${run.outcome.reason}`] : []),
    ...notices,
  ].map((line) => `${untrustedLine(withoutSecrets(line), 2_000)}\n\n`);
  const text =
    result === null ? "## Hunkwise\n" : await renderResult("markdown", result, renderOptions(exit));
  return `${text}\n${lines.join("")}`;
}

/** The files of the checkout are gone, so reports quote only what the findings quote. */
const renderOptions = (exit: RenderOptions["exit"]): RenderOptions => ({
  range: { base: "", head: "", commits: "" },
  source: () => null,
  color: false,
  width: 100,
  exit,
});

/** Paths of the reports, as outputs. They are in the runner's folder for temporary files, never in the workspace. */
async function writeReports(result: ReviewResult, tempFolder: string, exit: RenderOptions["exit"]) {
  const folder = join(tempFolder, "hunkwise");
  await mkdir(folder, { recursive: true });
  const write = async (name: string, format: "json" | "sarif") => {
    const file = join(folder, name);
    await writeFile(file, await renderResult(format, result, renderOptions(exit)));
    return file;
  };
  return {
    "report-file": await write("review.json", "json"),
    "sarif-file": await write("review.sarif", "sarif"),
  };
}

function countsOf(result: ReviewResult | null): Record<string, string | number> {
  const found = result?.findings.map(({ finding }) => finding) ?? [];
  // A severity that only another tool gave is none that later steps may rely on.
  const counted = found.filter(
    ({ source, verification }) => verification !== "not_judged" || toolOf(source) === null,
  );
  const of = (severity: Severity) => counted.filter((one) => one.severity === severity).length;
  return {
    findings: found.length,
    ...Object.fromEntries(severities.map((severity) => [severity, of(severity)])),
    coverage: result === null ? "none" : outcomeOf(result),
    "hunks-read": result?.coverage.hunks_served ?? 0,
    "hunks-total": result?.coverage.hunks_total ?? 0,
    "cost-usd": result?.usage.cost_usd ?? "",
    tokens: result === null ? 0 : result.usage.prompt_tokens + result.usage.completion_tokens,
  };
}

/** Each with a delimiter that nobody can guess, so that no value can begin another output. */
function outputLines(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(([name, value]) => {
      const end = `end-${randomUUID()}`;
      return `${name}<<${end}\n${value}\n${end}\n`;
    })
    .join("");
}

/** GitHub shows ten errors and ten warnings of a step; the rest is in the summary. */
const mostOfALevel = 10;

function annotations(result: ReviewResult): string[] {
  const shown = { error: 0, warning: 0, notice: 0 };
  return bySeverity(result.findings).flatMap(({ finding }) => {
    if (finding.side !== "RIGHT") return [];
    const level = levels[finding.severity];
    shown[level] += 1;
    return shown[level] > mostOfALevel ? [] : [annotation(level, finding)];
  });
}

const levels = { critical: "error", high: "error", medium: "warning", low: "notice" } as const;

function annotation(level: "error" | "warning" | "notice", finding: Finding): string {
  const { path, line, start_line, title, body } = finding;
  const place = { file: path, line: String(start_line ?? line), endLine: String(line), title };
  return command(level, place, cutBytes(body, 4_000));
}

/**
 * A workflow command (https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands). Its text is hostile: with these
 * escapes it stays one line, one property or one message.
 */
export function command(name: string, properties: Record<string, string>, message: string): string {
  const given = Object.entries(properties).map(
    ([key, value]) => `${key}=${escapedProperty(withoutSecrets(value))}`,
  );
  return `::${name}${given.length === 0 ? "" : ` ${given.join(",")}`}::${escaped(withoutSecrets(message))}`;
}

const escaped = (text: string) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
const escapedProperty = (text: string) => escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
