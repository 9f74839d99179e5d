import { severities } from "../../src/core/finding.ts";
import { count, thousands } from "../../src/core/text/count.ts";
import { cutCharacters } from "../../src/core/text/cut.ts";
import { dollars, duration } from "../../src/report/outcome.ts";
import { plainLine } from "../../src/report/terminal-style.ts";
import { textTable } from "../table.ts";
import type { CaseResult, Settings } from "./case-result.ts";
import { type Figures, figuresOf, type Share } from "./figures.ts";

/** The result of a run. */
export interface Evaluation {
  settings: Settings;
  results: readonly CaseResult[];
  /** Cases without a result, with the reason. */
  failed: readonly { case: string; error: string }[];
}

const columns = [
  ...["case", ">found", ">findings", ">recall", ">precision", ">F1"],
  ...[">requests", ">tokens", ">cost", ">time", "remarks"],
];

/** A readable table. */
export function renderEvaluation(evaluation: Evaluation): string {
  const { settings, results, failed } = evaluation;
  const rows = results.map((one) => [...cells(plainLine(one.case), figuresOf([one])), remarks(one)]);
  const total = figuresOf(results);
  const sections = [
    heading(settings, results.length),
    ...(rows.length === 0
      ? []
      : [
          textTable(columns, [...rows, [...cells("total", total), ""]], [rows.length]),
          shares(total, settings),
          severityTable(total),
          summary(total, settings),
        ]),
    list("Not found", results, (one) => one.found === "missed"),
    list("Found, but reported at another place", results, (one) => one.found === "elsewhere"),
    failures(failed),
    legend(settings),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

/** The same as JSON. */
export function evaluationJson({ settings, results, failed }: Evaluation): string {
  const cases = results.map((one) => ({ ...one, figures: figuresOf([one]) }));
  return `${JSON.stringify({ settings, total: figuresOf(results), cases, failed }, null, 2)}\n`;
}

function heading({ model, effort, judge }: Settings, cases: number): string {
  return [
    count(cases, "case"),
    model ?? "the built-in analyzers alone",
    `effort ${effort ?? "as configured"}`,
    judge === null ? "no judge: findings are matched by their place alone" : `judge ${judge}`,
  ].join(" · ");
}

function cells(name: string, figures: Figures): string[] {
  const { usage } = figures;
  return [
    name,
    figures.known === 0 ? "-" : `${figures.found} of ${figures.known}`,
    String(figures.findings),
    ...[figures.recall?.share, figures.precision?.share, figures.f1].map(percent),
    thousands(usage.requests),
    thousands(usage.prompt_tokens + usage.completion_tokens),
    usage.cost_usd === null ? "?" : dollars(usage.cost_usd),
    duration(figures.duration_ms),
  ];
}

const percent = (share: number | null | undefined) =>
  share === null || share === undefined ? "-" : `${Math.round(share * 100)} %`;

const shareColumns = ["share", ">of", ">%", ">95 % interval"];

/** Each share with its counts and its interval. */
function shares({ recall, precision, truth, usefulness }: Figures, { judge }: Settings): string {
  const row = (name: string, one: Share | null) =>
    one === null
      ? [name, "-", "-", "-"]
      : [
          name,
          `${one.part} of ${one.whole}`,
          percent(one.share),
          `${Math.round(one.low * 100)} to ${percent(one.high)}`,
        ];
  return textTable(shareColumns, [
    row("known issues that were found (recall)", recall),
    row("findings that name a known issue (precision, a lower bound)", precision),
    ...(judge === null
      ? []
      : [
          row("findings that are true, by the judge", truth),
          row("findings that are useful or worth fixing, by the judge", usefulness),
        ]),
  ]);
}

const severityColumns = [
  ...["severity", ">known", ">found", ">findings", ">on lines", ">on files", ">in the summary"],
  ...[">name an issue", ">worth fixing", ">useful", ">noise", ">false", ">unknown"],
];

/** Severities of issues are people's, those of findings the review's. Empty if there are neither. */
function severityTable({ severities: all }: Figures): string {
  const used = severities.filter((severity) => all[severity].known + all[severity].findings > 0);
  const rows = used.map((severity) => {
    const { known, found, findings, channels, verdicts, worths } = all[severity];
    return [
      severity,
      ...[known, found, findings, channels.line, channels.file, channels.summary],
      ...[verdicts.hit + verdicts.duplicate, worths.worth_fixing, worths.useful, worths.noise, worths.false],
      worths.unknown,
    ].map(String);
  });
  return rows.length === 0 ? "" : textTable(severityColumns, rows);
}

function remarks(result: CaseResult): string {
  const { duplicates, acceptable, elsewhere } = figuresOf([result]);
  const { hunks_served, hunks_total } = result.coverage;
  return [
    ...(result.known.length === 0 ? ["clean"] : []),
    ...(elsewhere > 0 ? [`${elsewhere} at another place`] : []),
    ...(duplicates > 0 ? [count(duplicates, "duplicate")] : []),
    ...(acceptable > 0 ? [`${acceptable} acceptable`] : []),
    ...(result.dropped > 0 ? [`${result.dropped} refuted`] : []),
    ...(result.unjudged > 0 ? [`${result.unjudged} not judged`] : []),
    ...(result.stop_reason === "finished" || result.stop_reason === "no_model"
      ? []
      : [`ended by ${result.stop_reason}, ${hunks_served} of ${hunks_total} hunks`]),
  ].join(", ");
}

function summary(total: Figures, { judge }: Settings): string {
  const { judge_usage: judged, channels, worths } = total;
  const cost = judged.cost_usd === null ? "" : `, ${dollars(judged.cost_usd)}`;
  const tokens = thousands(judged.prompt_tokens + judged.completion_tokens);
  return [
    `${total.findings_per_case.toFixed(1)} findings per pull request: ${channels.line} in comments on lines (${total.comments_per_case.toFixed(1)} per pull request), ${channels.file} in comments on files, ${channels.summary} only in the summary.`,
    judge === null
      ? ""
      : `The judge took ${count(judged.requests, "request")}, ${tokens} tokens${cost} more.`,
    total.unjudged === 0
      ? ""
      : `${total.unjudged} answers of the judge could not be read and count as "different".`,
    worths.unknown === 0
      ? ""
      : `The judge could not say whether ${count(worths.unknown, "finding")} ${worths.unknown === 1 ? "is" : "are"} true; the last two shares leave that out.`,
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function list(
  title: string,
  results: readonly CaseResult[],
  wanted: (known: CaseResult["known"][number]) => boolean,
): string {
  const lines = results.flatMap((one) =>
    one.known.filter(wanted).map((known) => `  ${plainLine(`${one.case}  ${nameOf(known)}`)}`),
  );
  return lines.length === 0 ? "" : [`${title}:`, ...lines].join("\n");
}

/** The place of an issue, or the beginning of its description if it has none. */
function nameOf({ file, line, description }: CaseResult["known"][number]): string {
  return file === null || line === null ? cutCharacters(description, 100) : `${file}:${line}`;
}

function failures(failed: Evaluation["failed"]): string {
  if (failed.length === 0) return "";
  const lines = failed.map((one) => `  ${plainLine(`${one.case}  ${one.error}`)}`);
  return ["Without a result, and not in these figures:", ...lines].join("\n");
}

function legend({ judge }: Settings): string {
  return [
    "Precision counts every finding that names no known issue against the review, also a true one, and a second finding about the same issue too.",
    ...(judge === null
      ? ["A finding counts as a hit if it is near a known issue, whatever it says: these figures flatter."]
      : [
          "A finding counts as a hit if the judge takes it for the known issue, wherever it is; its place never counts by itself.",
          "The judge saw the file's diff and the code around the finding, nothing else of the repository, and ran nothing.",
        ]),
    "The intervals are Wilson's, as if findings were independent; those of one pull request are not.",
  ].join("\n");
}
