import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { TrajectoryEntry } from "../agent/record/trajectory.ts";
import { AppError, errorLine } from "../core/errors.ts";
import { withoutSecrets } from "../core/secrets/redact.ts";
import type { RecordedEntry } from "../server/queue/runs.ts";
import { openPrivate, programVersion } from "./output.ts";

/*
 * The record of a run: a file with one JSON object per line. The first one is a header. A local review, `--trajectory` and
 * `runs --export` write the same format.
 */

/** The first line. Snake case: it leaves the process. */
export const RunHeader = z.object({
  kind: z.literal("record"),
  format: z.literal(1),
  /** Of Hunkwise. */
  version: z.string(),
  id: z.string(),
  /** local: of a range on this machine. */
  source: z.enum(["server", "local"]),
  /** "review", or another request: "ask", "fix". */
  task: z.string(),
  /** Who requested it on GitHub; null for an event and for a local run. */
  requested_by: z.string().nullable(),
  /** "owner/name", or the folder of a local one. */
  repository: z.string(),
  pull: z.int().nullable(),
  /** The local range as given: "main...topic". */
  range: z.string().nullable(),
  /** ISO 8601. */
  began_at: z.iso.datetime(),
});
export type RunHeader = z.infer<typeof RunHeader>;

export interface RunFile {
  header: RunHeader;
  entries: RecordedEntry[];
}

export const headerLine = (header: RunHeader): string => `${JSON.stringify(header)}\n`;

/** `at` in milliseconds since 1970. */
export function entryLine({ at, claim, entry }: RecordedEntry): string {
  return `${JSON.stringify({ ...entry, at, claim })}\n`;
}

/** Reads a record. Ignores an incomplete last line, of a killed run. Rejects with `usage`, naming an invalid line. */
export async function readRunFile(path: string): Promise<RunFile> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new AppError("usage", `the record cannot be read: ${errorLine(error)}`, { cause: error });
  });
  // Every line ends with a line feed; text after the last one was cut off.
  const [first = "", ...rest] = text.split("\n").slice(0, -1);
  const header = lineOf(first, path, 1, (value) => RunHeader.parse(value));
  const entries = rest.map((line, index) => lineOf(line, path, index + 2, parseEntry));
  return { header, entries };
}

function lineOf<T>(line: string, path: string, number: number, parse: (value: unknown) => T): T {
  try {
    return parse(JSON.parse(line));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error).split("\n").join(" ") : errorLine(error);
    throw new AppError("usage", `${path}:${number} is not a valid line of a record: ${why}`, {
      remedy: "The file is damaged: delete it.",
    });
  }
}

/** The last date of JavaScript. */
const LATEST = 8.64e15;
const Stamped = z.looseObject({ kind: z.string(), at: z.int().min(0).max(LATEST), claim: z.int() });

/** Checks only the fields that every entry has, because only this user can write a record. Throws a ZodError. */
function parseEntry(value: unknown): RecordedEntry {
  const { at, claim, ...entry } = Stamped.parse(value);
  return { at, claim, entry: entry as unknown as TrajectoryEntry };
}

/** The places for the record of a local review. */
export interface RecordPlaces {
  /** The repository, whose folder the record names. */
  repository: string;
  /** The folder of all records; null if there is no place for them, undefined if no record is wanted. */
  folder: string | null | undefined;
  /** How long records are kept there. */
  keepMs: number;
  /** A Logseq graph that stores notes; if omitted or null, none are stored. */
  logseqDir?: string | null;
  /** A file named by the user. */
  file?: string | undefined;
}

/** Runs `work` and records how it ended: `ended` describes the result. */
export async function onRecord<Result>(
  record: RunRecord,
  work: () => Promise<Result>,
  ended: (result: Result) => string,
): Promise<Result> {
  try {
    const result = await work();
    await record.append({ kind: "ended", outcome: "done", reason: ended(result) });
    return result;
  } catch (error) {
    await record.append({ kind: "ended", outcome: "failed", reason: withoutSecrets(errorLine(error)) });
    throw error;
  }
}

/** The record of a running run, which ends with it. */
export interface RunRecord extends AsyncDisposable {
  /** Resolves when the entry is written; in a file named by the user, durably. */
  append(entry: TrajectoryEntry): Promise<void>;
}

/** Begins a record. Only warns if the folder of records cannot be written; rejects with `usage` if the named file cannot. */
export async function openRunRecord(
  { repository, folder, keepMs, file }: RecordPlaces,
  range: string,
  {
    task = "review",
    now = () => new Date(),
    warn,
  }: { task?: string; now?: () => Date; warn?: ((text: string) => void) | undefined } = {},
): Promise<RunRecord> {
  const began = now();
  const id = newRunId(began);
  const header: RunHeader = {
    kind: "record",
    format: 1,
    version: programVersion(),
    id,
    source: "local",
    task,
    requested_by: null,
    repository: resolve(repository),
    pull: null,
    range,
    began_at: began.toISOString(),
  };
  const named = file === undefined ? null : await openPrivate(file);
  let kept: FileHandle | null = null;
  const notKept = (why: string) =>
    warn?.(`no record of this run is kept: ${why}. Set HUNKWISE_DATA_DIR to a folder that you can write to.`);
  if (folder === null) notKept("there is no home folder");
  const keep = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch {
      // The folder is read-only or full. A partial record could pass for a complete one, so nothing is written after a gap.
      await kept?.close().catch(() => {});
      kept = null;
      notKept(`${dirname(folder ?? "")} cannot be written`);
    }
  };
  const write = async (line: string) => {
    await keep(async () => kept?.appendFile(line));
    await named?.appendFile(line);
    await named?.datasync();
  };
  await keep(async () => {
    if (!folder) return;
    await prepareRunsFolder(folder, keepMs, began);
    // Appending never overwrites an existing record.
    kept = await open(runPath(folder, id), "ax", 0o600);
  });
  await write(headerLine(header));
  return {
    append: (entry) => write(entryLine({ at: now().getTime(), claim: 1, entry })),
    async [Symbol.asyncDispose]() {
      await keep(async () => kept?.close());
      await named?.close();
    },
  };
}

/** At most this many records of local reviews are kept: some hundred megabytes. */
const MOST_RUNS = 500;

const name = /^(\d{8}-\d{6}-[0-9a-f]{6})\.jsonl$/;

/** An id that sorts by time: "20261122-195306-1f0c3a", in UTC. */
export function newRunId(now: Date): string {
  const [day = "", time = ""] = now.toISOString().split(/[T.]/);
  return `${day.replaceAll("-", "")}-${time.replaceAll(":", "")}-${randomBytes(3).toString("hex")}`;
}

/** When a run with such an id began, to the second: milliseconds since 1970. */
export function runBegan(id: string): number {
  const [, year, month, day, hour, minute, second] = /^(....)(..)(..)-(..)(..)(..)/.exec(id) ?? [];
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? 0 : at;
}

export const runPath = (folder: string, id: string): string => join(folder, `${id}.jsonl`);

/** Ids of the records in a folder, newest first; none if there is no such folder. */
export async function localRunIds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .flatMap((one) => name.exec(one)?.[1] ?? [])
    .sort()
    .reverse();
}

/** Makes the folder, which only this user may read because it holds code. Deletes records that are older than `keepMs` or too many. */
export async function prepareRunsFolder(folder: string, keepMs: number, now: Date): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const oldest = newRunId(new Date(now.getTime() - keepMs)).slice(0, -6);
  const ids = await localRunIds(folder);
  const doomed = ids.filter((id, index) => id < oldest || index >= MOST_RUNS - 1);
  for (const id of doomed) await rm(runPath(folder, id), { force: true });
}
