import { z } from "zod";
import { Severity } from "../../finding.ts";

/** A result of another tool. Its names are of few letters; its message is text of anyone. */
export const ToolResult = z.strictObject({
  tool: z.string().regex(/^[\w.@-]{1,40}$/),
  rule: z.string().regex(/^[\w.:/@-]{1,100}$/),
  severity: Severity,
  /** Relative to the repository. */
  path: z.string().min(1).max(4_096),
  line: z.int().min(1).max(10_000_000),
  /** The last line, not before `line`. */
  endLine: z.int().min(1),
  message: z.string().max(500),
});
export type ToolResult = z.infer<typeof ToolResult>;

/** Prefix of the source of such findings, which no analyzer of ours has: they are never certain, whatever they call themselves. */
const TOOL = "tool:";

/** "tool:eslint/no-unused-vars" */
export const sourceOf = ({ tool, rule }: Pick<ToolResult, "tool" | "rule">): string =>
  `${TOOL}${tool}/${rule}`;

/** The tool of a finding's source; null for one of ours. */
export const toolOf = (source: string): string | null =>
  source.startsWith(TOOL) ? source.slice(TOOL.length).replace(/\/.*$/s, "") : null;
