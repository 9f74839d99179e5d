import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, errorLine } from "../errors.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { newRunId, prepareRunsFolder, runPath } from "./local-runs.ts";
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
