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
  const reader = new SqliteReader(dataFolder);
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

class SqliteReader implements Reader {
  readonly #folder: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<Result>>();
  #last = 0;
  #worker: Worker | undefined;
  #isClosed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  run: Run = (sql, parameters = {}) => {
    if (this.#isClosed)
      return Promise.reject(new AppError("aborted", "the reader of the database is closed"));
    this.#worker ??= this.#start();
    const id = ++this.#last;
    const asked = Promise.withResolvers<Result>();
    this.#waiting.set(id, asked);
    this.#worker.postMessage({ id, sql, parameters } satisfies ReaderQuestion);
    return asked.promise;
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  /** A thread that died is replaced at the next question. */
  #start(): Worker {
    const worker = new Worker(script, { env: {}, workerData: this.#folder });
    let why: unknown;
    worker.on("message", (answer: ReaderAnswer) => this.#answer(answer));
    worker.on("error", (error) => {
      why = error;
    });
    worker.on("exit", () => {
      this.#worker = undefined;
      const gone = new AppError("data_folder_unusable", "The thread that reads the database ended", {
        retryable: true,
        cause: why,
      });
      for (const { reject } of this.#waiting.values()) reject(gone);
      this.#waiting.clear();
    });
    return worker;
  }

  #answer({ id, ...answer }: ReaderAnswer): void {
    const asked = this.#waiting.get(id);
    this.#waiting.delete(id);
    if ("rows" in answer) asked?.resolve({ rows: answer.rows, changes: 0 });
    else if (answer.code === null) asked?.reject(new Error(answer.message));
    else {
      const { code, message, remedy, retryable } = answer;
      asked?.reject(new AppError(code, message, { retryable, ...(remedy === undefined ? {} : { remedy }) }));
    }
  }
}
