import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { readingTools } from "../../../src/agent/tools/index.ts";
import type { ToolRun } from "../../../src/agent/tools/run-tool.ts";
import { toMcpError, toMcpResult, toMcpTool, withoutHidden } from "../../../src/agent/tools/to-mcp.ts";
import type { ToolResult } from "../../../src/agent/tools/tool.ts";

const metadata = { duration_ms: 1, truncated: false };
const ran = (result: ToolResult, text = "shown"): ToolRun => ({ result, text, endsLoop: false });
const succeeded = (output: unknown) => ran({ status: "success", output, metadata });

/** What a client is told of the arguments. */
function argumentsOf(name: string) {
  const tool = readingTools.find((one) => one.name === name)!;
  return toMcpTool(tool).inputSchema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
}

describe("a tool for MCP", () => {
  it("A tool for MCP is said to read alone, in this repository alone, and has a title", () => {
    for (const tool of readingTools) {
      const { title, description, annotations } = toMcpTool(tool);
      expect(annotations).toEqual({ title, readOnlyHint: true, openWorldHint: false });
      expect([title, description].every((text) => text.length > 0)).toBe(true);
    }
  });

  it("A tool for MCP that writes is not said to read", () => {
    const [tool] = readingTools;
    expect(toMcpTool({ ...tool!, kind: "change" }).annotations.readOnlyHint).toBe(false);
  });

  it("A tool for MCP declares the arguments of its zod object, closed, and no bound that nobody set", () => {
    for (const { name, input } of readingTools) {
      const declared = argumentsOf(name);
      expect(declared).toMatchObject({ type: "object", additionalProperties: false });
      expect(Object.keys(declared.properties as object)).toEqual(Object.keys((input as z.ZodObject).shape));
      expect(JSON.stringify(declared)).not.toContain(String(Number.MAX_SAFE_INTEGER));
    }
    expect(argumentsOf("diff_file")).toMatchObject({
      required: ["file_path"],
      properties: { context_lines: { minimum: 0, maximum: 1_000, default: 3 } },
    });
  });

  it("A tool for MCP is handed its arguments as they were sent, to check them itself", () => {
    const { inputSchema } = toMcpTool(readingTools[0]!);
    expect(inputSchema["~standard"].validate({ start: "1", other: null })).toEqual({
      value: { start: "1", other: null },
    });
  });
});

describe("a tool's answer for MCP", () => {
  it("A tool's answer for MCP is the text for the model alone, because clients show data instead of it", () => {
    expect(toMcpResult(succeeded([{ path: "a.ts" }]))).toEqual({
      content: [{ type: "text", text: "shown" }],
    });
  });

  it("A tool's answer for MCP is marked as an error where the call failed or took too long", () => {
    for (const status of ["error", "timeout"] as const) {
      const answer = toMcpResult(ran({ status, error: "no such file", metadata }, "error: no such file"));
      expect(answer).toEqual({ content: [{ type: "text", text: "error: no such file" }], isError: true });
    }
  });

  it("An answer for MCP spells out what hides in data at any depth, and in an error", () => {
    const hidden = "a\u200bb\u{e0041}";
    const shown = "a\\u{200B}b\\u{E0041}";
    expect(withoutHidden({ lines: [{ text: hidden }], count: 2, none: null })).toEqual({
      lines: [{ text: shown }],
      count: 2,
      none: null,
    });
    expect(toMcpError(hidden).content).toEqual([{ type: "text", text: `error: ${shown}` }]);
  });

  it("A tool's answer for MCP carries a note of the server after the text", () => {
    const answer = toMcpResult(succeeded(1), "Dirty.");
    expect(answer.content).toEqual([{ type: "text", text: "shown\n(Dirty.)" }]);
  });
});
