import { extname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { AppError } from "../../core/errors.ts";
import type { Result, Run } from "./database.ts";
import type { ReaderAnswer, ReaderQuestion } from "./reader-thread.ts";
import type { DatabaseLocation } from "./stores.ts";

export interface Reader {
  run: Run;
  /** Idempotent; rejects what still waits. */
  close(): Promise<void>;
}

/**
 * Opens the database for pages in a thread or pool of its own, so that webhooks are stored meanwhile.
 * @throws AppError `data_folder_unusable`, `database_unreachable`; also if the database does not exist yet.
 */
export async function openReader({ databaseUrl, dataFolder }: DatabaseLocation): Promise<Reader> {
  if (databaseUrl !== null) {
    const { readPostgresDatabase } = await import("./postgres-database.ts");
    return readPostgresDatabase(databaseUrl);
  }
  const reader = readInThread(dataFolder);
  try {
    await reader.run("SELECT 1");
    return reader;
  } catch (error) {
    await reader.close();
    throw error;
  }
}

/** An object in JSON whose keys are the ids: both databases read a list from `SELECT key FROM json_each(:ids)`. */
export const idList = (ids: Iterable<number>): string =>
  JSON.stringify(Object.fromEntries(Array.from(ids, (id) => [id, 0])));

export const idsIn = (parameter: string): string =>
  `SELECT CAST(key AS BIGINT) AS id FROM json_each(:${parameter})`;

const script = join(import.meta.dirname, `reader-thread${extname(import.meta.filename)}`);

function readInThread(folder: string): Reader {
  const waiting = new Map<number, PromiseWithResolvers<Result>>();
  let last = 0;
  let thread: Worker | undefined;
  let isClosed = false;

  /** A thread that died is replaced at the next question. */
  function start(): Worker {
    const worker = new Worker(script, { env: {}, workerData: folder });
    let cause: unknown;
    worker.on("message", settle);
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", () => {
      thread = undefined;
      const what = "The thread that reads the database ended";
      const gone = new AppError("data_folder_unusable", what, { retryable: true, cause });
      for (const { reject } of waiting.values()) reject(gone);
      waiting.clear();
    });
    return worker;
  }

  function settle({ id, ...answer }: ReaderAnswer): void {
    const asked = waiting.get(id);
    waiting.delete(id);
    if ("rows" in answer) asked?.resolve({ rows: answer.rows, changes: 0 });
    else if (answer.code === null) asked?.reject(new Error(answer.message));
    else {
      const { code, message, remedy, retryable } = answer;
      asked?.reject(new AppError(code, message, { retryable, ...(remedy !== undefined && { remedy }) }));
    }
  }

  return {
    run(sql, parameters = {}) {
      if (isClosed) return Promise.reject(new AppError("aborted", "the reader of the database is closed"));
      thread ??= start();
      const id = ++last;
      const asked = Promise.withResolvers<Result>();
      waiting.set(id, asked);
      thread.postMessage({ id, sql, parameters } satisfies ReaderQuestion);
      return asked.promise;
    },
    async close() {
      isClosed = true;
      await thread?.terminate();
    },
  };
}
