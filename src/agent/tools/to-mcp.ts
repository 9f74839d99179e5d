import type { CallToolResult, StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod";
import { escapeInvisible } from "../../core/text/escape-invisible.ts";
import { withStrings } from "../../core/text/json.ts";
import type { ToolRun } from "./run-tool.ts";
import type { AnyTool } from "./tool.ts";

/** A tool that only reads or changes this repository. */
export function toMcpTool(tool: AnyTool) {
  return {
    title: tool.title,
    description: tool.description,
    inputSchema: toMcpArguments(tool.input),
    annotations: {
      title: tool.title,
      readOnlyHint: tool.kind === "read",
      openWorldHint: false,
    } satisfies ToolAnnotations,
  };
}

/** The schema of a zod object without zod's bounds of whole numbers. The tool's own check answers as it answers a model. */
export function toMcpArguments(input: z.ZodType): StandardSchemaWithJSON {
  return declared(z.toJSONSchema(input, { io: "input" }));
}

/** The schema of a tool's output, in the same way. */
export function toMcpOutput(output: z.ZodType): StandardSchemaWithJSON {
  return declared(z.toJSONSchema(output, { io: "output" }));
}

function declared({ $schema: _, ...whole }: Record<string, unknown>): StandardSchemaWithJSON {
  const schema: Record<string, unknown> = JSON.parse(JSON.stringify(whole, portable));
  return {
    "~standard": {
      version: 1,
      vendor: "hunkwise",
      validate: (value) => ({ value }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

/** Without zod's own bounds, and with one `type` per schema: some clients refuse a tool with a list of types. */
function portable(_name: string, value: unknown): unknown {
  if (typeof value === "number" && Math.abs(value) === Number.MAX_SAFE_INTEGER) return undefined;
  if (typeof value !== "object" || value === null || !("type" in value)) return value;
  const { type, ...rest } = value;
  return Array.isArray(type) ? { ...rest, anyOf: type.map((one) => ({ type: one })) } : value;
}

/**
 * The text that the reviewer's model reads, and no structured content: Claude Code and Codex show a model that instead of the text.
 * @param note an additional sentence in the answer
 */
export function toMcpResult({ result, text }: ToolRun, note?: string): CallToolResult {
  return {
    content: [{ type: "text", text: note === undefined ? text : `${text}\n(${note})` }],
    ...(result.status === "success" ? {} : { isError: true }),
  };
}

export function toMcpError(error: string): CallToolResult {
  return { content: [{ type: "text", text: `error: ${escapeInvisible(error)}` }], isError: true };
}

/** A JSON value with every invisible character of its texts escaped. */
export const withoutHidden = (value: unknown): unknown => withStrings(value, escapeInvisible);
