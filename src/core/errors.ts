/** The kind of an error, as a value that callers may branch on. One list, so that two rooms do not name the same fault twice. */
export type ErrorCode =
  | "config_invalid"
  | "git_missing"
  | "git_too_old"
  | "git_failed"
  | "git_timeout"
  | "repository_unavailable"
  | "revision_unknown"
  | "too_large"
  | "data_folder_unusable"
  | "database_unreachable"
  | "disk_full"
  | "model_unauthorized"
  | "model_rate_limited"
  | "model_refused"
  | "model_failed"
  | "model_unavailable"
  | "content_refused"
  | "budget_spent"
  | "github_unauthorized"
  | "github_forbidden"
  | "github_not_found"
  | "github_rate_limited"
  | "github_invalid"
  | "github_failed"
  | "receiver_failed"
  | "not_allowed"
  | "stale_head"
  | "superseded"
  | "results_pending"
  | "lease_lost"
  | "child_died"
  | "aborted"
  | "usage";

interface AppErrorOptions {
  /** Whether the same call may succeed later without any change by a person. Default false. */
  retryable?: boolean;
  /** What a person can do about it, as one imperative sentence. */
  remedy?: string | undefined;
  /** When the other side said to come back, in milliseconds from now. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** The only base class of errors here. `message` says what failed with which value, `remedy` what to do. Both are printed: no secret in them. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly remedy: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.remedy = options.remedy;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The one line for people: what failed, then what to do. */
  get line(): string {
    return this.remedy ? `${this.message}. ${this.remedy}` : this.message;
  }
}

/** For `catch`: what is too large counts as missing; other errors go on. */
export function nullIfTooLarge(error: unknown): null {
  if (error instanceof AppError && error.code === "too_large") return null;
  throw error;
}

/** For `catch`: returns one of our errors as a value. Anything else is a bug and is thrown again. */
export function asValue(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

/** The one line for any thrown value, including those that are not ours. */
export function errorLine(error: unknown): string {
  if (error instanceof AppError) return error.line;
  return error instanceof Error ? error.message : String(error);
}

const NO_MODEL = "The model could not be reached or did not answer";

/** Messages of git name folders of the machine, those of models the operator's endpoint: no concern of a pull request's readers. */
const saidInPublic: Partial<Record<ErrorCode, string>> = {
  git_failed: "git failed on the machine that runs Hunkwise",
  repository_unavailable: "git could not fetch the repository",
  data_folder_unusable: "the data folder of Hunkwise cannot be used",
  database_unreachable: "the database of Hunkwise cannot be used",
  disk_full: "the disk of Hunkwise's data folder is full",
  model_failed: NO_MODEL,
  model_unavailable: NO_MODEL,
  model_rate_limited: "The model's provider accepts no more requests for now",
  model_unauthorized: "The model's provider refused the key of Hunkwise",
  model_refused: "The model's provider refused the request",
  content_refused: "The model's provider refused the content",
};

/** The one line for people who do not run this: other errors may name paths of the machine, or repeat what a hostile file made a program print. */
export function publicLine(error: unknown): string {
  if (!(error instanceof AppError)) return "an error in Hunkwise itself; see its log";
  const { code, remedy } = error;
  return new AppError(code, saidInPublic[code] ?? error.message, { remedy }).line;
}

/** Whether git cannot read an object, now or later: it is missing, as in a partial clone, or damaged. */
export const isUnreadable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === "revision_unknown";
