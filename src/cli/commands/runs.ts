import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { readLocalEnv } from "../../config/env.ts";
import { readRunsPlace } from "../../config/server-env.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { redactStrings } from "../../core/secrets/redact.ts";
import { thousands } from "../../core/text/count.ts";
import { escapeUnseen } from "../../core/text/escape-invisible.ts";
import { dollars } from "../../report/outcome.ts";
import { alignedLines, clip, createStyle, plainLine } from "../../report/terminal-style.ts";
import { askedBy, taskName } from "../../server/queue/job.ts";
import { type OpenRuns, openRuns, type RecordedEntry, type StoredRun } from "../../server/queue/runs.ts";
import { lastReview, paidFor, summaryOf } from "../../server/records/run-summary.ts";
import { type CommandContext, type CommandIo, explained, optionText, wholeNumber } from "../command.ts";
import { programVersion, requireWritable, wantsColor, write, writePrivate } from "../output.ts";
import {
  entryLine,
  headerLine,
  localRunIds,
  type RunFile,
  type RunHeader,
  readRunFile,
  runBegan,
  runPath,
} from "../run-record.ts";

const declare = () =>
  explained(new Command("runs"), {
    text: [
      "Lists recorded reviews and fixes of this machine; with a server's environment (an App, or DATABASE_URL and HUNKWISE_DATA_DIR) " +
        "also all of the server's jobs. With ID, prints what one run was asked, read, found, posted and spent, as JSON. Nothing is changed.",
      "A record contains code, and the secrets in that code. They are removed from printed text; an exported record keeps them.",
      "Exit code: 0 success, 2 usage or failure.",
    ],
    examples: [
      ["list the newest runs", "hunkwise runs"],
      ["list the runs of one pull request", "hunkwise runs --repository octo/shop --pull 12"],
      ["show one run", "hunkwise runs 20261122-1953"],
      ["write the complete record of a run", "hunkwise runs 20261122-1953 --export run.jsonl"],
    ],
  })
    .argument("[ID]", "show this run; the first characters of its id are enough")
    .option("--json", "print the list as JSON")
    .option("--export <FILE>", "write the complete record of run ID to this file; - prints it", optionText)
    .option("--repository <NAME>", "list only runs of this repository, owner/name or a folder", optionText)
    .option("--pull <NUMBER>", "list only runs of this pull request", wholeNumber())
    .option("--limit <NUMBER>", "list at most this many", wholeNumber(), 20);

export const runs = (io: CommandContext) =>
  declare().action(async (id, { json = false, export: file, ...filter }) => {
    if (id === undefined && file !== undefined) {
      throw new AppError("usage", "--export needs the ID of a run", {
        remedy: "To list the runs, use hunkwise runs.",
      });
    }
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
  const rows = await redactStrings(await sources.list(filter), plainKeys);
  // A pipe has no width limit for a table.
  const width = stdout.columns || Number.POSITIVE_INFINITY;
  const text = isJson ? asJson(rows) : renderRuns(rows, { color: wantsColor(stdout), width });
  await write(stdout, text);
}

/** With every turn and call. */
async function show({ row, header, entries }: WholeRun, { stdout }: CommandIo): Promise<void> {
  const summary = summaryOf(entries, Date.parse(header.began_at));
  const shown = { run: row, version: header.version, ...summary };
  await write(stdout, asJson(await redactStrings(shown, plainKeys)));
}

const asJson = (value: unknown) => `${escapeUnseen(JSON.stringify(value, null, 2))}\n`;

/** Keys of printed JSON whose values are left as they are: ids, times and object names look random. */
const plainKeys: ReadonlySet<string> = new Set("id began_at ended_at kind head base merge_base".split(" "));

/** Writes the record unchanged. */
async function exportRun(sources: RunSources, id: string, file: string, io: CommandIo): Promise<void> {
  const isPrinted = file === "-";
  if (!isPrinted) await requireWritable(file);
  const { header, entries } = await sources.find(id);
  const text = [headerLine(header), ...entries.map(entryLine)].join("");
  if (isPrinted) return await write(io.stdout, text);
  await writePrivate(file, text);
  await write(io.stderr, `written to ${file}\n`);
}

interface Column {
  name: string;
  /** Aligned to the right, and left out if no run has one. */
  isNumber?: true;
  cell(row: RunRow): string;
}

const number = (value: number | null) => (value === null ? "" : thousands(value));

/** Characters of a server run's id; this many distinguish runs. */
const ID_CHARACTERS = 13;
const alarming = new Set(["failed", "unreadable"]);

/** What a run is about comes last, because it may be too long for the terminal. */
const tableColumns: readonly Column[] = [
  { name: "RUN", cell: ({ id, source }) => (source === "local" ? id : id.slice(0, ID_CHARACTERS)) },
  { name: "BEGAN (UTC)", cell: (row) => row.began_at.slice(0, 16).replace("T", " ") },
  { name: "TASK", cell: (row) => plainLine(row.task) },
  { name: "ENDED", cell: (row) => row.state },
  { name: "FOUND", isNumber: true, cell: (row) => number(row.findings) },
  { name: "TOKENS", isNumber: true, cell: (row) => number(row.tokens) },
  { name: "COST", isNumber: true, cell: (row) => (row.cost_usd === null ? "" : dollars(row.cost_usd)) },
  {
    name: "OF",
    cell: ({ pull, range, repository }) =>
      plainLine(pull === null ? (range ?? repository) : `${repository}#${pull}`),
  },
];

/** Runs as a table for people at a terminal. */
export function renderRuns(
  rows: readonly RunRow[],
  { color, width }: { color: boolean; width: number },
): string {
  if (rows.length === 0) return "No run is on record.\n";
  const style = createStyle(color, width);
  const shown = tableColumns.filter(
    ({ isNumber, cell }) => !isNumber || rows.some((row) => cell(row) !== ""),
  );
  const cells = rows.map((row) => shown.map(({ cell }) => cell(row)));
  const table = alignedLines([shown.map(({ name }) => name), ...cells], (at) => shown[at]?.isNumber === true);
  const [head = "", ...lines] = table.map((line) => clip(line, width));
  const painted = lines.map((line, at) => (alarming.has(rows[at]?.state ?? "") ? style.alarm(line) : line));
  return `${[style.dim(head), ...painted].join("\n")}\n`;
}

/** Figures of a run. Snake case: `--json` prints them. */
interface RunFigures {
  /** Of its last review; null if none has a result. */
  findings: number | null;
  /** Of all its model turns, also those of failed attempts; null if no model was asked. */
  tokens: number | null;
  /** In dollars; null also if a price is not known. */
  cost_usd: number | null;
}

/** @param entries the record of a run, or only its turns and results */
export function figuresOf(entries: readonly RecordedEntry[]): RunFigures {
  const all = entries.map(({ entry }) => entry);
  const paid = paidFor(all);
  return {
    findings: lastReview(all)?.findings.length ?? null,
    tokens: paid.turns === 0 ? null : paid.tokens,
    cost_usd: paid.turns === 0 ? null : paid.cost_usd,
  };
}

/** A run as the list shows it. Snake case: `--json` prints it. */
export interface RunRow extends RunFigures {
  id: string;
  source: "server" | "local";
  /** "review", "ask", "fix" ... */
  task: string;
  /** Who requested it on GitHub; null for an event and for a local run. */
  requested_by: string | null;
  repository: string;
  pull: number | null;
  range: string | null;
  /** ISO 8601; for a server's task, its arrival. */
  began_at: string;
  ended_at: string | null;
  /** waiting, running, done, skipped, superseded, failed; unfinished: interrupted, or still running; unreadable: its file is no record. */
  state: string;
  reason: string | null;
}

interface RunFilter {
  repository?: string | undefined;
  pull?: number | undefined;
  limit: number;
}

/** A whole run. */
interface WholeRun extends RunFile {
  row: RunRow;
}

type RunSources = Awaited<ReturnType<typeof openRunSources>>;

/** The records of runs: the folder of local ones, and the database if this environment is that of a server. */
async function openRunSources() {
  const folder = readLocalEnv().runsFolder;
  const place = readRunsPlace();
  const server = place && (await openRuns(place));
  return {
    async list(filter: RunFilter): Promise<RunRow[]> {
      const rows = [
        ...(await localRows(folder, filter)),
        ...(server ? await serverRows(server, filter) : []),
      ];
      return rows.toSorted((a, b) => (a.began_at < b.began_at ? 1 : -1)).slice(0, filter.limit);
    },
    /** @throws AppError `usage` if no run or several runs have such an id. */
    async find(id: string): Promise<WholeRun> {
      const locals = folder === null ? [] : (await localRunIds(folder)).filter((one) => one.startsWith(id));
      const stored = (await server?.named(id.toLowerCase())) ?? [];
      if (id === "" || locals.length + stored.length !== 1) throw notOne(id, locals.length + stored.length);
      const [run] = stored;
      if (server && run) return wholeStored(run, await server.entries(run.id));
      const local = await readRunFile(runPath(folder ?? "", locals[0] ?? ""));
      return { ...local, row: rowOf(local) };
    },
    async [Symbol.asyncDispose]() {
      await server?.[Symbol.asyncDispose]();
    },
  };
}

function notOne(id: string, count: number): AppError {
  const what = count === 0 ? "no run has an id that begins" : "several runs have ids that begin";
  return new AppError("usage", `${what} with '${id}'`, {
    remedy: count === 0 ? "To list the runs on record, use hunkwise runs." : "Use more characters of the id.",
  });
}

const fits = (row: Pick<RunRow, "repository" | "pull">, { repository, pull }: RunFilter) =>
  (repository === undefined ||
    row.repository.toLowerCase() === repository.toLowerCase() ||
    row.repository === resolve(repository)) &&
  (pull === undefined || row.pull === pull);

async function localRows(folder: string | null, filter: RunFilter): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  for (const id of folder === null ? [] : await localRunIds(folder)) {
    if (rows.length === filter.limit) break;
    const path = runPath(folder ?? "", id);
    const row = await readRunFile(path).then(
      (run) => rowOf(run),
      // A new review may have deleted it meanwhile.
      (error: unknown) => (existsSync(path) ? unreadableRow(id, errorLine(error)) : null),
    );
    if (row !== null && fits(row, filter)) rows.push(row);
  }
  return rows;
}

/** Listed, because damaging a record must not hide it. */
const unreadableRow = (id: string, reason: string): RunRow => ({
  id,
  source: "local",
  task: "",
  requested_by: null,
  repository: "",
  pull: null,
  range: null,
  began_at: isoTime(runBegan(id)),
  ended_at: null,
  state: "unreadable",
  reason,
  ...figuresOf([]),
});

/** @param state of a run that has not ended */
function rowOf({ header, entries }: RunFile, state = "unfinished"): RunRow {
  const { kind, format, version, ...about } = header;
  const last = entries.at(-1);
  const end = last?.entry.kind === "ended" ? last.entry : null;
  return {
    ...about,
    ended_at: end && last ? isoTime(last.at) : null,
    state: end?.outcome ?? state,
    reason: end?.reason || null,
    ...figuresOf(entries),
  };
}

/** Rows to fetch at a time. */
const PAGE = 100;

async function serverRows(server: OpenRuns, filter: RunFilter): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  let seq = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const page = await server.before(seq, PAGE);
    for (const run of page) {
      if (!fits(headerOf(run), filter)) continue;
      rows.push(wholeStored(run, await server.turnsAndResults(run.id)).row);
      if (rows.length === filter.limit) return rows;
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return rows;
    seq = last.seq;
  }
}

/** @param recorded its entries, or only its turns and results */
function wholeStored(run: StoredRun, recorded: readonly RecordedEntry[]): WholeRun {
  const file = { header: headerOf(run), entries: [...recorded, ...endOf(run)] };
  const state = run.state === "active" ? "running" : run.state;
  return { ...file, row: { ...rowOf(file, state), reason: run.reason } };
}

/** The queue knows how a job ended; a record has this in its last entry. */
function endOf({ outcome, reason, endedAt, attempts }: StoredRun): RecordedEntry[] {
  if (outcome === null || endedAt === null) return [];
  return [{ at: endedAt, claim: attempts, entry: { kind: "ended", outcome, reason: reason ?? "" } }];
}

function headerOf({ id, task, createdAt }: StoredRun): RunHeader {
  const repository = "repository" in task ? `${task.repository.owner}/${task.repository.name}` : "";
  return {
    kind: "record",
    format: 1,
    version: programVersion(),
    id,
    source: "server",
    task: taskName(task),
    requested_by: askedBy(task),
    repository,
    pull: "pull" in task ? task.pull : null,
    range: null,
    began_at: isoTime(createdAt),
  };
}

const isoTime = (at: number) => new Date(at).toISOString();
