import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Message } from "../../../src/agent/llm/model.ts";
import { compact } from "../../../src/agent/loop/loop-state.ts";
import { readingTools } from "../../../src/agent/tools/index.ts";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import { createRegistry } from "../../../src/agent/tools/run-tool.ts";
import type { SearchMatch } from "../../../src/agent/tools/search-in-files.ts";
import { type AnyTool, defineTool } from "../../../src/agent/tools/tool.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";
import { type DocumentTools, openDocumentTools } from "./document-tools.ts";

let tools: DocumentTools;
beforeAll(async () => {
  tools = await openDocumentTools();
});
afterAll(() => tools?.[Symbol.asyncDispose]());

/** A tool that returns its arguments, or behaves as `over` defines. */
const echo = (over: Partial<AnyTool> = {}): AnyTool => ({
  ...defineTool({
    name: "echo",
    title: "Echo",
    description: "Says it.",
    returns: "What was said.",
    example: { text: "x" },
    kind: "read",
    input: z.strictObject({ text: z.string() }),
    execute: async ({ text }: { text: string }) => ({ output: text }),
    render: (text: string) => ({ text }),
  }),
  ...over,
});

describe("the interface of tools", () => {
  it("A tool has name, description and input_schema", () => {
    const [definition] = createRegistry([echo()]).definitions();
    expect(definition).toEqual({
      name: "echo",
      description: "Says it.",
      parameters: {
        type: "object",
        properties: { text: { type: "string" } },
        required: ["text"],
        additionalProperties: false,
      },
    });
  });

  it("A tool has execute", async () => {
    const { result, text } = await createRegistry([echo()]).execute(
      "echo",
      { text: "hi" },
      tools.reading().context,
    );
    expect([result.status, text]).toEqual(["success", "hi"]);
  });

  it("A result has the status SUCCESS with output and metadata", async () => {
    const { result } = await tools.reading().run("list_files", { directory: "docs" });
    expect(result).toEqual({
      status: "success",
      output: ["docs/guide.md"],
      metadata: { duration_ms: expect.any(Number), truncated: false },
    });
  });

  it("A result has the status ERROR with an error", async () => {
    const { result } = await tools.reading().run("list_files", { directory: "nowhere" });
    expect(result).toMatchObject({ status: "error", error: expect.stringContaining("nowhere") });
  });

  it("A result has the status TIMEOUT with an error", async () => {
    const slow = echo({ timeoutMs: 1, execute: () => new Promise(() => {}) });
    const { result } = await createRegistry([slow]).execute("echo", { text: "" }, tools.reading().context);
    expect(result).toMatchObject({ status: "timeout", error: expect.stringContaining("took longer") });
  });

  it("The registry has register, get and get_definitions", () => {
    const registry = createRegistry(readingTools);
    registry.register(echo());
    expect(registry.get("echo")?.title).toBe("Echo");
    expect(registry.get("nothing")).toBeUndefined();
    expect(registry.definitions().at(-1)?.name).toBe("echo");
  });

  it("The registry has execute", async () => {
    const { result } = await createRegistry([echo()]).execute("nothing", {}, tools.reading().context);
    expect(result).toMatchObject({ status: "error", error: expect.stringContaining("the tools are echo") });
  });

  it("A result that is too long is cut and says how to continue", async () => {
    const { text, result } = await tools.reading().run("read_file_part", { file_path: "long.txt" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    expect(result.metadata).toMatchObject({ truncated: true, next: { tool: "read_file_part" } });
  });
});

it("A long conversation shortens old results and keeps the newest whole", () => {
  const turn = (id: string): Message[] => [
    { role: "assistant", content: "", toolCalls: [{ id, name: "grep", arguments: "{}" }] },
    { role: "tool", callId: id, content: "x".repeat(1_000) },
  ];
  const messages = [..."abcdefgh"].flatMap(turn);
  const tokensOf = ({ content }: Message) => content.length;
  const shorter = compact(messages, { limitTokens: 6_000, tokensOf, isKept: () => false });
  expect(shorter[1]?.content.length).toBeLessThan(200);
  expect(shorter.at(-1)).toBe(messages.at(-1));
});

describe("grep of the tool system", () => {
  const grep = async (sent: Record<string, unknown>) => {
    const found = await tools.reading().output<SearchMatch[]>("search_in_files", sent);
    return found.map(({ file_path, line_number }) => `${file_path}:${line_number}`);
  };

  it("grep takes pattern", async () => {
    expect(await grep({ pattern: "class.*Agent" })).toEqual(["src/core/agent.py:1"]);
  });

  it("grep takes path", async () => {
    expect(await grep({ pattern: "hello", path: "src/core" })).toEqual([
      "src/core/agent.py:3",
      "src/core/agent.ts:1",
    ]);
  });

  it("grep takes file_type", async () => {
    expect(await grep({ pattern: "hello\\(\\)", file_type: "py" })).toEqual([
      "src/app.py:3",
      "src/core/agent.py:3",
    ]);
  });

  it("grep takes context_lines", async () => {
    const contextOf = async (context_lines: number) => {
      const sent = { pattern: "line 20$", path: "src/app.py", context_lines };
      return (await tools.reading().output<SearchMatch[]>("search_in_files", sent))[0]?.match_context;
    };
    expect(await contextOf(0)).toBe("20:line 20");
    expect(await contextOf(1)).toBe("19-line 19\n20:line 20\n21-line 21");
  });

  it("grep takes max_results", async () => {
    expect(await grep({ pattern: "line", max_results: 2 })).toHaveLength(2);
  });

  it("grep takes case_sensitive", async () => {
    expect(await grep({ pattern: "HELLO" })).toEqual(["docs/guide.md:2"]);
    expect(await grep({ pattern: "HELLO", ignore_case: true, path: "docs" })).toHaveLength(2);
  });

  it("grep takes whole_word", async () => {
    expect(await grep({ pattern: "hello", whole_word: true, path: "docs" })).toEqual([]);
  });
});

describe("list_dir of the tool system", () => {
  const list = (sent: Record<string, unknown>) => tools.reading().output("list_files", sent);

  it("list_dir takes path", async () => {
    expect(await list({ directory: "src/" })).toEqual([
      "src/app.py",
      "src/core/agent.py",
      "src/core/agent.ts",
    ]);
  });

  it("list_dir takes depth", async () => {
    expect(await list({ directory: "src", depth: 1 })).toEqual(["src/app.py"]);
    expect(await list({ directory: "src", depth: 2 })).toHaveLength(3);
  });

  it("list_dir takes show_hidden", async () => {
    expect(await list({ pattern: "settings.yml", show_hidden: true })).toEqual([".config/settings.yml"]);
    expect(await list({ pattern: "settings.yml", show_hidden: false })).toEqual([]);
  });

  it("list_dir takes pattern", async () => {
    expect(await list({ pattern: "*.py", depth: 3 })).toEqual(["src/app.py", "src/core/agent.py"]);
  });

  it("list_dir takes dirs_only", async () => {
    expect(await list({ type: "directory" })).toEqual([".config", "docs", "src", "src/core"]);
  });

  it("list_dir shows the model a tree", async () => {
    const { text } = await tools.reading().run("list_files", { directory: "src", type: "any" });
    expect(text).toMatch(/core\/\n\s+agent\.py\n\s+agent\.ts/);
  });
});

describe("read_file of the tool system", () => {
  const read = (sent: Record<string, unknown>) => tools.reading().output<FileContent>("read_file_part", sent);

  it("read_file takes path", async () => {
    expect((await read({ file_path: "README.md" })).content).toBe("1|# App");
    expect((await read({ file_path: `${tools.reading().workspace.root}/README.md` })).file_path).toBe(
      "README.md",
    );
  });

  it("read_file takes start_line", async () => {
    expect(await read({ file_path: "src/app.py", start_line: 38 })).toMatchObject({
      start_line: 38,
      end_line: 40,
    });
  });

  it("read_file takes end_line", async () => {
    expect(await read({ file_path: "src/app.py", start_line: 10, end_line: 12 })).toMatchObject({
      content: "10|line 10\n11|line 11\n12|line 12",
      total_lines: 40,
    });
  });

  it("read_file takes max_lines", async () => {
    // The maximum number of lines of an answer; the answer names the call that continues.
    const { result } = await tools
      .reading()
      .run("read_file_part", { file_path: "long.txt", start_line: 100 });
    const { end_line } = (result as { output: FileContent }).output;
    expect(result.metadata.next?.arguments).toMatchObject({ start_line: end_line + 1 });
  });
});

describe("write_file of the tool system", () => {
  const write = async (sent: Record<string, unknown>) => {
    const changing = tools.changing();
    await changing.output("write_file", { path: "src/core/agent.py", ...sent });
    return await changing.text((sent.path as string | undefined) ?? "src/core/agent.py");
  };
  const [first, second, third] = ["class Agent:\n", "    def run(self):\n", "        return hello()\n"];

  it("write_file takes path", async () => {
    expect(await write({ path: "new_file.py", content: "print('Hello')" })).toBe("print('Hello')");
  });

  it("write_file takes content", async () => {
    expect(await write({ content: "日本\n" })).toBe("日本\n");
  });

  it.each([
    ["overwrite", {}, "x\n"],
    ["append", {}, `${first}${second}${third}x\n`],
    ["insert", { start_line: 2 }, `${first}x\n${second}${third}`],
    ["replace_lines", { start_line: 2, end_line: 3 }, `${first}x\n`],
  ])("write_file takes the mode %s", async (mode, lines, expected) => {
    expect(await write({ content: "x\n", mode, ...lines })).toBe(expected);
  });

  it("write_file takes start_line", async () => {
    expect(await write({ content: "x\n", mode: "insert", start_line: 4 })).toBe(
      `${first}${second}${third}x\n`,
    );
    const { error } = tools.changing();
    expect(await error("write_file", { path: "README.md", content: "x", mode: "insert" })).toMatch(
      /needs start_line/,
    );
  });

  it("write_file takes end_line", async () => {
    expect(await write({ content: "x\n", mode: "replace_lines", start_line: 1, end_line: 2 })).toBe(
      `x\n${third}`,
    );
    expect(await write({ content: "x\n", mode: "replace_lines", start_line: 1 })).toBe(
      `x\n${second}${third}`,
    );
  });

  it("write_file takes create_dirs", async () => {
    const { error, output, text } = tools.changing();
    const sent = { path: "a/b/c.py", content: "x\n" };
    expect(await error("write_file", { ...sent, create_dirs: false })).toMatch(/no folder 'a\/b'/);
    await output("write_file", sent);
    expect(await text("a/b/c.py")).toBe("x\n");
  });

  it("write_file takes backup", async () => {
    const { output, text } = tools.changing();
    await output("write_file", { path: "README.md", content: "x\n", backup: true });
    expect([await text("README.md"), await text("README.md.bak")]).toEqual(["x\n", "# App\n"]);
  });

  it("write_file writes everything or nothing", async () => {
    const { error, text } = tools.changing();
    const sent = { path: "README.md", content: "x\n", mode: "replace_lines", start_line: 1, end_line: 9 };
    expect(await error("write_file", sent)).toMatch(/does not have all of lines/);
    expect(await text("README.md")).toBe("# App\n");
  });
});
