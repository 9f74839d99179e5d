import { readFile } from "node:fs/promises";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { readLocalEnv } from "../config/env.ts";
import { readRunsPlace } from "../config/runs-place.ts";
import { AppError } from "../errors.ts";
import type { Task } from "../queue/job.ts";
import { type OpenRuns, openRuns } from "../queue/open-runs.ts";
import type { RecordedEntry, StoredRun } from "../queue/runs.ts";
import { ReviewResult } from "../review/review-result.ts";
import { localRunIds, runPath } from "./local-runs.ts";
import { parseRunFile, type RunFile, type RunHeader } from "./run-file.ts";
import { programVersion } from "./version.ts";

/** A run as the list shows it. Snake case: `--format json` prints it. */
export interface RunRow {
  id: string;
  source: "server" | "local";
  task: string;
  repository: string;
  pull: number | null;
  range: string | null;
  /** ISO 8601; of a server's task, when it came. */
  began_at: string;
  ended_at: string | null;
  /** waiting, running, done, skipped, superseded, failed; unfinished: cut off, or under way on this machine. */
  state: string;
  reason: string | null;
  /** Null where no review came to a result. */
  findings: number | null;
  tokens: number | null;
  cost_usd: number | null;
}

export interface RunFilter {
  repository: string | undefined;
  pull: number | undefined;
  limit: number;
}

/** Everything of one run. */
export interface WholeRun extends RunFile {
  row: RunRow;
}

/** Where runs are on record: the folder of local ones, and a server's database where this environment is that of one. */
export interface RunSources extends AsyncDisposable {
  list(filter: RunFilter): Promise<RunRow[]>;
  /** @throws AppError `usage` where no run has such an id, or several have. */
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
    remedy: count === 0 ? "See hunkwise runs for those on record." : "Name more of it.",
  });
}

const fits = (row: Pick<RunRow, "repository" | "pull">, { repository, pull }: RunFilter) =>
  (repository === undefined || row.repository.toLowerCase() === repository.toLowerCase()) &&
  (pull === undefined || row.pull === pull);

async function localRows(folder: string | null, filter: RunFilter): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  if (folder === null) return rows;
  for (const id of await localRunIds(folder)) {
    if (rows.length === filter.limit) break;
    // Deleted meanwhile by a review that began, or none of ours: neither keeps the others from being listed.
    const row = await wholeLocal(folder, id).then(
      (whole) => whole.row,
      () => null,
    );
    if (row && fits(row, filter)) rows.push(row);
  }
  return rows;
}

async function wholeLocal(folder: string, id: string): Promise<WholeRun> {
  const path = runPath(folder, id);
  const { header, entries } = parseRunFile(await readFile(path, "utf8"), path);
  const last = entries.at(-1);
  const end = last?.entry.kind === "ended" ? last.entry : null;
  const row = {
    ...aboutOf(header),
    ended_at: end && last ? isoTime(last.at) : null,
    state: end?.outcome ?? "unfinished",
    reason: end?.reason ?? null,
    ...figuresOf(entries.findLast(({ entry }) => entry.kind === "result")?.entry),
  };
  return { row, header, entries };
}

/** So many are asked for at a time where few of them may fit. */
const PAGE = 100;

async function serverRows(server: OpenRuns, filter: RunFilter): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  let seq = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const page = await server.before(seq, PAGE);
    for (const run of page) {
      if (!fits(headerOf(run), filter)) continue;
      rows.push(rowOf(run, (await server.result(run.id))?.entry));
      if (rows.length === filter.limit) return rows;
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return rows;
    seq = last.seq;
  }
}

async function wholeStored(server: OpenRuns, run: StoredRun): Promise<WholeRun> {
  const recorded = await server.entries(run.id);
  const result = recorded.findLast(({ entry }) => entry.kind === "result")?.entry;
  return { row: rowOf(run, result), header: headerOf(run), entries: [...recorded, ...endOf(run)] };
}

/** Of an ended job the queue knows how it ended; a record that stands by itself says so at its end. */
function endOf({ outcome, reason, endedAt, attempts }: StoredRun): RecordedEntry[] {
  if (outcome === null || endedAt === null) return [];
  return [{ at: endedAt, claim: attempts, entry: { kind: "ended", outcome, reason: reason ?? "" } }];
}

function rowOf(run: StoredRun, result: TrajectoryEntry | undefined): RunRow {
  return {
    ...aboutOf(headerOf(run)),
    ended_at: run.endedAt === null ? null : isoTime(run.endedAt),
    state: run.outcome ?? (run.state === "active" ? "running" : run.state),
    reason: run.reason,
    ...figuresOf(result),
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
      repository,
    },
    ...{ pull: "pull" in task ? task.pull : null, range: null, began_at: isoTime(createdAt) },
  };
}

function aboutOf({ id, source, task, repository, pull, range, began_at }: RunHeader) {
  return { id, source, task, repository, pull, range, began_at };
}

function taskName(task: Task): string {
  if (task.kind === "command") return task.command.name;
  if (task.kind === "review" && task.mode === "dry_run") return "dry run";
  return task.kind.replaceAll("_", " ");
}

function figuresOf(entry: TrajectoryEntry | undefined): Pick<RunRow, "findings" | "tokens" | "cost_usd"> {
  const result = entry?.kind === "result" ? ReviewResult.safeParse(entry.result).data : undefined;
  if (!result) return { findings: null, tokens: null, cost_usd: null };
  const { prompt_tokens, completion_tokens, cost_usd } = result.usage;
  return { findings: result.findings.length, tokens: prompt_tokens + completion_tokens, cost_usd };
}

const isoTime = (at: number) => new Date(at).toISOString();
