import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { graphTools, readingTools, reportingTools } from "../../../src/agent/tools/index.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";
import { runHere } from "../../support/run-program.ts";
import { faultyRepo, fingerprintOf } from "../sample-repo.ts";

let repo: GitRepo;
let data: TempFolder;
beforeAll(() => {
  data = new TempFolder("tool-data");
  // Where the graph's index goes.
  vi.stubEnv("HUNKWISE_DATA_DIR", data.path);
  repo = faultyRepo({
    "secrets/key.txt": "hidden",
    ".github/hunkwise.yml": "paths:\n  private: [secrets/]\n",
  });
});
afterAll(() => {
  vi.unstubAllEnvs();
  repo.dispose();
  data.dispose();
});

async function call(name: string, args?: unknown, ...more: string[]) {
  const given = args === undefined ? [] : ["--args", JSON.stringify(args)];
  const run = await runHere(["tool", name, "--repo", repo.dir, "--base", "main", ...given, ...more]);
  return { ...run, result: JSON.parse(run.stdout || "null") };
}

const finding = {
  path: "cart.py",
  line: 1,
  quote: "def total(items, seen=[]):",
  severity: "high",
  category: "correctness",
  title: "Shared list",
  body: "All calls share it.",
  confidence: 1,
};

/** A sound call of every tool, and a part of what it answers. */
const calls: Record<string, { args?: object; answers: unknown }> = {
  changed_files: { answers: [{ path: "cart.py", change_type: "modified", reviewable: true }, {}] },
  get_commit_messages: {
    args: { max_commits: 1 },
    answers: [{ message: expect.stringMatching(/^Count what was seen/) }],
  },
  diff_file: {
    args: { file_path: "cart.py" },
    answers: { total_hunks: 1, diff: expect.stringContaining("seen=[]") },
  },
  read_file_part: { args: { file_path: "cart.py", ref: "base" }, answers: { total_lines: 2, start_line: 1 } },
  read_definition: {
    args: { name: "total" },
    answers: { definitions: [{ file_path: "cart.py", start_line: 1 }], others: [] },
  },
  find_callers: {
    args: { name: "total", file_path: "cart.py" },
    answers: { definition: { name: "total" }, callers: [], total: 0 },
  },
  search_in_files: { args: { pattern: "seen" }, answers: [{ file_path: "cart.py", line_number: 1 }, {}, {}] },
  list_files: { answers: expect.arrayContaining(["cart.py", "package-lock.json"]) },
  diff_files: { args: { file_path1: "cart.py", file_path2: "cart.py" }, answers: expect.anything() },
  graph_rag_query: {
    args: { query: "what is total?" },
    answers: { nodes: expect.arrayContaining([expect.objectContaining({ path: "cart.py", name: "total" })]) },
  },
  report_finding: { args: finding, answers: { path: "cart.py", line: 1, side: "RIGHT", start_line: null } },
};

describe("The command tool", () => {
  it("Every tool runs and prints its result, and leaves the repository as it was", async () => {
    const before = fingerprintOf(repo.dir);
    for (const [name, { args, answers }] of Object.entries(calls)) {
      const { code, result } = await call(name, args);
      expect({ name, code, result }).toMatchObject({
        name,
        code: 0,
        result: { status: "success", output: answers, metadata: { truncated: false } },
      });
    }
    expect(fingerprintOf(repo.dir)).toEqual(before);
  });

  it("Every tool has a valid call, except the one that cannot succeed alone", () => {
    const names = [...readingTools, ...graphTools, ...reportingTools].map((tool) => tool.name);
    expect(names.filter((name) => !(name in calls))).toEqual(["finish_review"]);
  });

  it("The tool finish_review is refused if nothing was read, and names the files", async () => {
    const { code, result } = await call("finish_review", { summary: "Fine." });
    expect({ code, status: result.status }).toEqual({ code: 1, status: "error" });
    expect(result.error).toContain("cart.py");
  });

  it("The command finds the base as a review does", async () => {
    const { code, stdout } = await runHere(["tool", "changed_files", "--repo", repo.dir]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).output).toMatchObject([{ path: "cart.py" }, {}]);
  });

  it("The command reports an unknown tool before it looks for a repository", async () => {
    const run = await runHere(["tool", "change_files", "--repo", "/nonexistent"]);
    expect(run).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(run.stdout)).toMatchObject({
      status: "error",
      error: expect.stringMatching(/^there is no tool 'change_files'; the tools are changed_files, /),
    });
    expect(await runHere(["tool", "xyz"])).toMatchObject({ code: 1, stderr: "" });
  });

  it("The command says why a range is empty", async () => {
    const { stderr } = await runHere(["tool", "changed_files", "--repo", repo.dir, "--base", "topic"]);
    expect(stderr).toMatch(
      /^warning: topic\.\.\.topic contains no commits: both ends are [0-9a-f]{12}\. .*: --base topic~1 --head topic\n$/,
    );
  });

  it("The command exits with 1 and a result for wrong arguments and an error of the tool", async () => {
    expect(await call("diff_file", { path: 7 })).toMatchObject({ code: 1, result: { status: "error" } });
    const missing = await call("read_file_part", { file_path: "crat.py" });
    expect(missing).toMatchObject({ code: 1, result: { status: "error" } });
    expect(missing.result.error).toContain("cart.py");
  });

  it("The command withholds what the base's configuration calls private", async () => {
    const { code, result } = await call("read_file_part", { file_path: "secrets/key.txt" });
    expect(code).toBe(1);
    expect(result.error).toContain("withheld by configuration");
  });

  it("The command takes absolute paths of the repository, by each name that leads there", async () => {
    const link = join(data.path, "link");
    symlinkSync(repo.dir, link);
    for (const folder of [repo.dir, link]) {
      const sent = { file_path: join(folder, "cart.py") };
      expect(await call("read_file_part", sent, "--repo", link)).toMatchObject({
        result: { output: { file_path: "cart.py" } },
      });
    }
    const secret = { file_path: join(link, "secrets/key.txt") };
    expect(await call("read_file_part", secret, "--repo", link)).toMatchObject({ code: 1 });
  });

  it("The command exits with 2 and one line if there is nothing to run on", async () => {
    const runs = [
      await runHere(["tool", "changed_files", "--repo", "/nonexistent", "--base", "main"]),
      await runHere(["tool", "changed_files", "--repo", repo.dir, "--base", "none"]),
      await runHere(["tool", "changed_files", "--repo", repo.dir, "--base", "main", "--args", "{"]),
      await runHere(["tool"]),
    ];
    for (const { code, stdout, stderr } of runs) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^hunkwise: [^\n]+\n$/);
    }
  });

  it("The command lists the definitions without a repository", async () => {
    const { code, stdout } = await runCli(["tool", "--list"], { cwd: "/" });
    expect(code).toBe(0);
    const names = JSON.parse(stdout).map((tool: { name: string }) => tool.name);
    expect(names).toEqual([...readingTools, ...graphTools, ...reportingTools].map((tool) => tool.name));
  });
});
