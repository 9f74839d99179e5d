import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { diffFile, type FileDiffOutput } from "../../../src/agent/tools/diff-file.ts";
import { runTool } from "../../../src/agent/tools/run-tool.ts";
import { MAX_DIFF_LINES } from "../../../src/repo/diff/file-diff.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";
import { type Content, GitRepo } from "../../support/git-repo.ts";
import { type ContextOptions, openRepository, type TestTools, toolsOn } from "./context.ts";

const numbered = (count: number, change: (line: number) => string = () => "") =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}${change(at + 1)}\n`).join("");
const everyTenth = (line: number) => (line % 10 === 5 ? " changed" : "");
const latin1 = (text: string) => Buffer.from(text, "latin1");
const moved = numbered(30);

const before: Record<string, Content> = {
  "sixty.txt": numbered(600),
  "two.ts": numbered(40),
  "bulk.txt": numbered(10),
  "old/name.ts": moved,
  "pure.ts": "pure\nrename\nhere\n",
  "mode.sh": "#!/bin/sh\n",
  "binary.bin": Buffer.from([0, 1, 2]),
  link: { mode: "120000", data: "two.ts" },
  "becomes-link": "text\n",
  "secrets/key.ts": moved.replaceAll("line", "secret"),
  "latin.txt": latin1("caf\xe9\nplain\n"),
  "wide.js": `${numbered(5)}${"x".repeat(20_000)}\n${numbered(5)}`,
};
const after: Record<string, Content | null> = {
  "sixty.txt": numbered(600, everyTenth),
  "two.ts": numbered(40, (line) => (line === 5 || line === 15 ? " changed" : "")),
  "bulk.txt": numbered(5_010),
  "old/name.ts": null,
  "new/name.ts": moved.replace("line 3\n", "line three\n"),
  "pure.ts": null,
  "renamed.ts": "pure\nrename\nhere\n",
  "mode.sh": { mode: "100755", data: "#!/bin/sh\n" },
  "binary.bin": Buffer.from([0, 3, 4]),
  link: { mode: "120000", data: "bulk.txt" },
  "becomes-link": { mode: "120000", data: "two.ts" },
  "secrets/key.ts": null,
  "public.ts": moved.replaceAll("line", "secret").replace("secret 3\n", "secret three\n"),
  "latin.txt": latin1("caf\xe9\nplainer\n"),
  "mixed.txt": Buffer.concat([Buffer.from("日本\n"), latin1("caf\xe9\n")]),
  "empty.txt": "",
  "hidden.ts": "const a = 1;\u200B\u{E0041}\r\n",
  "wide.js": `${numbered(5, (line) => (line === 4 ? "!" : ""))}${"x".repeat(20_000)}\n${numbered(5)}`,
  "minified.js": `${"y".repeat(50_000)}\nshort\n`,
};

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", before);
  repo.branch("topic");
  repo.commit("head", after);
  repo.importCommits([{ branch: "topic", files: [["sub", { mode: "160000", data: "a".repeat(40) }]] }]);
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

const open = (options: ContextOptions = {}) => toolsOn(opened.workspace, options);
const diff = (tools: TestTools, sent: Record<string, unknown>) =>
  tools.output<FileDiffOutput>("diff_file", sent);

describe("diff_file", () => {
  it("diff_file answers twenty hunks at a time and names the next call", async () => {
    const tools = open();
    const { result, text } = await tools.run("diff_file", { file_path: "sixty.txt" });
    expect(result).toMatchObject({
      status: "success",
      output: {
        additions: 60,
        deletions: 60,
        total_hunks: 60,
        returned_hunks: 20,
        start_hunk: 1,
        end_hunk: 20,
      },
      metadata: {
        truncated: true,
        next: { tool: "diff_file", arguments: { file_path: "sixty.txt", start_hunk: 21, end_hunk: 40 } },
      },
    });
    expect(text.split("\n")[0]).toBe("sixty.txt +60 -60, hunks 1-20 of 60");
    expect(text.split("\n").at(-1)).toBe(
      '(more: diff_file {"file_path":"sixty.txt","start_hunk":21,"end_hunk":40})',
    );
    const last = await diff(tools, { file_path: "sixty.txt", start_hunk: 41, end_hunk: 99 });
    expect(last).toMatchObject({ returned_hunks: 20, start_hunk: 41, end_hunk: 60 });
  });

  it("diff_file goes on for twenty hunks when only a start is given", async () => {
    expect(await diff(open(), { file_path: "sixty.txt", start_hunk: 21 })).toMatchObject({
      end_hunk: 40,
    });
  });

  it("diff_file numbers the lines as comments do", async () => {
    const { text } = await open().run("diff_file", { file_path: "two.ts", end_hunk: 1 });
    expect(text.split("\n").slice(1, 10)).toEqual([
      "@@ -2,7 +2,7 @@ line 1",
      "2  line 2",
      "3  line 3",
      "4  line 4",
      "5 -line 5",
      "5 +line 5 changed",
      "6  line 6",
      "7  line 7",
      "8  line 8",
    ]);
  });

  it("diff_file divides a hunk of 5,000 lines into consecutive hunks that each fit one answer", async () => {
    const tools = open();
    const parts: FileDiffOutput[] = [];
    let next: Record<string, unknown> | undefined = { file_path: "bulk.txt" };
    while (next) {
      const { result, text }: Awaited<ReturnType<TestTools["run"]>> = await tools.run("diff_file", next);
      if (result.status !== "success") throw new Error(text);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
      expect(tools.served).toEqual(result.metadata.next ? [] : ["bulk.txt#1"]);
      parts.push(result.output as FileDiffOutput);
      next = result.metadata.next?.arguments;
    }
    expect(parts.length).toBeGreaterThan(2);
    expect(parts[0]?.total_hunks).toBeGreaterThanOrEqual(parts.length);
    const added = parts.flatMap((part) => part.diff.split("\n").filter((line) => /^\+[^+]/.test(line)));
    expect(added).toEqual(Array.from({ length: 5_000 }, (_, at) => `+line ${at + 11}`));
  });

  it("diff_file shows a rename against its old path, by either name", async () => {
    const tools = open();
    const byNew = await tools.run("diff_file", { file_path: "new/name.ts" });
    expect(byNew.text.split("\n")[0]).toBe("new/name.ts (was old/name.ts) +1 -1, 1 hunk");
    expect((await diff(tools, { file_path: "old/name.ts" })).file_path).toBe("new/name.ts");
  });

  it.each([
    ["binary.bin", "Binary file modified; there is no textual diff."],
    ["mode.sh", "Mode changed from 100644 to 100755 (now executable file). The content is unchanged."],
    ["renamed.ts", "Renamed from 'pure.ts'. The content is unchanged."],
    ["link", "Was: symbolic link to 'two.ts'. Now: symbolic link to 'bulk.txt'."],
    ["becomes-link", "Was: file. Now: symbolic link to 'two.ts'."],
    ["sub", `Added: submodule at commit ${"a".repeat(40)}.`],
    ["empty.txt", "Empty file added."],
  ])("diff_file answers for %s in words", async (path, words) => {
    const tools = open();
    expect(await diff(tools, { file_path: path })).toMatchObject({
      diff: words,
      total_hunks: 0,
      returned_hunks: 0,
    });
    expect((await tools.run("diff_file", { file_path: path })).text).toBe(`${path}: ${words}`);
  });

  it("diff_file counts no hunk as served once nobody waits for the answer", async () => {
    const tools = open();
    const { fileDiff } = tools.context.diffs;
    const read = Promise.withResolvers<void>();
    const stop = new AbortController();
    let late: Promise<unknown> | undefined;
    const slow: TestTools["context"] = {
      ...tools.context,
      diffs: {
        ...tools.context.diffs,
        fileDiff: (change, width) => {
          const diff = read.promise.then(() => fileDiff(change, width));
          late = diff;
          return diff;
        },
      },
    };
    const answer = runTool(diffFile, { file_path: "two.ts" }, slow, { signal: stop.signal });
    await vi.waitFor(() => expect(late).not.toBeUndefined());
    stop.abort();
    expect((await answer).result.status).toBe("error");
    read.resolve();
    await late;
    await new Promise((done) => setTimeout(done, 20));

    expect(tools.served).toEqual([]);
  });

  it("diff_file keeps hidden characters raw in the output and spells them out for the model", async () => {
    const tools = open();
    const { result, text } = await tools.run("diff_file", { file_path: "hidden.ts" });
    expect(result).toMatchObject({
      output: { diff: expect.stringContaining("+const a = 1;\u200B\u{E0041}\r\n") },
    });
    expect(text).toContain("1 +const a = 1;\\u{200B}\\u{E0041}␍");
  });

  it("diff_file says that lines of a file are not UTF-8", async () => {
    const { text } = await open().run("diff_file", { file_path: "mixed.txt" });
    expect(text).toContain("1 +日本\n2 +café");
    expect(text).toContain("decoded as Latin-1");
  });

  it("diff_file says that a file is not UTF-8", async () => {
    const { result, text } = await open().run("diff_file", { file_path: "latin.txt" });
    expect(text).toContain("1  café");
    expect(text).toContain("decoded as Latin-1");
    expect(result.metadata.note).toContain("Latin-1");
  });

  it.each([
    ["a start past the end", { file_path: "two.ts", start_hunk: 3 }, /past the end: 'two\.ts' has 2 hunks/],
    ["a reversal", { file_path: "two.ts", start_hunk: 2, end_hunk: 1 }, /end_hunk 1 is before start_hunk 2/],
    ["an unchanged file", { file_path: "README.md" }, /no changed file 'README\.md'; changed_files lists/],
    ["a typing error", { file_path: "tow.ts" }, /did you mean 'two\.ts'/],
    ["a way out", { file_path: "../two.ts" }, /holds '\.\.'/],
  ])("diff_file refuses %s and says what to try", async (_, sent, words) => {
    expect(await open().error("diff_file", sent)).toMatch(words);
  });

  it("diff_file withholds private files and what was renamed from one", async () => {
    const tools = open({ private: ["secrets/"] });
    expect(await tools.error("diff_file", { file_path: "public.ts" })).toMatch(/withheld by configuration/);
    expect(await tools.error("diff_file", { file_path: "secrets/key.ts" })).toMatch(
      /withheld by configuration/,
    );
    expect(tools.served).toEqual([]);
  });
});

describe("a file of more lines than a diff may have", () => {
  const many = (change: (line: number) => string = () => "") => numbered(MAX_DIFF_LINES + 10, change);
  let bulky: GitRepo;
  let over: Awaited<ReturnType<typeof openRepository>>;

  beforeAll(async () => {
    bulky = GitRepo.create({ bare: true });
    const files: [string, string][] = [["scattered.txt", many((line) => (line % 2_000 === 1 ? "!" : ""))]];
    bulky.importCommits([
      {
        branch: "main",
        files: [
          ["scattered.txt", many()],
          ["gone.txt", many()],
        ],
      },
      {
        branch: "topic",
        parents: ["main"],
        files: [...files, ["added.txt", "\n".repeat(MAX_DIFF_LINES + 1)], ["gone.txt", null]],
      },
    ]);
    over = await openRepository(bulky);
  });
  afterAll(async () => {
    await over?.[Symbol.asyncDispose]();
    bulky?.dispose();
  });

  it("A file that is too long for a diff has no diff, and its lines are read in another way", async () => {
    const tools = toolsOn(over.workspace);
    for (const [file_path, lines] of [
      ["added.txt", "200,001"],
      ["gone.txt", "200,010"],
    ] as const) {
      expect(await tools.error("diff_file", { file_path })).toBe(
        `'${file_path}' has ${lines} changed lines, and no diff has more than 200,000 lines. Read the file in parts with read_file_part, at merge_base for what was removed`,
      );
    }
    const sent = { file_path: "added.txt", start_line: MAX_DIFF_LINES + 1 };
    expect(await tools.output("read_file_part", sent)).toMatchObject({ content: `${MAX_DIFF_LINES + 1}|` });
  });

  it("A file that is too long for a diff has one where little changed", async () => {
    const tools = toolsOn(over.workspace);
    expect(await diff(tools, { file_path: "scattered.txt" })).toMatchObject({ total_hunks: 101 });
    const sent = { file_path: "scattered.txt", context_lines: 1_000 };
    expect(await tools.error("diff_file", sent)).toBe(
      "The diff of 'scattered.txt' with 1,000 lines of context has more than 200,000 lines. Ask for fewer context_lines, or read the file in parts with read_file_part",
    );
  });

  it("A file that is too long for a diff is not compared with another either", async () => {
    const sent = { file_path1: "scattered.txt", file_path2: "added.txt" };
    expect(await toolsOn(over.workspace).error("diff_files", sent)).toMatch(
      /'scattered\.txt' and 'added\.txt'.*more than 200,000 lines.*read_file_part/,
    );
  });
});

describe("coverage of diff_file", () => {
  it("Coverage of diff_file serves the hunks of a page, once", async () => {
    const tools = open();
    await diff(tools, { file_path: "sixty.txt", start_hunk: 3, end_hunk: 4 });
    await diff(tools, { file_path: "sixty.txt", start_hunk: 4, end_hunk: 5 });
    expect(tools.served).toEqual(["sixty.txt#3", "sixty.txt#4", "sixty.txt#5"]);
  });

  it("Coverage of diff_file serves the -U3 hunks that a wider context covers", async () => {
    const tools = open();
    expect(await diff(tools, { file_path: "two.ts", context_lines: 20 })).toMatchObject({ total_hunks: 1 });
    expect(tools.served).toEqual(["two.ts#1", "two.ts#2"]);
  });

  it("Coverage of diff_file serves nothing by a narrower context", async () => {
    const tools = open();
    await diff(tools, { file_path: "two.ts", context_lines: 0 });
    await diff(tools, { file_path: "two.ts", context_lines: 2 });
    expect(tools.served).toEqual([]);
    await diff(tools, { file_path: "two.ts", start_hunk: 2, end_hunk: 2 });
    expect(tools.served).toEqual(["two.ts#2"]);
  });

  it("Coverage of diff_file serves no hunk whose changed line could only be shown in part", async () => {
    const tools = open();
    const { text } = await tools.run("diff_file", { file_path: "minified.js" });
    expect(text).toMatch(/more characters of this line/);
    expect(tools.served).toEqual([]);
    const files = await tools.context.diffs.files();
    const minified = files.find(({ change }) => change.path === "minified.js");
    expect(minified).toMatchObject({ skipReason: "overlong lines", account: "unread" });
  });

  it("Coverage of diff_file serves a hunk of which an unchanged line is overlong", async () => {
    const tools = open();
    await diff(tools, { file_path: "wide.js" });
    expect(tools.served).toEqual(["wide.js#1"]);
  });

  it("Coverage of diff_file keeps the reviews apart", async () => {
    const [one, other] = [open(), open()];
    await diff(one, { file_path: "two.ts", start_hunk: 1, end_hunk: 1 });
    await diff(other, { file_path: "two.ts", start_hunk: 2, end_hunk: 2 });
    expect([one.served, other.served]).toEqual([["two.ts#1"], ["two.ts#2"]]);
  });
});
