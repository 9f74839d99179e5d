import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openObjects } from "../../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { GitRepo, gitPath } from "../../support/git-repo.ts";
import { toolsOn } from "./context.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const longName = "n".repeat(253);
/** A byte order mark as its bytes are. */
const mark = "\xef\xbb\xbf";

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
        ["marked.txt", latin1(`${mark}one\ntwo\n`)],
        ["mostly-lf.txt", "a\nb\nc\r\nd\r\ne\nf\ng\n"],
        ["mostly-crlf.txt", "a\r\nb\r\nc\nd\ne\r\nf\r\ng\r\n"],
        ["old-mac.txt", "a\rb\rc"],
        ["large.txt", "x".repeat(5_000_000)],
        ["many.txt", "x".repeat(1_000)],
        [longName, "kept\n"],
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
  const files = openOverlay(below, range.place);
  onTestFinished(() => files[Symbol.asyncDispose]());
  const bytes = async (path: string) => (await files.read(path)).toString("latin1");
  const paths = async () => (await files.edits()).map(({ path }) => path);
  return { ...toolsOn(files, { edit: files }), files, bytes, paths };
}

describe("a byte order mark", () => {
  it.each([
    ["write_file", { content: "ONE\n" }, "ONE\n"],
    ["write_file", { content: "\ufeffONE\n" }, "ONE\n"],
    ["write_file", { content: "ONE\n", mode: "replace_lines", start_line: 1 }, "ONE\ntwo\n"],
    ["write_file", { content: "zero\n", mode: "insert", start_line: 1 }, "zero\none\ntwo\n"],
    ["write_file", { content: "three\n", mode: "append" }, "one\ntwo\nthree\n"],
    ["edit_file", { old_string: "one\ntwo", new_string: "1\n2" }, "1\n2\n"],
    ["edit_file", { old_string: "\\u{FEFF}one", new_string: "\\u{FEFF}1" }, "1\ntwo\n"],
  ])(
    "A byte order mark stays at the beginning of its file whatever %s does: %j",
    async (tool, sent, expected) => {
      const tools = open();
      await tools.output(tool, { path: "marked.txt", ...sent });
      expect(await tools.bytes("marked.txt")).toBe(mark + expected);
    },
  );
});

describe("lines that end otherwise than the others of their file", () => {
  const [few, many] = ["mostly-lf.txt", "mostly-crlf.txt"];
  it.each([
    ["c\nd\n", "C\nD\n", few, "a\nb\nC\r\nD\r\ne\nf\ng\n"],
    ["c␍\nd␍\n", "C␍\nD␍\n", few, "a\nb\nC\r\nD\r\ne\nf\ng\n"],
    ["b\nc\nd\ne", "B\nC\nD\nE", few, "a\nB\nC\r\nD\r\nE\nf\ng\n"],
    ["c", "C\nC2", few, "a\nb\nC\r\nC2\r\nd\r\ne\nf\ng\n"],
    ["c\nd\n", "C\nD\nD2\n", many, "a\r\nb\r\nC\nD\nD2\ne\r\nf\r\ng\r\n"],
    ["b\nc\n", "", many, "a\r\nd\ne\r\nf\r\ng\r\n"],
    ["a␍b", "A␍B", "old-mac.txt", "A\rB\rc"],
  ])(
    "Odd line ends are found and kept: %j becomes %j in %s",
    async (old_string, new_string, path, expected) => {
      const tools = open();
      await tools.output("edit_file", { path, old_string, new_string });
      expect(await tools.bytes(path)).toBe(expected);
    },
  );

  it("Lines that end otherwise than the others of their file count among all that are replaced", async () => {
    const tools = open();
    await tools.files.write("ends.txt", Buffer.from("x\ny\nx\r\ny\r\nx\ny"));
    const sent = { path: "ends.txt", old_string: "x\ny", new_string: "z\n\nz" };
    expect(await tools.output("edit_file", sent)).toMatchObject({ replaced: 1, left: 2 });
    expect(await tools.output("edit_file", { ...sent, replace_all: true })).toMatchObject({ replaced: 2 });
    expect(await tools.bytes("ends.txt")).toBe("z\n\nz\nz\r\n\r\nz\r\nz\n\nz");
  });
});

describe("a changing tool", () => {
  it.each([
    [
      "a file that becomes too large, and its backup",
      "write_file",
      { path: "large.txt", content: "y".repeat(400_000), mode: "append", backup: true },
      /more than 5242880/,
    ],
    [
      "a file whose backup no disk takes",
      "write_file",
      { path: longName, content: "new\n", backup: true },
      /No file can be written at 'n+\.bak'/,
    ],
    ["a folder by its name", "write_file", { path: "new/", content: "x" }, /'new\/' is a folder/],
    ["a folder path", "copy_file", { source_path: "a.txt", destination_path: "lib/" }, /'lib\/' is a folder/],
    [
      "what would multiply a file beyond what is written",
      "edit_file",
      { path: "many.txt", old_string: "x", new_string: "y".repeat(20_000), replace_all: true },
      /would have 20000000 bytes, more than 16777216/,
    ],
    ["half a character", "write_file", { path: "a.txt", content: "a\ud83d" }, /half of a character/],
    ["half a character in a name", "write_file", { path: "a\ud83d", content: "x" }, /No file can be written/],
    // What hides in a name by git's escapes is read as a name of git's own when it is committed.
    [
      "a name in other letters than git tells it in",
      "write_file",
      { path: ".g\\342\\200\\214it/config", content: "x" },
      /No file can be written/,
    ],
  ])("A changing tool refuses %s, and changes nothing", async (_, tool, sent, message) => {
    const tools = open();
    expect(await tools.error(tool, sent)).toMatch(message);
    expect(await tools.paths()).toEqual([]);
  });
});

it("What was changed is in the diff at once, also of a file whose diff was read before", async () => {
  const tools = open();
  const seen = async () => {
    const { diff } = await tools.output<{ diff: string }>("diff_file", { file_path: "a.txt" });
    const changed = await tools.output<{ path: string }[]>("changed_files");
    return [diff.includes("+ZWEI"), diff.includes("mode 100755"), changed.some(({ path }) => path === "b")];
  };
  expect(await seen()).toEqual([false, false, false]);
  await tools.output("edit_file", { path: "a.txt", old_string: "two", new_string: "ZWEI" });
  await tools.output("write_file", { path: "b", content: "b\n" });
  expect(await seen()).toEqual([true, false, true]);
  await tools.files.write("a.txt", await tools.files.read("a.txt"), { mode: "100755" });
  await tools.output("delete_file", { path: "b" });
  expect(await seen()).toEqual([true, true, false]);
});
