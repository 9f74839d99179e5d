import { AppError, errorLine } from "../errors.ts";

/** "No comments on lines: ..."; throws what is no refusal, or one that concerns all channels alike. */
export function refusalNotice(error: unknown, channel: string): string {
  const isFinal = error instanceof AppError && error.code.startsWith("github_") && !error.retryable;
  if (!isFinal || error.code === "github_unauthorized") throw error;
  return `No ${channel}: ${errorLine(error)}`;
}

/** GitHub understood, and refuses what it was given. */
export const isInvalid = (error: unknown) => error instanceof AppError && error.code === "github_invalid";
