import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange } from "../../../src/agent/tools/changed-files.ts";
import type { FileDiffOutput } from "../../../src/agent/tools/diff-file.ts";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { type ContextOptions, openRepository, toolsOn } from "./context.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
const open = (options: ContextOptions = {}) => toolsOn(opened.workspace, options);

beforeAll(async () => {
  repo = GitRepo.create({ bare: true });
  repo.importCommits([
    {
      branch: "main",
      files: [
        [latin1("old\xe9.py"), "1\n2\n3\n4\n"],
        ...["a/x.py", "a.py", "a b/x.py"].map((path) => [path, ""] as const),
      ],
    },
    {
      branch: "topic",
      parents: ["main"],
      files: [
        ["é.py", "UTF-8\n"],
        [latin1("\xe9.py"), "Latin-1\n"],
        ["\\351.py", "backslash\n"],
        [latin1("dir\xe9/\xe9.py"), "in a folder\n"],
        [latin1("secrets/\xe9.txt"), "CANARY\n"],
        [latin1("old\xe9.py"), null],
        ["new.py", "1\n2\n3\n4\nfive\n"],
      ],
    },
  ]);
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

/** Each path with the line that its file has. */
const files = [
  ["é.py", "UTF-8"],
  ["\\351.py", "Latin-1"],
  ["\\134351.py", "backslash"],
  ["dir\\351/\\351.py", "in a folder"],
] as const;

describe("folders whose names go on where another ends", () => {
  it("Folders whose names go on where another ends are listed in git's order", async () => {
    const told = repo.git("ls-tree", "-r", "-t", "--name-only", "topic", "a", "a.py", "a b").split("\n");
    expect(told).toEqual(["a b", "a b/x.py", "a.py", "a", "a/x.py"]);
    expect(await open().output("list_files", { pattern: "/a*", type: "any" })).toEqual(told);
    expect(await open().output("list_files", { pattern: "/a*", type: "directory" })).toEqual(["a b", "a"]);
  });
});

describe("files whose names are alike in some encoding", () => {
  it("Files whose names are alike in some encoding are each listed, shown and covered", async () => {
    const tools = open();
    const changed = await tools.output<FileChange[]>("changed_files");
    expect(changed.map((file) => file.path)).toEqual(expect.arrayContaining(files.map(([path]) => path)));
    expect(await tools.output("list_files")).toEqual(expect.arrayContaining(files.map(([path]) => path)));
    for (const [file_path, line] of files) {
      const { diff } = await tools.output<FileDiffOutput>("diff_file", { file_path });
      expect(diff).toContain(`\n+${line}\n`);
      expect((await tools.output<FileContent>("read_file_part", { file_path })).content).toBe(`1|${line}`);
    }
    expect(tools.served).toEqual(files.map(([path]) => `${path}#1`));
  });

  it("Files whose names are alike in some encoding are found below their folder", async () => {
    const tools = open();
    expect(await tools.output("list_files", { directory: "dir\\351" })).toEqual(["dir\\351/\\351.py"]);
    const sent = { pattern: "folder", path: "dir\\351", output_mode: "files_with_matches" };
    expect(await tools.output("search_in_files", sent)).toEqual(["dir\\351/\\351.py"]);
  });

  it("Files whose names are alike in some encoding are taken as git quotes them", async () => {
    const tools = open();
    const { text } = await tools.run("diff_file", { file_path: "new.py" });
    expect(text).toContain('new.py (was "old\\351.py") +1 -0, 1 hunk');
    expect((await tools.output<FileDiffOutput>("diff_file", { file_path: '"old\\351.py"' })).file_path).toBe(
      "new.py",
    );
    expect(await tools.error("read_file_part", { file_path: '"' })).toMatch(/no such file/);
  });

  it("Files whose names are alike in some encoding are as private as their folder", async () => {
    const tools = open({ private: ["secrets/"] });
    const { text } = await tools.run("search_in_files", { pattern: "CANARY" });
    expect(text).toContain("No match");
    expect(await tools.error("read_file_part", { file_path: "secrets/\\351.txt" })).toMatch(/withheld/);
    expect(await tools.error("diff_file", { file_path: "secrets/\\351.txt" })).toMatch(/withheld/);
  });
});
