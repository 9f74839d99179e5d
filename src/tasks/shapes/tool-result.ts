import { z } from "zod";
import { OTHER_TOOL, Severity, worstFirst } from "../../core/finding.ts";
import { withoutSecrets } from "../../core/secrets/redact.ts";
import type { Workspace } from "../../repo/git/workspace.ts";

/** A result of another tool. Its names are of few letters; its message is text of anyone. */
export const ToolResult = z.strictObject({
  tool: z.string().regex(/^[\w.@-]{1,40}$/),
  rule: z.string().regex(/^[\w.:/@-]{1,60}$/),
  severity: Severity,
  path: z.string().min(1).max(4_096),
  line: z.int().min(1).max(10_000_000),
  /** The last line, not before `line`. */
  endLine: z.int().min(1),
  message: z.string().max(500),
  /** Number of the file or artifact that it comes from: these share the places of a review. */
  file: z.int().min(0).default(0),
});
export type ToolResult = z.infer<typeof ToolResult>;

/** The worst of each file, with equal shares, so that a file full of made-up results leaves the others their places. */
export function fairShare<T>(all: readonly T[], most: number, resultOf: (one: T) => ToolResult): T[] {
  const byWorst = (one: T, other: T) => worstFirst(resultOf(one), resultOf(other));
  const seen = new Map<number, number>();
  const ranked = all.toSorted(byWorst).map((one) => {
    const { file } = resultOf(one);
    const rank = seen.get(file) ?? 0;
    seen.set(file, rank + 1);
    return { one, rank };
  });
  const taken = ranked.toSorted((a, b) => a.rank - b.rank).slice(0, most);
  return taken.map(({ one }) => one).toSorted(byWorst);
}

/** "tool:eslint/no-unused-vars" */
export const sourceOf = ({ tool, rule }: Pick<ToolResult, "tool" | "rule">): string =>
  `${OTHER_TOOL}${tool}/${rule}`;

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
