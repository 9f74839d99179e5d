import type { Workspace } from "../../git/workspace.ts";
import { withoutSecrets } from "../../secrets/redact.ts";
import type { ToolResult } from "./tool-result.ts";

/** The results in files that changed, without secrets: they become part of the record of a review. */
export async function onChangedFiles(
  results: readonly ToolResult[],
  workspace: Pick<Workspace, "changes">,
): Promise<ToolResult[]> {
  if (results.length === 0) return [];
  const changed = new Set((await workspace.changes()).map(({ path }) => path));
  return results
    .filter(({ path }) => changed.has(path))
    .map((one) => ({ ...one, message: withoutSecrets(one.message) }));
}
