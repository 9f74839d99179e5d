import { AppError, errorLine } from "../errors.ts";

/** What a check of `doctor` comes to. */
export interface Diagnosis {
  state: "ok" | "warn" | "fail";
  says: string;
  /** What to do about it; null when all is well. */
  remedy: string | null;
}

export const ok = (says: string): Diagnosis => ({ state: "ok", says, remedy: null });
export const warn = (says: string, remedy: string): Diagnosis => ({ state: "warn", says, remedy });
export const fail = (error: unknown): Diagnosis =>
  error instanceof AppError
    ? { state: "fail", says: error.message, remedy: error.remedy ?? null }
    : { state: "fail", says: errorLine(error), remedy: null };
