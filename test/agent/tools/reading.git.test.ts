import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { type ContextOptions, openRepository, toolsOn } from "./context.ts";
import { createReadingRepo } from "./reading-repo.ts";

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
const open = (options: ContextOptions = {}) => toolsOn(opened.workspace, options);

beforeAll(async () => {
  repo = createReadingRepo();
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

describe("changed_files", () => {
  it("changed_files tells what is reviewed and why something is not", async () => {
    const files = await open().output<Record<string, unknown>[]>("changed_files");
    expect(files.find((file) => file.path === "src/a.ts")).toEqual({
      path: "src/a.ts",
      change_type: "modified",
      old_path: null,
      additions: 4,
      deletions: 1,
      binary: false,
      total_hunks: 1,
      reviewable: true,
      skip_reason: null,
    });
    const skipped = files.filter((file) => !file.reviewable).map((file) => [file.path, file.skip_reason]);
    expect(Object.fromEntries(skipped)).toEqual({
      "image.png": "binary data",
      link: "symbolic link to another place",
      "package-lock.json": "lock file",
      "wide.txt": "overlong lines",
    });
    expect(files.find((file) => file.path === "image.png")).toMatchObject({ binary: true, additions: null });
  });

  it("changed_files shows one line a file", async () => {
    const { text } = await open({ private: ["secrets/"] }).run("changed_files");
    const lines = text.split("\n");
    expect(lines[0]).toBe("13 changed files (A added, M modified, D deleted, R renamed, T type changed):");
    expect(lines).toContain("M src/a.ts +4 -1 1 hunk");
    expect(lines).toContain("M package-lock.json +1 -1 not reviewed: lock file");
    expect(lines).toContain("A image.png not reviewed: binary data");
    expect(lines).toContain("A secrets/key.txt +1 -0 not reviewed: withheld by configuration");
  });

  it("changed_files answers a range of files and says how many are left", async () => {
    const { result, text } = await open().run("changed_files", { start: 2, end: 3 });
    expect(result).toMatchObject({ output: [{ path: "crlf.txt" }, { path: "empty.txt" }] });
    expect(text).toContain("(10 further files changed.)");
    expect(await open().error("changed_files", { start: 14 })).toBe(
      "start 14 is past the end: 13 files changed",
    );
    expect(await open().error("changed_files", { start: 3, end: 2 })).toBe("end 2 is before start 3");
  });
});

describe("get_commit_messages", () => {
  it("get_commit_messages gives whole messages, newest first, and the call for more", async () => {
    const { result, text } = await open().run("get_commit_messages");
    expect(result).toMatchObject({ metadata: { truncated: true, next: { arguments: { max_commits: 80 } } } });
    expect(text).toMatch(/^[0-9a-f]{12} 2026-01-01T\S+ Ada Author\n {2}Commit 24\n/);
    const all = await open().output<{ message: string; date: string }[]>("get_commit_messages", {
      max_commits: 25,
    });
    expect(all).toHaveLength(25);
    expect(all.at(-1)?.message).toBe("Rename the parser\n\nBecause it parses.\n\nRefs #1");
  });
});

describe("a commit message with carriage returns", () => {
  it("A commit message with carriage returns is shown without them, and given as it is", async () => {
    using repo = GitRepo.create({ bare: true });
    const message = "Read twice\r\n\r\nOnce\rfor all\r\n";
    repo.importCommits([
      { branch: "main", files: [["a.ts", "1\n"]] },
      { branch: "topic", parents: ["main"], message, files: [["a.ts", "2\n"]] },
    ]);
    await using over = await openRepository(repo);
    const { result, text } = await toolsOn(over.workspace).run("get_commit_messages");

    expect(text).toMatch(/\n {2}Read twice\n {2}\n {2}Once␍for all$/);
    expect(result).toMatchObject({ output: [{ message: expect.stringContaining("twice\r\n\r\nOnce") }] });
  });
});

describe("read_file_part", () => {
  it("read_file_part numbers the lines", async () => {
    const { result, text } = await open().run("read_file_part", {
      file_path: "src/a.ts",
      start_line: 2,
      end_line: 3,
    });
    expect(result).toMatchObject({
      output: {
        file_path: "src/a.ts",
        content: "2|TWO needle\n3|three",
        start_line: 2,
        end_line: 3,
        total_lines: 6,
      },
    });
    expect(text).toBe("src/a.ts, lines 2-3 of 6\n2|TWO needle\n3|three");
  });

  it("read_file_part reads other revisions", async () => {
    const { text } = await open().run("read_file_part", { file_path: "src/a.ts", ref: "merge_base" });
    expect(text).toBe("src/a.ts at merge_base, 3 lines\n1|one\n2|two\n3|three");
  });

  it("read_file_part clamps the end, and names the length when the start is past it", async () => {
    const tools = open();
    const clamped = await tools.output<FileContent>("read_file_part", {
      file_path: "src/a.ts",
      end_line: 99,
    });
    expect(clamped).toMatchObject({ end_line: 6, total_lines: 6 });
    const past = await tools.error("read_file_part", { file_path: "src/a.ts", start_line: 7 });
    expect(past).toBe("start_line 7 is past the end: 'src/a.ts' has 6 lines at head");
    const reversed = await tools.error("read_file_part", {
      file_path: "src/a.ts",
      start_line: 4,
      end_line: 2,
    });
    expect(reversed).toBe("end_line 2 is before start_line 4; 'src/a.ts' has 6 lines");
  });

  it("read_file_part reads a large file in pages", async () => {
    const { result, text } = await open().run("read_file_part", { file_path: "long.txt" });
    if (result.status !== "success") throw new Error(text);
    const { end_line } = result.output as FileContent;
    const more = /\(more: read_file_part (\{.*\})\)$/.exec(text)?.[1];
    expect(JSON.parse(more ?? "null")).toEqual(result.metadata.next?.arguments);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    expect(end_line).toBeGreaterThan(1_500);
    expect(result.metadata.next).toEqual({
      tool: "read_file_part",
      arguments: { file_path: "long.txt", start_line: end_line + 1, end_line: 9_000 },
    });
  });

  it.each([
    ["an empty file", "empty.txt", "empty.txt is empty"],
    ["carriage returns", "crlf.txt", "crlf.txt, 2 lines\n1|a␍\n2|b␍"],
    ["another encoding", "latin.txt", "latin.txt, 1 line (not UTF-8, decoded as Latin-1)\n1|café"],
  ])("read_file_part shows %s", async (_, path, shown) => {
    expect((await open().run("read_file_part", { file_path: path })).text).toBe(shown);
  });

  it("read_file_part shows the beginning of an overlong line and goes on with the next", async () => {
    const { text } = await open().run("read_file_part", { file_path: "wide.txt" });
    expect(text).toMatch(/^wide\.txt, 2 lines\n1\|x+… \[\d+ more characters of this line\]\n2\|short$/);
  });

  it("read_file_part names a binary file as one", async () => {
    const error = await open().error("read_file_part", { file_path: "image.png" });
    expect(error).toBe("'image.png' is a binary file of 4 bytes");
  });
});

describe("list_files", () => {
  const list = (sent: Record<string, unknown> = {}) => open().output("list_files", sent);

  it.each([
    ["a folder", { directory: "src" }, ["src/a.ts", "src/b.test.ts", "src/deep/er/c.py"]],
    ["one level", { directory: "src", depth: 1 }, ["src/a.ts", "src/b.test.ts"]],
    ["folders", { type: "directory" }, [".config", "secrets", "src", "src/deep", "src/deep/er"]],
    ["both", { directory: "src", type: "any", depth: 1 }, ["src/a.ts", "src/b.test.ts", "src/deep"]],
    ["a name", { pattern: "*.ts" }, ["src/a.ts", "src/b.test.ts"]],
    ["a glob from the root", { directory: "src", pattern: "src/**/*.py" }, ["src/deep/er/c.py"]],
    ["a glob below the folder", { directory: "src", pattern: "/*.ts" }, ["src/a.ts", "src/b.test.ts"]],
    ["what does not match", { directory: "src", pattern: "!*.ts" }, ["src/deep/er/c.py"]],
    ["a folder's name", { pattern: "deep/" }, ["src/deep/er/c.py"]],
    ["nothing hidden", { show_hidden: false, pattern: "*.yml" }, []],
    ["hidden files", { pattern: "*.yml" }, [".config/hidden.yml"]],
    [
      "sizes",
      { directory: "src", type: "any", depth: 1, with_size: true },
      [
        { path: "src/a.ts", is_dir: false, size: 38 },
        { path: "src/b.test.ts", is_dir: false, size: 23 },
        { path: "src/deep", is_dir: true, size: null },
      ],
    ],
  ])("list_files lists %s", async (_, sent, expected) => expect(await list(sent)).toEqual(expected));

  it("list_files takes a pattern with as many stars as there is room for", async () => {
    const list = async (pattern: string) => (await open().run("list_files", { pattern })).result;
    expect(await list("**/src/**/**/**/*a*.ts")).toMatchObject({ output: ["src/a.ts"] });
    expect(await list(`${"*a".repeat(249)}b`)).toMatchObject({ output: [] });
  });

  it("list_files shows files under their folder", async () => {
    const { text } = await open().run("list_files", { directory: "src" });
    expect(text).toBe("src/\n  a.ts\n  b.test.ts\nsrc/deep/er/\n  c.py");
    const none = await open().run("list_files", { directory: "src", pattern: "*.rs" });
    expect(none.text).toBe("Nothing in 'src' that matches '*.rs'.");
  });
});

describe("diff_files", () => {
  it("diff_files compares two files, or one at two revisions", async () => {
    const tools = open();
    const sent = { file_path1: "src/a.ts", file_path2: "src/a.ts", ref1: "merge_base", context_lines: 0 };
    const { result, text } = await tools.run("diff_files", sent);
    expect(result).toMatchObject({ output: expect.stringContaining("@@ -2 +2 @@ one\n-two\n+TWO needle\n") });
    expect(text).toMatch(
      /^src\/a\.ts \(merge_base\) -> src\/a\.ts \(head\), 2 hunks\n@@ -2 \+2 @@.*\n2 -two\n2 \+TWO/,
    );
  });

  it("diff_files says exactly when files are identical", async () => {
    const same = { file_path1: "src/a.ts", file_path2: "./src/a.ts" };
    expect(await open().output("diff_files", same)).toBe("Files are identical.");
  });

  it("diff_files names binary files, missing ones and what is too long", async () => {
    const tools = open();
    const binary = { file_path1: "image.png", file_path2: "src/a.ts" };
    expect(await tools.output("diff_files", binary)).toBe("Binary files 'image.png' and 'src/a.ts' differ.");
    expect(await tools.error("diff_files", { file_path1: "src/x.ts", file_path2: "src/a.ts" })).toMatch(
      /no such file/,
    );
    const { text } = await tools.run("diff_files", { file_path1: "empty.txt", file_path2: "long.txt" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    expect(text).toMatch(/\(\d+ further hunks? did not fit; read_file_part reads both files\)$/);
  });
});
