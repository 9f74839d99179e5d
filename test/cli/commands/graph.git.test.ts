import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runProgram } from "../../../src/cli/program.ts";
import { canFindByMeaning } from "../../../src/repo/index/vectors.ts";
import { capturedIo } from "../../support/captured-io.ts";
import { startFakeEmbeddings } from "../../support/fake-embeddings.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";

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

interface Asked {
  k?: string;
  format?: "pretty" | "json";
  env?: Record<string, string>;
}

/** Within this process: each other one would load everything again. */
async function ask(query: string, { env = {}, ...more }: Asked = {}) {
  for (const [name, value] of Object.entries({ HUNKWISE_DATA_DIR: data.path, ...env }))
    vi.stubEnv(name, value);
  const io = capturedIo();
  const options = Object.entries(more).flatMap(([name, value]) => [`--${name}`, value]);
  const args = ["graph", query, "--repo", repo.dir, ...options];
  const code = await runProgram(args, io).finally(() => vi.unstubAllEnvs());
  return { code, stdout: io.printed(), stderr: withoutProgress(io.warned()), shown: io.warned() };
}

const withoutProgress = (stderr: string) => stderr.replace(/^\d+:\d\d · .*\n/gm, "");

const isThere = canFindByMeaning();
if (!isThere) console.warn("NOT TESTED: questions by meaning, for sqlite-vec cannot be loaded here");

describe("The command graph", () => {
  it("A query prints who calls a function, and says once what it read", async () => {
    const args = ["graph", "--repo", repo.dir, "who calls claimJob?"];
    const first = await runCli(args, { env: { HUNKWISE_DATA_DIR: data.path } });
    expect(first.code).toBe(0);
    expect(first.stdout).toContain("symbol claimJob  src/queue.ts:1-3");
    expect(first.stdout).toContain("  called by runWorker at src/worker.ts:4");
    expect(withoutProgress(first.stderr)).toMatch(/^Read 2 of 3 files in \d+\.\d s\.\n$/);
    expect((await ask("claimJob")).stderr).toBe("");
  });

  it("A query shows its progress until the answer, and nothing of that afterwards", async () => {
    const { shown } = await ask("claimJob", { env: { HUNKWISE_DATA_DIR: join(data.path, "new") } });
    expect(shown).toMatch(/^(?:\d:\d\d · .*\n)+Read 2 of 3 files in .*\n$/);
  });

  it("A query names the remedy for a folder that cannot be written", async () => {
    const env = { HUNKWISE_DATA_DIR: "/dev/null/data" };
    await expect(ask("claimJob", { env })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The index \/dev\/null\/data\/graphs\/\w+\.db cannot be written: ENOTDIR/,
      ),
      remedy: "Set HUNKWISE_DATA_DIR to a folder that you can write to.",
    });
  });

  it("A query prints nodes and edges for programs, commits among them, and nothing private", async () => {
    const { stdout } = await ask("why do workers count once? secretPlan", { format: "json" });
    const { nodes } = JSON.parse(stdout) as { nodes: { kind: string; name: string }[] };
    expect(nodes).toContainEqual(
      expect.objectContaining({ kind: "commit", name: expect.stringContaining("Count once") }),
    );
    expect(stdout).not.toContain("secretPlan");
    expect(stdout).not.toContain("vault/");
  });

  it("A query exits with 1 if nothing is known, and an empty one is refused", async () => {
    expect(await ask("zeppelin")).toMatchObject({
      code: 1,
      stdout: "Nothing was found for these words.\n",
    });
    await expect(ask("x", { k: "0" })).rejects.toMatchObject({ code: "usage" });
    await expect(ask(" ")).rejects.toThrow("QUERY is empty");
  });

  it.skipIf(!isThere)(
    "A query finds by meaning if a model makes vectors, and sends nothing private",
    async () => {
      await using endpoint = await startFakeEmbeddings();
      const model = { HUNKWISE_EMBEDDING_MODEL: "small", HUNKWISE_EMBEDDING_API_KEY: "test-key" };
      const env = { ...model, HUNKWISE_EMBEDDING_BASE_URL: endpoint.url };
      // Words that the name of no symbol holds: the code around them says them.
      const first = await ask("return limit", { env });
      expect(first.stderr).toMatch(/^Vectors of 2 files made with [1-9]\d* tokens\.\n$/);
      expect(first.stdout).toContain("symbol claimJob  src/queue.ts:1-3");

      const sent = JSON.stringify(endpoint.requests.map(({ body }) => body.input));
      expect(sent).toContain("claimJob(limit: number)");
      expect(sent).not.toContain("secretPlan");
      const before = endpoint.requests.length;
      expect((await ask("return limit", { env })).stderr).toBe("");
      expect(endpoint.requests.slice(before).map(({ body }) => body.input)).toEqual([["return limit"]]);
    },
  );

  it.skipIf(!isThere)(
    "A query searches by words if the embedding model is unreachable, and says so",
    async () => {
      const model = { HUNKWISE_EMBEDDING_MODEL: "other", HUNKWISE_EMBEDDING_API_KEY: "wrong" };
      await using endpoint = await startFakeEmbeddings();
      const { code, stdout, stderr } = await ask("who calls claimJob?", {
        env: { ...model, HUNKWISE_EMBEDDING_BASE_URL: endpoint.url },
      });
      expect(code).toBe(0);
      expect(stdout).toContain("called by runWorker");
      expect(stderr).toMatch(
        /^warning: Some files are only found by words, because they have no vectors: [^\n]+\n/,
      );
    },
  );
});
