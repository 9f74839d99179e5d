import { dollars, duration, plural, thousands } from "../../src/reporters/outcome.ts";
import { plainLine } from "../../src/reporters/terminal-style.ts";
import type { CaseResult, Settings } from "./case-result.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { columnsOf, textTable } from "./table.ts";

/** The result of a run. */
export interface Evaluation {
  settings: Settings;
  results: readonly CaseResult[];
  /** Cases without a result, with the reason. */
  failed: readonly { case: string; error: string }[];
}

const columns = columnsOf(
  ...["case", ">found", ">findings", ">recall", ">precision", ">F1"],
  ...[">requests", ">tokens", ">cost", ">time", "remarks"],
);

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
          summary(total, settings),
        ]),
    list("Not found", results, (one) => one.found === "missed"),
    list("Found, but told at another place", results, (one) => one.found === "elsewhere"),
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
    plural(cases, "case"),
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
    ...[figures.recall, figures.precision, figures.f1].map(percent),
    thousands(usage.requests),
    thousands(usage.prompt_tokens + usage.completion_tokens),
    usage.cost_usd === null ? "?" : dollars(usage.cost_usd),
    duration(figures.duration_ms),
  ];
}

const percent = (share: number | null) => (share === null ? "-" : `${Math.round(share * 100)} %`);

function remarks(result: CaseResult): string {
  const { duplicates, acceptable, elsewhere } = figuresOf([result]);
  const { hunks_served, hunks_total } = result.coverage;
  return [
    ...(result.known.length === 0 ? ["clean"] : []),
    ...(elsewhere > 0 ? [`${elsewhere} at another place`] : []),
    ...(duplicates > 0 ? [plural(duplicates, "duplicate")] : []),
    ...(acceptable > 0 ? [`${acceptable} acceptable`] : []),
    ...(result.dropped > 0 ? [`${result.dropped} refuted`] : []),
    ...(result.unjudged > 0 ? [`${result.unjudged} not judged`] : []),
    ...(result.stop_reason === "finished" || result.stop_reason === "no_model"
      ? []
      : [`ended by ${result.stop_reason}, ${hunks_served} of ${hunks_total} hunks`]),
  ].join(", ");
}

function summary(total: Figures, { judge }: Settings): string {
  const { judge_usage: judged } = total;
  const cost = judged.cost_usd === null ? "" : `, ${dollars(judged.cost_usd)}`;
  const tokens = thousands(judged.prompt_tokens + judged.completion_tokens);
  return [
    `Recall ${percent(total.recall)}, precision ${percent(total.precision)}, F1 ${percent(total.f1)}, ${total.findings_per_case.toFixed(1)} findings per pull request.`,
    judge === null
      ? ""
      : `The judge took ${plural(judged.requests, "request")}, ${tokens} tokens${cost} more.`,
    total.unjudged === 0
      ? ""
      : `${total.unjudged} answers of the judge could not be read and count as "different".`,
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
    one.known.filter(wanted).map(({ file, line }) => `  ${plainLine(`${one.case}  ${file}:${line}`)}`),
  );
  return lines.length === 0 ? "" : [`${title}:`, ...lines].join("\n");
}

function failures(failed: Evaluation["failed"]): string {
  if (failed.length === 0) return "";
  const lines = failed.map((one) => `  ${plainLine(`${one.case}  ${one.error}`)}`);
  return ["Without a result, and not in these figures:", ...lines].join("\n");
}

function legend({ judge }: Settings): string {
  return [
    "Precision counts every finding that names no known issue against the review, also a true one, and a second telling too.",
    judge === null
      ? "A finding counts as a hit when it stands near a known issue, whatever it says: these figures flatter."
      : "A finding counts as a hit when the judge takes it for the known issue, wherever it stands; its place alone never counts.",
  ].join("\n");
}
