import { createHash } from "node:crypto";
import type { Edit } from "../../git/workspace.ts";

/** A name for files as edits leave them: equal names mean equal files. */
export function stateOf(edits: readonly Edit[]): string {
  const hash = createHash("sha256");
  for (const { path, after } of edits) {
    const content = after && createHash("sha256").update(after.bytes).digest("hex");
    hash.update(JSON.stringify([path, after?.mode ?? null, content]));
  }
  return hash.digest("hex");
}
