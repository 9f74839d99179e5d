import { wantsStackTraces } from "../config/env.ts";
import { AppError, errorLine } from "../errors.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";

/** What is printed when a command fails: one line. A message may quote a server or a repository, hence the escaping. */
export function complaintLine(error: unknown): string {
  const text = escapeInvisible(wholeLine(error).replaceAll(/\s*\n\s*/g, " "));
  return `hunkwise: ${text}${/[.?!]$/.test(text) ? "" : "."}\n`;
}

/** The same with a stack trace for whoever set LOG_LEVEL=debug. */
export function complaint(error: unknown): string {
  const stack = wantsStackTraces() && error instanceof Error ? `${error.stack}\n` : "";
  return complaintLine(error) + stack;
}

/** With the last words of a process that died: here whoever reads is who runs it. */
function wholeLine(error: unknown): string {
  const line = errorLine(error);
  if (!(error instanceof AppError) || error.code !== "child_died") return line;
  return error.cause instanceof Error ? `${line}: ${error.cause.message}` : line;
}
