import { z } from "zod";
import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import { type Run, readRows } from "./database.ts";
import { parseTask, type Task } from "./job.ts";
import { openReader } from "./reader.ts";
import type { DatabaseLocation } from "./stores.ts";

/** One entry of a run's trajectory. `claim` grows with each attempt. */
export interface RecordedEntry {
  at: number;
  claim: number;
  entry: TrajectoryEntry;
}

export type OpenRuns = Awaited<ReturnType<typeof openRuns>>;

const columns = `seq, id, task, state, outcome, reason, attempts, created_at AS "createdAt", started_at AS "startedAt",
  ended_at AS "endedAt"`;
// Jobs without a repository maintain the App itself.
const before = `SELECT ${columns} FROM job WHERE repository IS NOT NULL AND seq < :seq ORDER BY seq DESC LIMIT :limit`;
const named = `SELECT ${columns} FROM job WHERE repository IS NOT NULL AND id LIKE :pattern ORDER BY seq DESC LIMIT 2`;
const ofJob = "SELECT fence, entry, created_at FROM trajectory WHERE job_id = :id";
const entries = `${ofJob} ORDER BY number`;
// Entries are stored with `kind` first. This skips the tool results, which are most of a record.
const turnsAndResults = `${ofJob} AND (entry LIKE '{"kind":"turn",%' OR entry LIKE '{"kind":"result",%') ORDER BY number`;

const RunRow = z.object({
  /** Grows from run to run. */
  seq: z.int(),
  id: z.string(),
  task: z.string(),
  state: z.enum(["waiting", "active", "done", "failed"]),
  /** Null until it has ended. */
  outcome: z.string().nullable(),
  /** Why it ended this way, or waits again. */
  reason: z.string().nullable(),
  attempts: z.int(),
  createdAt: z.int(),
  startedAt: z.int().nullable(),
  endedAt: z.int().nullable(),
});
/** A job about a pull request. Times are milliseconds since 1970. */
export type StoredRun = Omit<z.infer<typeof RunRow>, "task"> & { task: Task };
const EntryRow = z.object({ fence: z.int(), entry: z.string(), created_at: z.int() });

/**
 * Opens the database for reading while other processes use it.
 * @throws AppError `data_folder_unusable`, `database_unreachable`; also if the database does not exist yet.
 */
export async function openRuns(location: DatabaseLocation) {
  const reader = await openReader(location);
  const { run } = reader;
  return {
    /** The newest runs about pull requests that were stored before this `seq`, newest first. */
    before: async (seq: number, limit: number) => (await run(before, { seq, limit })).rows.flatMap(runOf),
    /** Runs whose id starts with `prefix`; at most two. */
    async named(prefix: string): Promise<StoredRun[]> {
      if (!/^[0-9a-f-]+$/.test(prefix)) return [];
      return (await run(named, { pattern: `${prefix}%` })).rows.flatMap(runOf);
    },
    /** The trajectory of a run, oldest first. */
    entries: async (id: string) => (await run(entries, { id })).rows.map(entryOf),
    /** Only the model turns and results, from which a run's figures are computed. */
    turnsAndResults: async (id: string) => (await run(turnsAndResults, { id })).rows.map(entryOf),
    [Symbol.asyncDispose]: () => reader.close(),
  };
}

/** Most entries of each kind that a summary needs, the newest; those of other kinds only serve the next attempt. */
const summaryKinds: Readonly<Record<string, number>> = {
  run: 2,
  result: 3,
  posted: 20,
  wrote: 200,
  note: 100,
};
const loopKinds: ReadonlySet<string> = new Set(["turn", "tool_results", "messages", "stopped"]);
/** Entries are stored with `kind` first. */
const kindOf = ({ begin }: { begin: string }) => /^\{"kind":"(\w+)"/.exec(begin)?.[1] ?? "";
const MOST_ENTRIES = 50_000;
const sizes = `SELECT number, octet_length(entry) AS bytes, substr(entry, 1, 40) AS begin FROM trajectory
  WHERE job_id = :id ORDER BY number LIMIT ${MOST_ENTRIES}`;
const SizeRow = z.object({ number: z.int(), bytes: z.int(), begin: z.string() });
const chosen = `SELECT fence, entry, created_at FROM trajectory
  WHERE number IN (SELECT CAST(key AS BIGINT) FROM json_each(:numbers)) ORDER BY number`;

/**
 * What fits into memory and on a page: the results of a run and what it wrote, then as many entries of loops as fit, from the first; oldest
 * first. `omitted` is the number of other entries of loops.
 * @param mostBytes of JSON, for the results and for the loops each
 */
export async function readRecord(run: Run, id: string, mostBytes: number) {
  const rows = await readRows(run, SizeRow, sizes, { id });
  const byKind = Map.groupBy(rows, kindOf);
  const results = Object.entries(summaryKinds).flatMap(([kind, most]) =>
    (byKind.get(kind) ?? []).slice(-most),
  );
  const loops = rows.filter((row) => loopKinds.has(kindOf(row)));
  const fitting = (list: readonly z.infer<typeof SizeRow>[]) => {
    let left = mostBytes;
    return list.filter(({ bytes }) => {
      left -= bytes;
      return left >= 0;
    });
  };
  const kept = fitting(loops);
  const numbers = [...fitting(results), ...kept].map(({ number }) => [number, 0]);
  const read = await run(chosen, { numbers: JSON.stringify(Object.fromEntries(numbers)) });
  return { entries: read.rows.map(entryOf), omitted: loops.length - kept.length };
}

/** Empty for a task that this version does not know. */
function runOf(raw: unknown): StoredRun[] {
  const row = RunRow.parse(raw);
  const task = parseTask(row.task);
  return task ? [{ ...row, task }] : [];
}

function entryOf(raw: unknown): RecordedEntry {
  const { fence, entry, created_at: at } = EntryRow.parse(raw);
  return { at, claim: fence, entry: JSON.parse(entry) };
}
