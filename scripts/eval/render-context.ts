import { count, thousands } from "../../src/core/text/count.ts";
import { plainLine } from "../../src/report/terminal-style.ts";
import { markdownTable, textTable } from "../table.ts";
import type { CallerCount, Share } from "./needed-lines.ts";
import type { ContextResult, ContextRow } from "./run-context.ts";

const columns = [
  ...["case", ">needed lines", "shown", ">units", ">characters", ">of them diff", ">code around it"],
  ...[">callers", ">false", ">ms"],
];

/** Whether all needed lines are shown; "-" if none are needed. */
export function shownWord({
  needed,
  shown,
}: Pick<ContextRow, "needed" | "shown">): "yes" | "part" | "no" | "-" {
  if (needed === 0) return "-";
  if (shown === needed) return "yes";
  return shown > 0 ? "part" : "no";
}

/** Number of cases with needed lines that are all shown. */
export function wholeCases(rows: readonly ContextRow[]): number {
  return rows.filter((row) => shownWord(row) === "yes").length;
}

/** For a terminal, with the missing lines. */
export function renderContext({ rows, failed }: ContextResult): string {
  const missing = rows.flatMap((row) =>
    row.missing.map(({ file, lines, at }) =>
      plainLine(`  ${row.case}  ${file}:${lines.join(",")}${at === "head" ? "" : " at merge_base"}`),
    ),
  );
  const unjudged = rows.flatMap((row) =>
    row.unjudged.map(({ file, start, name }) => plainLine(`  ${row.case}  ${file}:${start} uses ${name}`)),
  );
  const faults = failed.map((one) => plainLine(`  ${one.case}  ${one.error}`));
  const sections = [
    textTable(columns, [...rows.map(cells), totalCells(rows)], [rows.length]),
    sentence(rows),
    kindsSentence(rows),
    missing.length === 0 ? "" : ["Not shown:", ...missing].join("\n"),
    unjudged.length === 0 ? "" : ["Callers that nobody has judged:", ...unjudged].join("\n"),
    faults.length === 0 ? "" : ["Not measured:", ...faults].join("\n"),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

/** For a document: only names and figures, no code of the cases. */
export function contextMarkdown({ rows, failed }: ContextResult): string {
  const table = markdownTable(columns, [...rows.map(cells), totalCells(rows)]);
  const unmeasured =
    failed.length === 0 ? "" : `\nNot measured: ${failed.map((one) => one.case).join(", ")}.\n`;
  const sentences = [sentence(rows), kindsSentence(rows)].filter((one) => one !== "");
  return `${table}\n\n${sentences.join("\n")}\n${unmeasured}`;
}

/** A star if only the lines of the issue itself are known. */
function cells(row: ContextRow): string[] {
  const unnamed = row.needed > 0 && !row.namesContext ? "*" : "";
  return [
    plainLine(row.case),
    row.needed === 0 ? "-" : `${row.shown} of ${row.needed}`,
    `${shownWord(row)}${unnamed}`,
    String(row.units),
    ...[row.characters, row.diffCharacters, row.contextCharacters].map(thousands),
    ...callerCells(row),
    thousands(Math.round(row.milliseconds)),
  ];
}

/** A question mark if some of them are not judged. */
const callerCells = ({ callers, falseCallers, unjudged }: CallerCount) => [
  String(callers),
  `${falseCallers}${unjudged.length > 0 ? "?" : ""}`,
];

function totalCells(rows: readonly ContextRow[]): string[] {
  const sum = (pick: (row: ContextRow) => number) => rows.reduce((total, row) => total + pick(row), 0);
  return [
    "total",
    `${sum((row) => row.shown)} of ${sum((row) => row.needed)}`,
    `${wholeCases(rows)} of ${rows.filter((row) => row.needed > 0).length}`,
    String(sum((row) => row.units)),
    thousands(sum((row) => row.characters)),
    thousands(sum((row) => row.diffCharacters)),
    thousands(sum((row) => row.contextCharacters)),
    ...callerCells({
      callers: sum((row) => row.callers),
      falseCallers: sum((row) => row.falseCallers),
      unjudged: rows.flatMap((row) => row.unjudged),
    }),
    thousands(Math.round(sum((row) => row.milliseconds))),
  ];
}

function sentence(rows: readonly ContextRow[]): string {
  const needing = rows.filter((row) => row.needed > 0);
  const clean = rows.length - needing.length;
  const unnamed = needing.filter((row) => !row.namesContext).length;
  return [
    `Everything needed is shown in ${wholeCases(rows)} of ${count(needing.length, "case")} with known issues.`,
    clean === 0 ? "" : `${count(clean, "clean case")} ${clean === 1 ? "needs" : "need"} nothing.`,
    unnamed === 0
      ? ""
      : `(*) Of ${unnamed} only the lines of the issue itself are recorded, not what decides it.`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

/** "At least 60 % of the lines are shown of 3 of 4 wanted entries (base 1 of 2, twin 2 of 2)."; empty without entries of a kind. */
function kindsSentence(rows: readonly ContextRow[]): string {
  const byKind = Map.groupBy(
    rows.flatMap(({ kinds }) => Object.entries(kinds)),
    ([kind]) => kind,
  );
  if (byKind.size === 0) return "";
  const of = (shares: readonly [string, Share][]) =>
    `${shares.reduce((sum, [, { shown }]) => sum + shown, 0)} of ${shares.reduce((sum, [, { wanted }]) => sum + wanted, 0)}`;
  const kinds = [...byKind].map(([kind, shares]) => plainLine(`${kind} ${of(shares)}`));
  return `At least 60 % of the lines are shown of ${of([...byKind.values()].flat())} wanted entries (${kinds.join(", ")}).`;
}
