import { Command } from "@commander-js/extra-typings";
import { AppError } from "../../errors.ts";
import { dollars, thousands } from "../../reporters/outcome.ts";
import { clip, columns, createStyle, plainLine } from "../../reporters/terminal-style.ts";
import { escapeUnseen } from "../../text/escape-invisible.ts";
import {
  type CommandContext,
  type CommandIo,
  examples,
  optionText,
  paragraphs,
  wholeNumber,
} from "../command.ts";
import { requireWritable, wantsColour, write, writePrivate } from "../output.ts";
import type { RunFilter, RunRow, RunSources, WholeRun } from "../run-sources.ts";

const declare = () =>
  new Command("runs")
    .description(
      paragraphs(
        "Lists recorded reviews and fixes of this machine; with a server's environment (an App, or DATABASE_URL and HUNKWISE_DATA_DIR) " +
          "also all of the server's jobs. With ID, prints what one run was asked, read, found, posted and spent, as JSON. Nothing is changed.",
        "A record contains code, and the secrets in that code. They are removed from printed text; an exported record keeps them.",
        "Exit code: 0 success, 2 usage or failure.",
      ),
    )
    .argument("[ID]", "show this run; the first characters of its id are enough")
    .option("--json", "print the list as JSON")
    .option("--export <FILE>", "write the complete record of run ID to this file; - prints it", optionText)
    .option("--repository <NAME>", "list only runs of this repository, owner/name or a folder", optionText)
    .option("--pull <NUMBER>", "list only runs of this pull request", wholeNumber())
    .option("--limit <NUMBER>", "list at most this many", wholeNumber(), 20)
    .addHelpText(
      "after",
      examples(
        ["list the newest runs", "hunkwise runs"],
        ["list the runs of one pull request", "hunkwise runs --repository octo/shop --pull 12"],
        ["show one run", "hunkwise runs 20261122-1953"],
        ["write the complete record of a run", "hunkwise runs 20261122-1953 --export run.jsonl"],
      ),
    );

export const runs = (io: CommandContext) =>
  declare().action(async (id, { json = false, export: file, ...filter }) => {
    if (id === undefined && file !== undefined) {
      throw new AppError("usage", "--export needs the ID of a run", {
        remedy: "To list the runs, use hunkwise runs.",
      });
    }
    const { openRunSources } = await import("../run-sources.ts");
    await using sources = await openRunSources();
    if (id === undefined) await list(sources, filter, json, io);
    else if (file === undefined) await show(await sources.find(id), io);
    else await exportRun(sources, id, file, io);
  });

async function list(
  sources: RunSources,
  filter: RunFilter,
  isJson: boolean,
  { stdout }: CommandIo,
): Promise<void> {
  const { redactStrings } = await import("../../secrets/redact.ts");
  const rows = await redactStrings(await sources.list(filter), plainKeys);
  // A pipe has no width limit for a table.
  const width = stdout.columns || Number.POSITIVE_INFINITY;
  const text = isJson ? asJson(rows) : renderRuns(rows, { colour: wantsColour(stdout), width });
  await write(stdout, text);
}

/** With every turn and call. */
async function show({ row, header, entries }: WholeRun, { stdout }: CommandIo): Promise<void> {
  const { redactStrings } = await import("../../secrets/redact.ts");
  const { summaryOf } = await import("../../records/run-summary.ts");
  const summary = summaryOf(entries, Date.parse(header.began_at));
  const shown = { run: row, version: header.version, ...summary };
  await write(stdout, asJson(await redactStrings(shown, plainKeys)));
}

const asJson = (value: unknown) => `${escapeUnseen(JSON.stringify(value, null, 2))}\n`;

/** Keys of printed JSON whose values are left as they are: ids, times and object names look random. */
const plainKeys: ReadonlySet<string> = new Set([
  ...["id", "began_at", "ended_at", "kind", "head", "base", "merge_base"],
]);

/** Writes the record unchanged. */
async function exportRun(sources: RunSources, id: string, file: string, io: CommandIo): Promise<void> {
  const isPrinted = file === "-";
  if (!isPrinted) await requireWritable(file);
  const { header, entries } = await sources.find(id);
  const { entryLine, headerLine } = await import("../run-record.ts");
  const text = [headerLine(header), ...entries.map(entryLine)].join("");
  if (isPrinted) return await write(io.stdout, text);
  await writePrivate(file, text);
  await write(io.stderr, `written to ${file}\n`);
}

interface Column {
  name: string;
  /** Numbers are aligned to the right. */
  isNumber?: true;
  cell(row: RunRow): string;
}

const number = (value: number | null) => (value === null ? "" : thousands(value));

/** Characters of a server run's id; this many distinguish runs. */
const ID_CHARACTERS = 13;
const GAP = "  ";

const idOf: Column = {
  name: "RUN",
  cell: ({ id, source }) => (source === "local" ? id : id.slice(0, ID_CHARACTERS)),
};
const began: Column = { name: "BEGAN (UTC)", cell: (row) => row.began_at.slice(0, 16).replace("T", " ") };
const task: Column = { name: "TASK", cell: (row) => plainLine(row.task) };
const of: Column = {
  name: "OF",
  cell: ({ pull, range, repository }) =>
    plainLine(pull === null ? (range ?? repository) : `${repository}#${pull}`),
};
const state: Column = { name: "ENDED", cell: (row) => row.state };
const found: Column = { name: "FOUND", isNumber: true, cell: (row) => number(row.findings) };
const tokens: Column = { name: "TOKENS", isNumber: true, cell: (row) => number(row.tokens) };
const cost: Column = {
  name: "COST",
  isNumber: true,
  cell: (row) => (row.cost_usd === null ? "" : dollars(row.cost_usd)),
};

/** Columns that are omitted on a narrow terminal, first to last; the id of a local run contains its time. */
const dispensable = [began, tokens, cost];
const alarming = new Set(["failed", "unreadable"]);
/** Minimum width of the column OF. */
const LEAST_OF = 16;

/** Runs as a table for people at a terminal. */
export function renderRuns(
  rows: readonly RunRow[],
  { colour, width }: { colour: boolean; width: number },
): string {
  if (rows.length === 0) return "No run is on record.\n";
  const style = createStyle(colour, width);
  const widthOf = (column: Column) =>
    Math.max(column.name.length, ...rows.map((row) => columns(column.cell(row))));
  const shown = [idOf, began, task, of, state, found, tokens, cost].filter(
    (column) => !column.isNumber || rows.some((row) => column.cell(row) !== ""),
  );
  const besideOf = () =>
    shown.reduce((sum, column) => sum + (column === of ? 0 : widthOf(column) + GAP.length), 0);
  for (const column of dispensable) {
    if (besideOf() + Math.min(widthOf(of), LEAST_OF) <= width) break;
    if (shown.includes(column)) shown.splice(shown.indexOf(column), 1);
  }
  const ofWidth = Math.min(widthOf(of), Math.max(LEAST_OF, width - besideOf()));
  const line = (cellOf: (column: Column) => string) =>
    shown
      .map((column) => padded(cellOf(column), column === of ? ofWidth : widthOf(column), column.isNumber))
      .join(GAP)
      .trimEnd();
  const lines = rows.map((row) => {
    const text = line((column) => column.cell(row));
    return alarming.has(row.state) ? style.alarm(text) : text;
  });
  return `${[style.dim(line(({ name }) => name)), ...lines].join("\n")}\n`;
}

function padded(cell: string, width: number, isNumber = false): string {
  const text = clip(cell, width);
  const space = " ".repeat(Math.max(0, width - columns(text)));
  return isNumber ? space + text : text + space;
}
