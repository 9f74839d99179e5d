import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changingTools, commandTools, readingTools } from "../../../src/agent/tools/index.ts";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import { type DocumentTools, openDocumentTools } from "./document-tools.ts";

let tools: DocumentTools;
beforeAll(async () => {
  tools = await openDocumentTools();
});
afterAll(() => tools?.[Symbol.asyncDispose]());

const read = (sent: Record<string, unknown>) => tools.reading().output<FileContent>("read_file_part", sent);
const list = (sent: Record<string, unknown>) => tools.reading().output("list_files", sent);
const search = (sent: Record<string, unknown>) => tools.reading().output("search_in_files", sent);

describe("the document of filesystem tools over backends", () => {
  it("ls takes path", async () => {
    expect(await list({ directory: "src", type: "any", depth: 1, with_size: true })).toEqual([
      { path: "src/app.py", is_dir: false, size: 323 },
      { path: "src/core", is_dir: true, size: null },
    ]);
  });

  it("read_file takes path", async () => {
    expect(await read({ file_path: "README.md" })).toMatchObject({ content: "1|# App", total_lines: 1 });
  });

  it("read_file takes offset", async () => {
    // Lines count from 1 here, from 0 there.
    expect((await read({ file_path: "long.txt", start_line: 11, end_line: 11 })).content).toBe("11|line 11");
  });

  it("read_file takes limit", async () => {
    const { result } = await tools.reading().run("read_file_part", { file_path: "long.txt" });
    const { output } = result as Extract<typeof result, { status: "success" }> & { output: FileContent };
    expect(output.end_line).toBeLessThan(9_000);
    expect(result.metadata.next).toEqual({
      tool: "read_file_part",
      arguments: { file_path: "long.txt", start_line: output.end_line + 1, end_line: 9_000 },
    });
    expect(await read({ file_path: "long.txt", start_line: 1, end_line: 3 })).toMatchObject({ end_line: 3 });
  });

  it("write_file takes path", async () => {
    const { run, text } = tools.changing();
    const made = await run("write_file", { path: "a/new/file.md", content: "new\n" });
    expect(made.text).toMatch(/^Made a\/new\/file\.md/);
    expect((await run("write_file", { path: "README.md", content: "" })).text).toMatch(/^Wrote README\.md/);
    expect(await text("a/new/file.md")).toBe("new\n");
  });

  it("write_file takes content", async () => {
    const { output, text } = tools.changing();
    await output("write_file", { path: "README.md", content: "é\n\n" });
    expect(await text("README.md")).toBe("é\n\n");
  });

  it("edit_file takes path", async () => {
    const { output, error, text } = tools.changing();
    await output("edit_file", { path: "README.md", old_string: "App", new_string: "Tool" });
    expect([await text("README.md"), await text("copy.md")]).toEqual(["# Tool\n", "# App\n"]);
    expect(await error("edit_file", { path: "READ.md", old_string: "a", new_string: "b" })).toMatch(
      /no such file/,
    );
  });

  it("edit_file takes old_string", async () => {
    const { error, files } = tools.changing();
    expect(await error("edit_file", { path: "README.md", old_string: "# Ape", new_string: "" })).toMatch(
      /^old_string is not in 'README.md'.\nNearest to its first line is line 1:\n1\|# App/,
    );
    expect(await files.edits()).toEqual([]);
  });

  it("edit_file takes new_string", async () => {
    const { output, text } = tools.changing();
    await output("edit_file", { path: "README.md", old_string: "# ", new_string: "" });
    expect(await text("README.md")).toBe("App\n");
  });

  it("edit_file takes replace_all", async () => {
    const { output, text } = tools.changing();
    const sent = { path: "src/core/agent.py", old_string: "    ", new_string: "\t" };
    expect(await output("edit_file", sent)).toMatchObject({ replaced: 1, left: 2 });
    expect(await output("edit_file", { ...sent, replace_all: true })).toMatchObject({ replaced: 2, left: 0 });
    expect(await text("src/core/agent.py")).toBe("class Agent:\n\tdef run(self):\n\t\treturn hello()\n");
  });

  it("glob takes pattern", async () => {
    expect(await list({ pattern: "**/*.ts" })).toEqual(["src/core/agent.ts"]);
    expect(await list({ pattern: "src/*.py" })).toEqual(["src/app.py"]);
  });

  it("glob takes path", async () => {
    expect(await list({ pattern: "*.py", directory: "src/core" })).toEqual(["src/core/agent.py"]);
  });

  it("grep takes pattern", async () => {
    expect(await search({ pattern: "cl[a]ss", output_mode: "files_with_matches" })).toEqual([
      "src/core/agent.py",
    ]);
  });

  it("grep takes path", async () => {
    const sent = { pattern: "hello", output_mode: "files_with_matches" };
    expect(await search({ ...sent, path: "docs" })).toEqual(["docs/guide.md"]);
    expect(await search({ ...sent, path: "src/app.py" })).toEqual(["src/app.py"]);
  });

  it("grep takes glob", async () => {
    expect(
      await search({ pattern: "hello", file_pattern: "*.ts", output_mode: "files_with_matches" }),
    ).toEqual(["src/core/agent.ts"]);
  });

  it.each([
    ["content", [expect.objectContaining({ file_path: "src/core/agent.ts", line_number: 1 })]],
    ["files_with_matches", ["src/core/agent.ts"]],
    ["count", [{ file_path: "src/core/agent.ts", count: 1 }]],
  ])("grep takes the output_mode %s", async (output_mode, expected) => {
    expect(await search({ pattern: "hello", file_pattern: "*.ts", output_mode })).toEqual(expected);
  });

  it("execute is a tool only if there is a sandbox for commands", () => {
    const names = [...readingTools, ...changingTools].map(({ name }) => name);
    expect(names).not.toContain("run_command");
    expect(commandTools.map(({ name }) => name)).toEqual(["run_command"]);
  });
});
