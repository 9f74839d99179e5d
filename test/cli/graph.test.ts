import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { printGraph } from "../../src/cli/print-graph.ts";
import { capturedIo } from "../support/captured-io.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";

let repo: GitRepo;
let data: TempFolder;
beforeAll(() => {
  data = new TempFolder("graph-data");
  repo = GitRepo.create();
  repo.commit("Count once: two workers took one job", {
    "src/queue.ts": "export function claimJob(limit: number) {\n  return limit;\n}\n",
    "src/worker.ts":
      'import { claimJob } from "./queue.ts";\n\nexport function runWorker() {\n  claimJob(1);\n}\n',
    "vault/plan.ts": "export function secretPlan() {}\n",
    ".github/hunkwise.yml": "paths:\n  private: [vault/**]\n",
  });
});
afterAll(() => {
  repo.dispose();
  data.dispose();
});

/** Within this process: each other one would load everything again. */
async function ask(query: string, more: { k?: string; format?: "pretty" | "json" } = {}) {
  vi.stubEnv("HUNKWISE_DATA_DIR", data.path);
  const io = capturedIo();
  const values = { repo: repo.dir, head: "HEAD", k: "5", format: "pretty" as const, ...more };
  const code = await printGraph(query, values, io).finally(() => vi.unstubAllEnvs());
  return { code, stdout: io.printed(), stderr: io.warned() };
}

describe("hunkwise graph", () => {
  it("prints who calls a function and says what it read, once", async () => {
    const args = ["graph", "--repo", repo.dir, "who calls claimJob?"];
    const first = await runCli(args, { env: { HUNKWISE_DATA_DIR: data.path } });
    expect(first.code).toBe(0);
    expect(first.stdout).toContain("symbol claimJob  src/queue.ts:1-3");
    expect(first.stdout).toContain("  called by runWorker at src/worker.ts:4");
    expect(first.stderr).toMatch(/^Read 2 of 3 files in \d+\.\d s\.\n$/);
    expect((await ask("claimJob")).stderr).toBe("");
  });

  it("prints nodes and edges for programs, commits among them, and nothing that is withheld", async () => {
    const { stdout } = await ask("why do workers count once? secretPlan", { format: "json" });
    const { nodes } = JSON.parse(stdout) as { nodes: { kind: string; name: string }[] };
    expect(nodes).toContainEqual(
      expect.objectContaining({ kind: "commit", name: expect.stringContaining("Count once") }),
    );
    expect(stdout).not.toContain("secretPlan");
    expect(stdout).not.toContain("vault/");
  });

  it("answers 1 where nothing is known, and refuses what is no question", async () => {
    expect(await ask("zeppelin")).toMatchObject({
      code: 1,
      stdout: "Nothing is known under these words.\n",
    });
    await expect(ask("x", { k: "0" })).rejects.toMatchObject({ code: "usage" });
    await expect(ask(" ")).rejects.toThrow("QUERY is empty");
  });
});
