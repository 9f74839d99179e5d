import { AppError } from "../errors.ts";

/** The endpoint takes no tools; the same conversation as text may work. */
export class ToolsRefused extends AppError {}

/** No answer came from the endpoint, whichever model was asked for: there is no connection, or it was cut. */
export class EndpointUnreachable extends AppError {}

/** Nothing listens at an address of this machine. Some seconds of retries do not change that; a job that comes back later may find it started. */
export class NothingListens extends EndpointUnreachable {}

/** The endpoint answers, and has no such model. */
export class ModelAbsent extends AppError {}

/** A circuit is open: nothing was sent, or what was sent opened it. `retryAfterMs` is when to come back. */
export class ModelUnavailable extends AppError {
  constructor(message: string, retryAfterMs: number, cause?: AppError) {
    super("model_unavailable", message, {
      retryable: true,
      retryAfterMs,
      remedy: "Try again later, or let HUNKWISE_FALLBACK_MODEL stand in.",
      ...(cause ? { cause } : {}),
    });
  }
}

export const isAborted = (error: unknown): boolean => error instanceof AppError && error.code === "aborted";
