import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openObjects } from "../../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { EditableWorkspace, Workspace } from "../../../src/repo/git/workspace.ts";
import { GitRepo, gitPath } from "../../support/git-repo.ts";
import { toolsOn } from "./context.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

let repo: GitRepo;
let range: Awaited<ReturnType<typeof openLocalRange>>;
let below: Workspace & AsyncDisposable;

beforeAll(async () => {
  repo = GitRepo.create({ bare: true });
  repo.importCommits([
    { branch: "main", files: [["a.txt", "old\n"]] },
    {
      branch: "topic",
      parents: ["main"],
      files: [
        ["a.txt", "one\ntwo\nthree\ntwo\n"],
        ["open.txt", "one\ntwo"],
        ["crlf.txt", "one\r\ntwo\r\nthree\r\n"],
        ["latin.txt", latin1("caf\xe9\ntwo\nna\xefve\n")],
        ["run.sh", { mode: "100755", data: "echo\n" }],
        ["image.png", Buffer.from([137, 0, 10, 13, 255])],
        ["link", { mode: "120000", data: "a.txt" }],
        ["module", { mode: "160000", data: "1".repeat(40) }],
        ["src/deep/b.ts", "const invisible = '\u200b';\n"],
        ["secrets/key.txt", "CANARY\n"],
      ],
    },
  ]);
  range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
  below = openObjects(range.place);
});
afterAll(async () => {
  await below?.[Symbol.asyncDispose]();
  await range?.dispose();
  repo?.dispose();
});

/** Files of their own for one test, and its tools. */
function open() {
  const files: EditableWorkspace & AsyncDisposable = openOverlay(below, range.place);
  onTestFinished(() => files[Symbol.asyncDispose]());
  const tools = toolsOn(files, { edit: files, private: ["secrets/"] });
  const paths = async () => (await files.edits()).map(({ path }) => path);
  return { ...tools, files, paths, bytes: (path: string) => files.read(path) };
}

const insert = (path: string, content: string, start_line: number) => {
  return { path, content, mode: "insert", start_line };
};
const replaceLines = (path: string, content: string, start_line: number, end_line?: number) => {
  return { path, content, mode: "replace_lines", start_line, end_line };
};
const edit = (path: string, old_string: string, new_string: string) => ({ path, old_string, new_string });

describe("write_file", () => {
  const write = async (sent: Record<string, unknown>) => {
    const tools = open();
    const output = await tools.output<Record<string, unknown>>("write_file", sent);
    return { output, bytes: (await tools.bytes(output.file_path as string)).toString("latin1"), tools };
  };

  it.each([
    ["makes a file, folders too", { path: "new/dir/x.ts", content: "x\n" }, "x\n"],
    [
      "puts a file in place of another",
      { path: "a.txt", content: "é" },
      latin1("\xc3\xa9").toString("latin1"),
    ],
    ["appends", { path: "a.txt", content: "four\n", mode: "append" }, "one\ntwo\nthree\ntwo\nfour\n"],
    ["appends to an open line", { path: "open.txt", content: "three", mode: "append" }, "one\ntwo\nthree"],
    ["makes a file to append to", { path: "log.txt", content: "x\n", mode: "append" }, "x\n"],
    ["inserts before a line", insert("a.txt", "x", 2), "one\nx\ntwo\nthree\ntwo\n"],
    ["inserts at the start", insert("open.txt", "x\n", 1), "x\none\ntwo"],
    ["inserts at the end", insert("open.txt", "x\n", 3), "one\ntwo\nx"],
    ["replaces lines", replaceLines("a.txt", "x\ny\n", 2, 3), "one\nx\ny\ntwo\n"],
    ["replaces one line", replaceLines("a.txt", "x", 1), "x\ntwo\nthree\ntwo\n"],
    ["removes lines", replaceLines("a.txt", "", 2, 4), "one\n"],
    ["keeps the missing end of the last line", replaceLines("open.txt", "x\n", 2), "one\nx"],
    ["keeps line ends", replaceLines("crlf.txt", "x\ny\n", 2), "one\r\nx\r\ny\r\nthree\r\n"],
    ["keeps line ends of a file that is replaced", { path: "crlf.txt", content: "x\ny" }, "x\r\ny"],
    ["takes lines as they were shown", insert("crlf.txt", "x␍\n", 1), "x\r\none\r\ntwo\r\nthree\r\n"],
    ["keeps the bytes of other lines", replaceLines("latin.txt", "é\n", 2), "caf\xe9\n\xe9\nna\xefve\n"],
  ])("write_file %s", async (_, sent, expected) => {
    expect((await write(sent)).bytes).toBe(expected);
  });

  it("write_file tells what it did, with the lines around", async () => {
    const { output } = await write(insert("a.txt", "x\n", 2));
    expect(output).toEqual({
      file_path: "a.txt",
      created: false,
      bytes: 20,
      total_lines: 5,
      backup_path: null,
      excerpt: expect.stringContaining("2|x"),
    });
  });

  it("write_file keeps what was there when it is asked to", async () => {
    const { output, tools } = await write({ path: "a.txt", content: "", backup: true });
    expect(output).toMatchObject({ backup_path: "a.txt.bak", total_lines: 0 });
    expect((await tools.bytes("a.txt.bak")).toString()).toBe("one\ntwo\nthree\ntwo\n");
  });

  it("write_file keeps the mode", async () => {
    const { tools } = await write({ path: "run.sh", content: "echo 2\n" });
    expect(await tools.files.edits()).toMatchObject([{ path: "run.sh", after: { mode: "100755" } }]);
  });

  it.each([
    [
      "a missing folder, if not wanted",
      { path: "new/x", content: "", create_dirs: false },
      /set create_dirs/,
    ],
    ["lines past the end", replaceLines("a.txt", "", 4, 5), /the file has 4 lines/],
    ["a late place", insert("a.txt", "", 6), /5 inserts behind the last/],
    ["lines of which the last comes first", replaceLines("a.txt", "", 3, 2), /is before start_line/],
    ["no line", { path: "a.txt", content: "x", mode: "insert" }, /needs start_line/],
    ["lines of a file that is not there", insert("b.txt", "x", 1), /mode overwrite makes it/],
    ["a binary file", { path: "image.png", content: "x", mode: "append" }, /binary file/],
    ["NUL", { path: "a.txt", content: "a\0b" }, /NUL/],
    ["what Latin-1 does not have", { path: "latin.txt", content: "日", mode: "append" }, /has no '日'/],
    ["a link", { path: "link", content: "x" }, /symbolic link/],
    ["what is behind a link", { path: "link/x", content: "x" }, /symbolic link/],
    ["a submodule", { path: "module/x", content: "x" }, /submodule/],
    ["a folder", { path: "src", content: "x" }, /is a folder/],
    ["a file's file", { path: "a.txt/x", content: "x" }, /is a file, not a folder/],
    ["a private file", { path: "secrets/key.txt", content: "x" }, /withheld/],
    ["a new private file", { path: "secrets/new.txt", content: "x" }, /withheld/],
    [".git", { path: ".git/hooks/pre-commit", content: "x" }, /inside .git/],
    [".GIT", { path: "sub/.GIT/config", content: "x" }, /inside .git/],
    ["the way out", { path: "../x", content: "x" }, /'\.\.'/],
    ["another place", { path: "/etc/passwd", content: "x" }, /outside the repository/],
    ["a name that no disk takes", { path: "n".repeat(300), content: "x" }, /No file can be written/],
  ])("write_file refuses %s, and changes nothing", async (_, sent, message) => {
    const tools = open();
    expect(await tools.error("write_file", sent)).toMatch(message);
    expect(await tools.paths()).toEqual([]);
  });
});

describe("edit_file", () => {
  it.each([
    ["the first occurrence", edit("a.txt", "two", "2"), "one\n2\nthree\ntwo\n"],
    [
      "every occurrence",
      { path: "a.txt", old_string: "two", new_string: "$&", replace_all: true },
      "one\n$&\nthree\n$&\n",
    ],
    ["several lines", edit("a.txt", "one\ntwo\n", ""), "three\ntwo\n"],
    ["own endings", edit("crlf.txt", "one\ntwo", "1\n2"), "1\r\n2\r\nthree\r\n"],
    ["shown lines", edit("crlf.txt", "one␍\ntwo", "1␍\n2"), "1\r\n2\r\nthree\r\n"],
    ["more lines", edit("crlf.txt", "two", "2\n2"), "one\r\n2\r\n2\r\nthree\r\n"],
    ["Latin-1 text", edit("latin.txt", "café", "thé"), "th\xe9\ntwo\nna\xefve\n"],
    [
      "invisible characters as they were shown",
      edit("src/deep/b.ts", "'\\u{200B}'", "''"),
      "const invisible = '';\n",
    ],
  ])("edit_file replaces %s", async (_, sent, expected) => {
    const tools = open();
    await tools.output("edit_file", sent);
    expect((await tools.bytes(sent.path)).toString("latin1")).toBe(expected);
  });

  it("edit_file says how many others were left", async () => {
    const { result, text } = await open().run("edit_file", {
      path: "a.txt",
      old_string: "two",
      new_string: "2",
    });
    expect(result).toMatchObject({ output: { file_path: "a.txt", replaced: 1, left: 1 } });
    expect(text).toMatch(/^Replaced 1 occurrence in a.txt; 1 other occurrence left as it is.\n1\|one\n2\|2/);
  });

  it.each([
    [
      "with the nearest lines",
      edit("a.txt", "threes\nfour", "x"),
      /Nearest to its first line is line 3:\n1\|one\n2\|two\n3\|three/,
    ],
    ["saying that white space differs", edit("a.txt", "one two", "x"), /It occurs with other white space/],
    ["saying that it was done before", edit("a.txt", "zzz", "three"), /The file holds new_string already/],
    ["of the same text", edit("a.txt", "one", "one"), /are the same/],
    ["of a missing file", edit("b.txt", "one", "1"), /no such file/],
    ["of a binary file", edit("image.png", "one", "1"), /binary file/],
    ["of a private file", edit("secrets/key.txt", "CANARY", "1"), /withheld/],
    ["of a link", edit("link", "a", "1"), /symbolic link/],
  ])("edit_file refuses an absent text %s", async (_, sent, message) => {
    const tools = open();
    expect(await tools.error("edit_file", sent)).toMatch(message);
    expect(await tools.paths()).toEqual([]);
  });
});

describe("copy_file, move_file and delete_file", () => {
  it("copy_file copies a file of any kind with its mode", async () => {
    const tools = open();
    await tools.output("copy_file", { source_path: "image.png", destination_path: "new/image.png" });
    await tools.output("copy_file", { source_path: "run.sh", destination_path: "new/run.sh" });
    expect(await tools.bytes("new/image.png")).toEqual(await tools.bytes("image.png"));
    expect((await tools.files.edits()).map(({ after }) => after?.mode)).toEqual(["100644", "100755"]);
  });

  it("move_file moves a file for every reading tool", async () => {
    const tools = open();
    await tools.output("move_file", { source_path: "src/deep/b.ts", destination_path: "lib/b.ts" });
    expect(await tools.output("list_files", { pattern: "*.ts" })).toEqual(["lib/b.ts"]);
    expect(await tools.error("read_file_part", { file_path: "src/deep/b.ts" })).toContain(
      "did you mean 'lib/b.ts'",
    );
    const found = { pattern: "invisible", output_mode: "files_with_matches" };
    expect(await tools.output("search_in_files", found)).toEqual(["lib/b.ts"]);
  });

  it("delete_file deletes a file", async () => {
    const tools = open();
    expect(await tools.output("delete_file", { path: "a.txt" })).toEqual({ file_path: "a.txt" });
    expect(await tools.files.edits()).toMatchObject([{ path: "a.txt", after: null }]);
    expect(await tools.output("changed_files")).toContainEqual(
      expect.objectContaining({ path: "a.txt", change_type: "deleted", deletions: 1 }),
    );
  });

  it.each([
    ["copy_file", { source_path: "a.txt", destination_path: "open.txt" }, /set overwrite/],
    ["copy_file", { source_path: "a.txt", destination_path: "src" }, /is a folder/],
    ["copy_file", { source_path: "secrets/key.txt", destination_path: "open.txt" }, /withheld/],
    ["copy_file", { source_path: "a.txt", destination_path: "secrets/x" }, /withheld/],
    ["move_file", { source_path: "a.txt", destination_path: "./a.txt" }, /is the file.s present path/],
    ["move_file", { source_path: "link", destination_path: "x" }, /symbolic link/],
    ["move_file", { source_path: "a.txt", destination_path: "a.txt/x" }, /is a file, not a folder/],
    ["delete_file", { path: "src" }, /is a folder/],
    ["delete_file", { path: "link" }, /symbolic link/],
    ["delete_file", { path: "secrets/key.txt" }, /withheld/],
  ])("copy_file, move_file and delete_file %s refuses %j", async (tool, sent, message) => {
    const tools = open();
    expect(await tools.error(tool, sent)).toMatch(message);
    expect(await tools.paths()).toEqual([]);
  });

  it("copy_file and move_file replace a file when they are asked to", async () => {
    const tools = open();
    await tools.output("move_file", { source_path: "a.txt", destination_path: "open.txt", overwrite: true });
    expect((await tools.bytes("open.txt")).toString()).toBe("one\ntwo\nthree\ntwo\n");
    expect(await tools.paths()).toEqual(["a.txt", "open.txt"]);
  });
});

it("No file is changed where nobody makes a fix", async () => {
  const tools = toolsOn(below);
  expect(await tools.error("write_file", { path: "a.txt", content: "x" })).toMatch(/only by a fix/);
});
