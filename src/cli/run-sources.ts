import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { readLocalEnv } from "../config/env.ts";
import { readRunsPlace } from "../config/server-env.ts";
import { AppError, errorLine } from "../errors.ts";
import { askedBy, taskName } from "../queue/job.ts";
import { type OpenRuns, openRuns, type RecordedEntry, type StoredRun } from "../queue/runs.ts";
import { lastReview, paidFor } from "../records/run-summary.ts";
import { programVersion } from "./output.ts";
import {
  localRunIds,
  type RunFile,
  type RunHeader,
  readRunFile,
  readRunHeader,
  runBegan,
  runPath,
} from "./run-record.ts";

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
  /**
   * waiting, running, done, skipped, superseded, failed; unfinished: interrupted, or still running on this machine; unreadable: its file is
   * not a valid record, or no longer one.
   */
  state: string;
  reason: string | null;
}

export interface RunFilter {
  repository?: string | undefined;
  pull?: number | undefined;
  limit: number;
}

/** A whole run. */
export interface WholeRun extends RunFile {
  row: RunRow;
}

/** The records of runs: the folder of local ones, and the database if this environment is that of a server. */
export interface RunSources extends AsyncDisposable {
  list(filter: RunFilter): Promise<RunRow[]>;
  /** @throws AppError `usage` if no run or several runs have such an id. */
  find(id: string): Promise<WholeRun>;
}

export async function openRunSources(): Promise<RunSources> {
  const folder = readLocalEnv().runsFolder;
  const place = readRunsPlace();
  const server = place && (await openRuns(place));
  return {
    async list(filter) {
      const rows = [
        ...(await localRows(folder, filter)),
        ...(server ? await serverRows(server, filter) : []),
      ];
      return rows.toSorted((a, b) => (a.began_at < b.began_at ? 1 : -1)).slice(0, filter.limit);
    },
    async find(id) {
      const locals = folder === null ? [] : (await localRunIds(folder)).filter((one) => one.startsWith(id));
      const stored = (await server?.named(id.toLowerCase())) ?? [];
      if (id === "" || locals.length + stored.length !== 1) throw notOne(id, locals.length + stored.length);
      const [run] = stored;
      return server && run ? wholeStored(server, run) : wholeLocal(folder ?? "", locals[0] ?? "");
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
  if (folder === null) return rows;
  for (const id of await localRunIds(folder)) {
    if (rows.length === filter.limit) break;
    rows.push(...(await localRow(folder, id, filter)));
  }
  return rows;
}

/** Empty if it does not match, or if a new review has deleted it meanwhile. */
async function localRow(folder: string, id: string, filter: RunFilter): Promise<RunRow[]> {
  const path = runPath(folder, id);
  try {
    return fits(await readRunHeader(path), filter) ? [rowOfLocal(await readRunFile(path))] : [];
  } catch (error) {
    const unreadable = unreadableRow(id, errorLine(error));
    return existsSync(path) && fits(unreadable, filter) ? [unreadable] : [];
  }
}

/** Listed, because damaging a record must not hide it. */
const unreadableRow = (id: string, reason: string): RunRow => ({
  ...{ id, source: "local", task: "", requested_by: null, repository: "", pull: null, range: null },
  ...{ began_at: isoTime(runBegan(id)), ended_at: null, state: "unreadable", reason },
  ...figuresOf([]),
});

async function wholeLocal(folder: string, id: string): Promise<WholeRun> {
  const run = await readRunFile(runPath(folder, id));
  return { ...run, row: rowOfLocal(run) };
}

function rowOfLocal({ header, entries }: RunFile): RunRow {
  const last = entries.at(-1);
  const end = last?.entry.kind === "ended" ? last.entry : null;
  return {
    ...aboutOf(header),
    ended_at: end && last ? isoTime(last.at) : null,
    state: end?.outcome ?? "unfinished",
    reason: end?.reason ?? null,
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
      rows.push(rowOf(run, await server.turnsAndResults(run.id)));
      if (rows.length === filter.limit) return rows;
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return rows;
    seq = last.seq;
  }
}

async function wholeStored(server: OpenRuns, run: StoredRun): Promise<WholeRun> {
  const recorded = await server.entries(run.id);
  return { row: rowOf(run, recorded), header: headerOf(run), entries: [...recorded, ...endOf(run)] };
}

/** The queue knows how a job ended; an exported record has this in its last entry. */
function endOf({ outcome, reason, endedAt, attempts }: StoredRun): RecordedEntry[] {
  if (outcome === null || endedAt === null) return [];
  return [{ at: endedAt, claim: attempts, entry: { kind: "ended", outcome, reason: reason ?? "" } }];
}

function rowOf(run: StoredRun, recorded: readonly RecordedEntry[]): RunRow {
  return {
    ...aboutOf(headerOf(run)),
    ended_at: run.endedAt === null ? null : isoTime(run.endedAt),
    state: run.outcome ?? (run.state === "active" ? "running" : run.state),
    reason: run.reason,
    ...figuresOf(recorded),
  };
}

function headerOf({ id, task, createdAt }: StoredRun): RunHeader {
  const repository = "repository" in task ? `${task.repository.owner}/${task.repository.name}` : "";
  return {
    ...{
      kind: "record",
      format: 1,
      version: programVersion(),
      id,
      source: "server",
      task: taskName(task),
      requested_by: askedBy(task),
      repository,
    },
    ...{ pull: "pull" in task ? task.pull : null, range: null, began_at: isoTime(createdAt) },
  };
}

function aboutOf({ id, source, task, requested_by, repository, pull, range, began_at }: RunHeader) {
  return { id, source, task, requested_by, repository, pull, range, began_at };
}

const isoTime = (at: number) => new Date(at).toISOString();
