import { z } from "zod";
import type { Database } from "./database.ts";
import { Task } from "./job.ts";
import type { RecordedEntry, Runs, StoredRun } from "./runs.ts";

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
export function createRuns({ run }: Pick<Database, "run">): Runs {
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
