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
  it.each<[tool: string, others: object, name: string, given: number, taken: number | null]>([
    ["search_in_files", { pattern: "needle" }, "context_lines", 30, 20],
    ["search_in_files", { pattern: "needle" }, "after_context", 99, 20],
    ["search_in_files", { pattern: "needle" }, "max_results", 5_000, 1_000],
    ["search_in_files", { pattern: "needle" }, "max_results", 0, 1],
    ["get_commit_messages", {}, "max_commits", 1_000, 250],
    ["diff_file", { file_path: "src/a.ts" }, "context_lines", 100_000, 1_000],
    ["diff_file", { file_path: "src/a.ts" }, "start_hunk", 0, 1],
    ["diff_files", { file_path1: "src/a.ts", file_path2: "src/b.test.ts" }, "context_lines", -1, 0],
    ["read_file_part", { file_path: "src/a.ts", start_line: 2 }, "end_line", -1, null],
    ["read_file_part", { file_path: "src/a.ts" }, "start_line", 0, null],
    ["changed_files", {}, "start", 0, null],
    ["list_files", {}, "depth", 0, null],
  ])("%s %j says that it brings %s %i back to %s", async (tool, others, name, given, taken) => {
    const instead = taken === null ? "it counts as left out." : `${taken} was taken.`;
    const words = `${name} ${given} is ${given > 1 ? "more" : "less"} than ${taken ?? 1}: ${instead}`;
    const tools = toolsOn(opened.workspace);
    const beyond = await tools.run(tool, { ...others, [name]: given });
    const within = await tools.run(tool, { ...others, [name]: taken });

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
  });

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
