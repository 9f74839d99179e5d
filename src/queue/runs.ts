import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { Database } from "./database.ts";
import { type JobState, Task } from "./job.ts";
import { readPostgresDatabase } from "./postgres-database.ts";
import { readSqliteDatabase } from "./sqlite-database.ts";
import type { DatabaseLocation } from "./stores.ts";

/** A job about a pull request, as it stands in the queue. Times are milliseconds since 1970. */
export interface StoredRun {
  /** Grows from run to run. */
  seq: number;
  id: string;
  task: Task;
  state: JobState;
  /** Null until it has ended. */
  outcome: string | null;
  /** Why it ended so, or waits once more. */
  reason: string | null;
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

/** One thing on a run's record. `claim` tells which of the run's attempts wrote it: each has a higher one. */
export interface RecordedEntry {
  at: number;
  claim: number;
  entry: TrajectoryEntry;
}

/** Reads what is on record of runs. Nothing here changes anything. */
interface Runs {
  /** The newest runs about pull requests that were stored before this `seq`, newest first. */
  before(seq: number, limit: number): Promise<StoredRun[]>;
  /** Those whose id begins like this: two at most. */
  named(prefix: string): Promise<StoredRun[]>;
  /** All that is on record of one, oldest first. */
  entries(id: string): Promise<RecordedEntry[]>;
  /** Of that what a model answered and what attempts came to: what its figures are made of. */
  turnsAndResults(id: string): Promise<RecordedEntry[]>;
}

const columns = "seq, id, task, state, outcome, reason, attempts, created_at, started_at, ended_at";
/** What is about no repository looks after the App itself. */
const before = `SELECT ${columns} FROM job WHERE repository IS NOT NULL AND seq < :seq ORDER BY seq DESC LIMIT :limit`;
const named = `SELECT ${columns} FROM job WHERE repository IS NOT NULL AND id LIKE :pattern ORDER BY seq DESC LIMIT 2`;
const ofJob = "SELECT fence, entry, created_at FROM trajectory WHERE job_id = :id";
const entries = `${ofJob} ORDER BY number`;
// As it is written, an entry begins with its kind. What was read is the most of a record, and is left where it is.
const turnsAndResults = `${ofJob} AND (entry LIKE '{"kind":"turn",%' OR entry LIKE '{"kind":"result",%') ORDER BY number`;

const RunRow = z.object({
  seq: z.int(),
  id: z.string(),
  task: z.string(),
  state: z.enum(["waiting", "active", "done", "failed"]),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  attempts: z.int(),
  created_at: z.int(),
  started_at: z.int().nullable(),
  ended_at: z.int().nullable(),
});
const EntryRow = z.object({ fence: z.int(), entry: z.string(), created_at: z.int() });

/** Reads the records beside the queue. */
function createRuns({ run }: Pick<Database, "run">): Runs {
  return {
    async before(seq, limit) {
      return (await run(before, { seq, limit })).rows.flatMap(runOf);
    },
    async named(prefix) {
      if (!/^[0-9a-f-]+$/.test(prefix)) return [];
      return (await run(named, { pattern: `${prefix}%` })).rows.flatMap(runOf);
    },
    async entries(id) {
      return (await run(entries, { id })).rows.map(entryOf);
    },
    async turnsAndResults(id) {
      return (await run(turnsAndResults, { id })).rows.map(entryOf);
    },
  };
}

/** None of a task that another version stored. */
function runOf(raw: unknown): StoredRun[] {
  const {
    task: text,
    created_at: createdAt,
    started_at: startedAt,
    ended_at: endedAt,
    ...row
  } = RunRow.parse(raw);
  const task = Task.safeParse(parsed(text)).data;
  return task ? [{ ...row, task, createdAt, startedAt, endedAt }] : [];
}

function entryOf(raw: unknown): RecordedEntry {
  const { fence, entry, created_at: at } = EntryRow.parse(raw);
  return { at, claim: fence, entry: JSON.parse(entry) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface OpenRuns extends Runs, AsyncDisposable {}

/**
 * Opens what is on record of runs, beside whatever processes work there, and changes nothing: not the schema either.
 * @throws AppError `data_folder_unusable`, `database_unreachable`: also where there is nothing of ours yet.
 */
export async function openRuns({ databaseUrl, dataFolder }: DatabaseLocation): Promise<OpenRuns> {
  const database: Database =
    databaseUrl === null ? readSqliteDatabase(dataFolder) : await readPostgresDatabase(databaseUrl);
  return { ...createRuns(database), [Symbol.asyncDispose]: () => database.close() };
}
