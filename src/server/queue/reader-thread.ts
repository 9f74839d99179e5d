/** Entry point of the thread that reads SQLite for pages: gets the data folder as data of the thread, and statements as messages. */

import { parentPort, workerData } from "node:worker_threads";
import { AppError, type ErrorCode, errorLine } from "../../core/errors.ts";
import type { Database, Parameters } from "./database.ts";
import { readSqliteDatabase } from "./sqlite-database.ts";

export interface ReaderQuestion {
  id: number;
  sql: string;
  parameters: Parameters;
}

export type ReaderAnswer = { id: number } & (
  | { rows: Record<string, unknown>[] }
  /** `code` is null for an error that is no AppError. */
  | { code: ErrorCode; message: string; remedy: string | undefined; retryable: boolean }
  | { code: null; message: string }
);

let database: Database | undefined;

async function answer({ id, sql, parameters }: ReaderQuestion): Promise<ReaderAnswer> {
  try {
    // Opened at the first question: a failure to do so is an answer, and the next question tries again.
    database ??= readSqliteDatabase(String(workerData));
    const { rows } = await database.run(sql, parameters);
    return { id, rows };
  } catch (error) {
    if (!(error instanceof AppError)) return { id, code: null, message: errorLine(error) };
    const { code, message, remedy, retryable } = error;
    return { id, code, message, remedy, retryable };
  }
}

parentPort?.on("message", async (question: ReaderQuestion) => {
  parentPort?.postMessage(await answer(question));
});
