import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import type { FileCount, SearchMatch } from "../../../src/agent/tools/search-in-files.ts";
import { type DocumentTools, openDocumentTools } from "./document-tools.ts";

let tools: DocumentTools;
beforeAll(async () => {
  tools = await openDocumentTools();
});
afterAll(() => tools?.[Symbol.asyncDispose]());

/** `path:line` of each match. */
async function grep(sent: Record<string, unknown>): Promise<string[]> {
  const found = await tools.reading().output<SearchMatch[]>("search_in_files", sent);
  return found.map(({ file_path, line_number }) => `${file_path}:${line_number}`);
}
const find = (sent: Record<string, unknown>) => tools.reading().output<string[]>("list_files", sent);

describe("the document of the local agent", () => {
  it("FileSearchTool searches for files", async () => {
    expect(await find({ pattern: "agent.*" })).toEqual(["src/core/agent.py", "src/core/agent.ts"]);
  });

  it("ListDirectoryTool lists a directory", async () => {
    expect(await find({ directory: "src", depth: 1, type: "any" })).toEqual(["src/app.py", "src/core"]);
  });

  it("ReadFileTool reads a file", async () => {
    const file = await tools.reading().output<FileContent>("read_file_part", { file_path: "README.md" });
    expect(file.content).toBe("1|# App");
  });

  it("WriteFileTool creates a file and overwrites one", async () => {
    const { output, text } = tools.changing();
    await output("write_file", { path: "new.md", content: "new\n" });
    await output("write_file", { path: "README.md", content: "other\n" });
    expect([await text("new.md"), await text("README.md")]).toEqual(["new\n", "other\n"]);
  });

  it("CopyFileTool copies a file from one path to another", async () => {
    const { output, text } = tools.changing();
    await output("copy_file", { source_path: "README.md", destination_path: "docs/README.md" });
    expect([await text("README.md"), await text("docs/README.md")]).toEqual(["# App\n", "# App\n"]);
  });

  it("MoveFileTool moves or renames a file", async () => {
    const { output, text, files } = tools.changing();
    await output("move_file", { source_path: "README.md", destination_path: "docs/README.md" });
    expect(await text("docs/README.md")).toBe("# App\n");
    expect((await files.tree("head")).has("README.md")).toBe(false);
  });

  it("DeleteFileTool deletes a file", async () => {
    const { output, files } = tools.changing();
    await output("delete_file", { path: "README.md" });
    expect((await files.tree("head")).has("README.md")).toBe(false);
  });

  it("Every tool has status, output, message and debug facts", async () => {
    const found = await tools.reading().run("search_in_files", { pattern: "hello" });
    expect(found.result).toMatchObject({
      status: "success",
      output: expect.any(Array),
      metadata: { debug: { command: expect.stringMatching(/^rg /), return_code: 0, stderr: "" } },
    });
    const failed = await tools.reading().run("read_file_part", { file_path: "nothing" });
    expect(failed.result).toMatchObject({ status: "error", error: expect.stringContaining("no such file") });
    expect(failed.result).not.toHaveProperty("output");
  });
});

describe("grep_file of the local agent", () => {
  it("grep_file takes file_path", async () => {
    expect(await grep({ pattern: "hello", path: "src/app.py" })).toEqual(["src/app.py:3", "src/app.py:35"]);
    expect(await grep({ pattern: "hello", path: "src/core" })).toEqual([
      "src/core/agent.py:3",
      "src/core/agent.ts:1",
    ]);
  });

  it("grep_file takes pattern", async () => {
    expect(await grep({ pattern: "^def \\w+\\(" })).toEqual(["src/app.py:3"]);
    const { text } = await tools.reading().run("search_in_files", { pattern: "nowhere" });
    expect(text).toBe("No match for 'nowhere'.");
  });

  it("grep_file takes ignore_case", async () => {
    expect(await grep({ pattern: "hello", path: "docs" })).toEqual(["docs/guide.md:1"]);
    expect(await grep({ pattern: "hello", path: "docs", ignore_case: true })).toEqual([
      "docs/guide.md:1",
      "docs/guide.md:2",
    ]);
  });

  it("grep_file takes whole_word", async () => {
    expect(await grep({ pattern: "hello", path: "docs", whole_word: true })).toEqual([]);
  });

  it("grep_file takes show_line_numbers", async () => {
    const sent = { pattern: "hello", path: "src/core/agent.ts" };
    const shown = async (show_line_numbers: boolean) =>
      (await tools.reading().run("search_in_files", { ...sent, show_line_numbers })).text.split("\n").at(-1);
    expect(await shown(true)).toBe("1:export const agent = hello();");
    expect(await shown(false)).toBe("export const agent = hello();");
  });

  it("grep_file takes recursive", async () => {
    // A folder is always searched recursively; a glob can restrict it to the folder itself.
    expect(await grep({ pattern: "hello", path: "src" })).toContain("src/core/agent.py:3");
    expect(await grep({ pattern: "hello", path: "src", file_pattern: "src/*" })).toEqual([
      "src/app.py:3",
      "src/app.py:35",
    ]);
  });

  it("grep_file takes invert_match", async () => {
    expect(await grep({ pattern: "return|class", path: "src/core/agent.py", invert_match: true })).toEqual([
      "src/core/agent.py:2",
    ]);
  });

  it("grep_file takes count_matches", async () => {
    const sent = { pattern: "hello", path: "src", output_mode: "count" };
    expect(await tools.reading().output<FileCount[]>("search_in_files", sent)).toEqual([
      { file_path: "src/app.py", count: 2 },
      { file_path: "src/core/agent.py", count: 1 },
      { file_path: "src/core/agent.ts", count: 1 },
    ]);
  });

  it("grep_file takes files_with_matches", async () => {
    const sent = { pattern: "hello", path: "src/core", output_mode: "files_with_matches" };
    expect(await tools.reading().output("search_in_files", sent)).toEqual([
      "src/core/agent.py",
      "src/core/agent.ts",
    ]);
  });
});

describe("find_files and diff_files of the local agent", () => {
  it("find_files takes dir_path", async () => {
    expect(await find({ directory: "src/core" })).toEqual(["src/core/agent.py", "src/core/agent.ts"]);
  });

  it("find_files takes name_pattern", async () => {
    expect(await find({ pattern: "*.py" })).toEqual(["src/app.py", "src/core/agent.py"]);
    expect(await find({ pattern: "*.nothing" })).toEqual([]);
  });

  it("find_files takes type", async () => {
    expect(await find({ type: "directory", show_hidden: false })).toEqual(["docs", "src", "src/core"]);
    expect(await find({ type: "file", directory: "docs" })).toEqual(["docs/guide.md"]);
  });

  it("find_files omits hidden files and folders", async () => {
    expect(await find({ show_hidden: false })).not.toContain(".config/settings.yml");
    expect(await find({ show_hidden: true })).toContain(".config/settings.yml");
  });

  it.each([
    ["file_path1", "README.md", "docs/guide.md"],
    ["file_path2", "docs/guide.md", "README.md"],
  ])("diff_files takes %s", async (_, file_path1, file_path2) => {
    const diff = await tools.reading().output<string>("diff_files", { file_path1, file_path2 });
    expect(diff).toContain(`--- a/${file_path1}\n+++ b/${file_path2}\n@@ `);
    expect(await tools.reading().output("diff_files", { file_path1, file_path2: file_path1 })).toBe(
      "Files are identical.",
    );
  });

  it("diff_files says exactly that equal files are identical", async () => {
    const sent = { file_path1: "README.md", file_path2: "copy.md" };
    expect(await tools.reading().output("diff_files", sent)).toBe("Files are identical.");
  });
});
