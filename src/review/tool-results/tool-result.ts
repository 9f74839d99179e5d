import { z } from "zod";
import { OTHER_TOOL, Severity } from "../../finding.ts";

/** A result of another tool. Its names are of few letters; its message is text of anyone. */
export const ToolResult = z.strictObject({
  tool: z.string().regex(/^[\w.@-]{1,40}$/),
  rule: z.string().regex(/^[\w.:/@-]{1,60}$/),
  severity: Severity,
  /** Relative to the repository. */
  path: z.string().min(1).max(4_096),
  line: z.int().min(1).max(10_000_000),
  /** The last line, not before `line`. */
  endLine: z.int().min(1),
  message: z.string().max(500),
});
export type ToolResult = z.infer<typeof ToolResult>;

/** "tool:eslint/no-unused-vars" */
export const sourceOf = ({ tool, rule }: Pick<ToolResult, "tool" | "rule">): string =>
  `${OTHER_TOOL}${tool}/${rule}`;
