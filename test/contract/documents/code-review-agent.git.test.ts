import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange } from "../../../src/agent/tools/changed-files.ts";
import type { FileDiffOutput } from "../../../src/agent/tools/diff-file.ts";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import type { SearchMatch } from "../../../src/agent/tools/search-in-files.ts";
import { type DocumentTools, openDocumentTools } from "./document-tools.ts";

let tools: DocumentTools;
beforeAll(async () => {
  tools = await openDocumentTools();
});
afterAll(() => tools?.[Symbol.asyncDispose]());

const call = <Output>(tool: string, sent: Record<string, unknown> = {}) =>
  tools.reading().output<Output>(tool, sent);
const changed = [
  ".config/settings.yml",
  "copy.md",
  "docs/guide.md",
  "long.txt",
  "src/app.py",
  "src/core/agent.py",
  "src/core/agent.ts",
];

describe("the document of the code review agent", () => {
  it("The context has the path, the target branch and the changed files", async () => {
    const { context, workspace } = tools.reading();
    expect(context).toMatchObject({ workspace: { root: workspace.root }, targetBranch: "main" });
    expect((await context.workspace.changes()).map(({ path }) => path)).toEqual(changed);
  });

  it("changed_files takes nothing and lists the whole change", async () => {
    const files = await call<FileChange[]>("changed_files");
    expect(files.map(({ path }) => path)).toEqual(changed);
    expect(files.find(({ path }) => path === "src/app.py")).toMatchObject({
      change_type: "modified",
      old_path: null,
      additions: 2,
      deletions: 2,
    });
  });

  it("get_commit_messages takes max_commits", async () => {
    const commits = await call<{ message: string }[]>("get_commit_messages");
    expect(commits.map(({ message }) => message)).toEqual(["Second", "Say hello\n\nWith a body."]);
    expect(await call("get_commit_messages", { max_commits: 1 })).toEqual([
      {
        sha: expect.stringMatching(/^[0-9a-f]{40}$/),
        author: "Ada Author",
        date: expect.stringMatching(/^2026-/),
        message: "Second",
      },
    ]);
  });

  it("diff_file takes file_path", async () => {
    const diff = await call<FileDiffOutput>("diff_file", { file_path: "src/app.py" });
    expect(diff).toMatchObject({
      file_path: "src/app.py",
      additions: 2,
      deletions: 2,
      total_hunks: 2,
      returned_hunks: 2,
      start_hunk: 1,
      end_hunk: 2,
    });
    expect(diff.diff).toContain("\n-line 3\n+def hello():\n");
  });

  it("diff_file takes context_lines", async () => {
    const at = async (context_lines: number) =>
      (await call<FileDiffOutput>("diff_file", { file_path: "src/app.py", context_lines })).diff;
    expect(await at(0)).toContain("\n@@ -3 +3 @@");
    expect(await at(1)).toContain("\n line 2\n-line 3\n+def hello():\n line 4\n@@ ");
  });

  it("diff_file takes start_hunk", async () => {
    const { diff, returned_hunks } = await call<FileDiffOutput>("diff_file", {
      file_path: "src/app.py",
      start_hunk: 2,
    });
    expect([returned_hunks, diff.includes("def hello"), diff.includes("Hello = hello")]).toEqual([
      1,
      false,
      true,
    ]);
  });

  it("diff_file takes end_hunk", async () => {
    const { diff, returned_hunks } = await call<FileDiffOutput>("diff_file", {
      file_path: "src/app.py",
      end_hunk: 1,
    });
    expect([returned_hunks, diff.includes("-line 3"), diff.includes("Hello = hello")]).toEqual([
      1,
      true,
      false,
    ]);
  });

  it("read_file_part takes file_path", async () => {
    expect(await call<FileContent>("read_file_part", { file_path: "src/core/agent.ts" })).toMatchObject({
      file_path: "src/core/agent.ts",
      content: "1|export const agent = hello();",
      start_line: 1,
      end_line: 1,
      total_lines: 1,
    });
  });

  it("read_file_part takes start_line", async () => {
    const part = await call<FileContent>("read_file_part", { file_path: "src/app.py", start_line: 39 });
    expect(part).toMatchObject({ content: "39|line 39\n40|line 40", start_line: 39, end_line: 40 });
  });

  it("read_file_part takes end_line", async () => {
    const part = await call<FileContent>("read_file_part", { file_path: "src/app.py", end_line: 2 });
    expect(part).toMatchObject({
      content: "1|line 1\n2|line 2",
      start_line: 1,
      end_line: 2,
      total_lines: 40,
    });
  });

  it("search_in_files takes pattern", async () => {
    const [first] = await call<SearchMatch[]>("search_in_files", { pattern: "return hello\\(" });
    expect(first).toEqual({
      file_path: "src/core/agent.py",
      line_number: 3,
      line_content: "        return hello()",
      match_context: "1-class Agent:\n2-    def run(self):\n3:        return hello()",
    });
  });

  it("search_in_files takes file_pattern", async () => {
    const found = await call<SearchMatch[]>("search_in_files", {
      pattern: "hello",
      file_pattern: "*.{ts,yml}",
    });
    expect(found.map(({ file_path }) => file_path)).toEqual([".config/settings.yml", "src/core/agent.ts"]);
  });

  it("search_in_files takes context_lines", async () => {
    const sent = { pattern: "line 20$", path: "src/app.py" };
    const context = async (more: Record<string, unknown>) =>
      (await call<SearchMatch[]>("search_in_files", { ...sent, ...more }))[0]?.match_context.split("\n")
        .length;
    expect([
      await context({}),
      await context({ context_lines: 0 }),
      await context({ context_lines: 4 }),
    ]).toEqual([5, 1, 9]);
  });

  it("search_in_files takes max_results", async () => {
    expect(await call<SearchMatch[]>("search_in_files", { pattern: "line" })).toHaveLength(50);
    expect(await call<SearchMatch[]>("search_in_files", { pattern: "line", max_results: 3 })).toHaveLength(3);
  });

  it("list_files takes directory", async () => {
    expect(await call("list_files", { directory: "src" })).toEqual([
      "src/app.py",
      "src/core/agent.py",
      "src/core/agent.ts",
    ]);
    expect(await call<string[]>("list_files")).toContain("README.md");
  });

  it("list_files takes pattern", async () => {
    expect(await call("list_files", { pattern: "agent.*" })).toEqual([
      "src/core/agent.py",
      "src/core/agent.ts",
    ]);
  });

  it.each([
    ["a missing file", "read_file_part", { file_path: "nothing.py" }, /no such file/],
    [
      "a range that is not there",
      "read_file_part",
      { file_path: "README.md", start_line: 5 },
      /past the end/,
    ],
    ["a refused pattern", "search_in_files", { pattern: "(" }, /unclosed group/],
    ["a place outside", "list_files", { directory: "/etc" }, /outside the repository/],
  ])("Every tool answers %s with an error that the model can act on", async (_, tool, sent, message) => {
    const { result, text } = await tools.reading().run(tool, sent);
    expect(result.status).toBe("error");
    expect(text).toMatch(message);
  });
});
