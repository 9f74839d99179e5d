import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readingTools } from "../../../src/agent/tools/index.ts";
import { withinLimits } from "../../../src/agent/tools/read-arguments.ts";
import type { GitRepo } from "../../support/git-repo.ts";
import { openRepository, toolsOn } from "./context.ts";
import { createReadingRepo } from "./reading-repo.ts";

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;

beforeAll(async () => {
  repo = createReadingRepo();
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

const tool = (name: string) => readingTools.find((one) => one.name === name)!;

describe("a number beyond its limits", () => {
  it.each([
    [
      "search_in_files",
      { pattern: "needle", context_lines: 30 },
      { context_lines: 20 },
      "context_lines 30 is more than 20: 20 was taken.",
    ],
    [
      "search_in_files",
      { pattern: "needle", after_context: 99 },
      { after_context: 20 },
      "after_context 99 is more than 20: 20 was taken.",
    ],
    [
      "search_in_files",
      { pattern: "needle", max_results: 5_000 },
      { max_results: 1_000 },
      "max_results 5000 is more than 1000: 1000 was taken.",
    ],
    [
      "search_in_files",
      { pattern: "needle", max_results: 0 },
      { max_results: 1 },
      "max_results 0 is less than 1: 1 was taken.",
    ],
    [
      "get_commit_messages",
      { max_commits: 1_000 },
      { max_commits: 250 },
      "max_commits 1000 is more than 250: 250 was taken.",
    ],
    [
      "diff_file",
      { file_path: "src/a.ts", context_lines: 100_000 },
      { context_lines: 1_000 },
      "context_lines 100000 is more than 1000: 1000 was taken.",
    ],
    [
      "diff_file",
      { file_path: "src/a.ts", start_hunk: 0 },
      { start_hunk: 1 },
      "start_hunk 0 is less than 1: 1 was taken.",
    ],
    [
      "diff_files",
      { file_path1: "src/a.ts", file_path2: "src/b.test.ts", context_lines: -1 },
      { context_lines: 0 },
      "context_lines -1 is less than 0: 0 was taken.",
    ],
    [
      "read_file_part",
      { file_path: "src/a.ts", start_line: 2, end_line: -1 },
      { end_line: null },
      "end_line -1 is less than 1: it counts as left out.",
    ],
    [
      "read_file_part",
      { file_path: "src/a.ts", start_line: 0 },
      { start_line: null },
      "start_line 0 is less",
    ],
    ["changed_files", { start: 0 }, { start: null }, "start 0 is less than 1: it counts as left out."],
    ["list_files", { depth: 0 }, { depth: null }, "depth 0 is less than 1: it counts as left out."],
  ])(
    "A number beyond its limits is brought back in %s %j, which says so",
    async (name, sent, taken, words) => {
      const tools = toolsOn(opened.workspace);
      const beyond = await tools.run(name, sent);
      const within = await tools.run(name, { ...sent, ...taken });

      expect(within.result.status).toBe("success");
      expect(beyond.result).toMatchObject({
        status: "success",
        metadata: { note: expect.stringContaining(words) },
      });
      expect(beyond.result.status === "success" && beyond.result.output).toEqual(
        within.result.status === "success" && within.result.output,
      );
      expect(beyond.text).toContain(words);
      expect(within.text).not.toContain("was taken");
    },
  );

  it("A number beyond its limits stands beside what the tool has to say itself", async () => {
    const sent = { pattern: "caf", path: "latin.txt", context_lines: 21 };
    const { text } = await toolsOn(opened.workspace).run("search_in_files", sent);

    expect(text).toContain("(context_lines 21 is more than 20: 20 was taken. Not UTF-8;");
  });

  it("A number beyond its limits costs nothing else: other arguments stay as they are", () => {
    const sent = { file_path: "a", start_line: 3, end_line: 4, ref: "base" };

    expect(withinLimits(tool("read_file_part"), sent)).toEqual({ input: sent, changes: [] });
  });

  it("A line number that must not be replaced stays an error", async () => {
    const tools = toolsOn(opened.workspace);

    expect(await tools.error("read_file_part", { file_path: "src/a.ts", start_line: 7 })).toContain(
      "past the end",
    );
    expect(await tools.error("search_in_files", { pattern: "a", context_lines: "many" })).toContain(
      "context_lines",
    );
    expect(await tools.error("search_in_files", { pattern: "a", context_lines: 1.5 })).toContain(
      "context_lines",
    );
  });
});
