import { errorLine } from "../errors.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";

/** What is printed when a command fails: one line. A message may quote a server or a repository, hence the escaping. */
export function complaintLine(error: unknown): string {
  const text = escapeInvisible(errorLine(error).replaceAll(/\s*\n\s*/g, " "));
  return `hunkwise: ${text}${/[.?!]$/.test(text) ? "" : "."}\n`;
}
