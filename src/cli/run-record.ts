import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, errorLine } from "../errors.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { entryLine, headerLine, type RunHeader } from "./run-file.ts";
import { programVersion } from "./version.ts";

/** Where a local review leaves its record. */
export interface RecordPlaces {
  /** Of the repository, whose folder the record names. */
  repository: string;
  /** The folder of all of them; null if there is no place for one, undefined if no record is wanted. */
  folder: string | null | undefined;
  /** How long they are kept there. */
  keepMs: number;
  /** A Logseq graph that takes its notes; left out or null, none are taken. */
  logseqDir?: string | null;
  /** A file of its own, named by whoever runs this. */
  file?: string | undefined;
}

/** Does something that is on record from the first to the last, with why it ended: what `ended` says of what it came to. */
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

/** The record of a run under way, which ends with it. */
export interface RunRecord extends AsyncDisposable {
  /** Resolves when the entry is written: in a file that was named, for good. */
  append(entry: TrajectoryEntry): Promise<void>;
}

export interface RecordOptions {
  task?: string;
  now?: () => Date;
  /** Takes one line for whoever runs this. */
  warn?: ((text: string) => void) | undefined;
}

/**
 * Begins a record. What cannot be left in the folder of all records is warned of: a review that was paid for is worth more.
 * @throws AppError `usage` where the named file cannot be written.
 */
export async function openRunRecord(
  { repository, folder, keepMs, file }: RecordPlaces,
  range: string,
  { task = "review", now = () => new Date(), warn }: RecordOptions = {},
): Promise<RunRecord> {
  const began = now();
  const id = newRunId(began);
  const header: RunHeader = {
    ...{ kind: "record", format: 1, version: programVersion(), id, source: "local", task },
    ...{
      requested_by: null,
      repository: resolve(repository),
      pull: null,
      range,
      began_at: began.toISOString(),
    },
  };
  const named = file === undefined ? null : await openNamed(file);
  await named?.appendFile(headerLine(header));
  const kept = await keep(folder, keepMs, header, warn);
  return {
    async append(entry) {
      const line = entryLine({ at: now().getTime(), claim: 1, entry });
      await kept.append(line);
      await named?.appendFile(line);
      await named?.datasync();
    },
    async [Symbol.asyncDispose]() {
      await kept.close();
      await named?.close();
    },
  };
}

interface Kept {
  /** Neither ever rejects. */
  append(line: string): Promise<void>;
  close(): Promise<void>;
}

async function keep(
  folder: RecordPlaces["folder"],
  keepMs: number,
  header: RunHeader,
  warn: RecordOptions["warn"],
): Promise<Kept> {
  let file: FileHandle | null = null;
  const notKept = (why: string) =>
    warn?.(`no record of this run is kept: ${why}. Set HUNKWISE_DATA_DIR to a folder that you may write to.`);
  if (folder === null) notKept("there is no home folder");
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch {
      // A folder that is read-only or full. Half a record would pass for a whole one: nothing follows on a gap.
      await file?.close().catch(() => {});
      file = null;
      notKept(`${dirname(folder ?? "")} cannot be written`);
    }
  };
  await attempt(async () => {
    if (!folder) return;
    await prepareRunsFolder(folder, keepMs, new Date(header.began_at));
    // Appending, so that nothing that stands there is ever written over.
    file = await open(runPath(folder, header.id), "ax", 0o600);
    await file.appendFile(headerLine(header));
  });
  return {
    append: (line) => attempt(async () => file?.appendFile(line)),
    close: () => attempt(async () => file?.close()),
  };
}

/** Readable by this user alone, because it holds code. */
async function openNamed(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, "w", 0o600);
    // A file that was there before keeps its mode.
    await file.chmod(0o600);
    return file;
  } catch (error) {
    throw new AppError("usage", `the trajectory cannot be written: ${errorLine(error)}`, {
      remedy: "Name a file in a folder that you may write to.",
      cause: error,
    });
  }
}

/** So many records of local reviews stay at most: some hundred megabytes. */
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

/** Ids of the records in a folder, newest first; none where there is no such folder. */
export async function localRunIds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .flatMap((one) => name.exec(one)?.[1] ?? [])
    .sort()
    .reverse();
}

/**
 * Makes the folder, which holds code and is this user's alone, and deletes the records in it that are older than `keepMs`, and
 * the oldest beyond the limit of their number.
 */
export async function prepareRunsFolder(folder: string, keepMs: number, now: Date): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const oldest = newRunId(new Date(now.getTime() - keepMs)).slice(0, -6);
  const ids = await localRunIds(folder);
  const doomed = ids.filter((id, index) => id < oldest || index >= MOST_RUNS - 1);
  for (const id of doomed) await rm(runPath(folder, id), { force: true });
}
