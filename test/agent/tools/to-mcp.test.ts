import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { readingTools } from "../../../src/agent/tools/index.ts";
import type { ToolRun } from "../../../src/agent/tools/run-tool.ts";
import { MAX_STRUCTURED_BYTES, toMcpError, toMcpResult, toMcpTool } from "../../../src/agent/tools/to-mcp.ts";
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
  it("A tool's answer for MCP holds the text for the model and the whole result as data", () => {
    const run = succeeded([{ path: "a.ts" }]);
    expect(toMcpResult(run)).toEqual({
      content: [{ type: "text", text: "shown" }],
      structuredContent: { status: "success", output: [{ path: "a.ts" }], metadata },
    });
  });

  it("A tool's answer for MCP is marked as an error where the call failed or took too long", () => {
    for (const status of ["error", "timeout"] as const) {
      const answer = toMcpResult(ran({ status, error: "no such file", metadata }, "error: no such file"));
      expect(answer).toMatchObject({ isError: true, structuredContent: { status, error: "no such file" } });
    }
    expect(toMcpResult(succeeded(1))).not.toHaveProperty("isError");
  });

  it("A tool's answer for MCP spells out what hides in the data, at any depth", () => {
    const hidden = "a\u200bb\u{e0041}";
    const answer = toMcpResult(succeeded({ lines: [{ text: hidden }], count: 2, none: null }));
    expect(answer.structuredContent).toMatchObject({
      output: { lines: [{ text: "a\\u{200B}b\\u{E0041}" }], count: 2, none: null },
    });
    expect(toMcpError(hidden).content).toEqual([{ type: "text", text: "error: a\\u{200B}b\\u{E0041}" }]);
  });

  it("A tool's answer for MCP leaves the data out where it is too large, and the text answers alone", () => {
    const room = MAX_STRUCTURED_BYTES - JSON.stringify({ status: "success", output: "", metadata }).length;
    expect(toMcpResult(succeeded("é".repeat(Math.floor(room / 2))))).toHaveProperty("structuredContent");
    const answer = toMcpResult(succeeded("é".repeat(Math.floor(room / 2) + 1)));
    expect(answer).toEqual({ content: [{ type: "text", text: "shown" }] });
  });

  it("A tool's answer for MCP carries a note of the server beside the tool's own", () => {
    const noted = ran({ status: "success", output: 1, metadata: { ...metadata, note: "Cut." } });
    const answer = toMcpResult(noted, "Dirty.");
    expect(answer.content).toEqual([{ type: "text", text: "shown\n(Dirty.)" }]);
    expect(answer.structuredContent).toMatchObject({ metadata: { ...metadata, note: "Cut. Dirty." } });
  });
});
