import { existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { IndexTask } from "../../src/border/index-messages.ts";
import { runIndexProcess } from "../../src/border/run-index-process.ts";
import { startIndexProcess } from "../../src/border/start-process.ts";
import { programPath } from "../../src/config/process-env.ts";
import { requireGit } from "../../src/repo/git/run-git.ts";
import { openGraph } from "../../src/repo/index/open-graph.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";

const long = process.env.HUNKWISE_LONG === "1";

const never = new AbortController().signal;
let repo: GitRepo;
let folder: TempFolder;
let mirror: string;
let task: IndexTask;

beforeAll(async () => {
  folder = new TempFolder("index-process");
  repo = GitRepo.create();
  repo.commit("Begin", {
    "src/queue.ts": "export function claimJob(limit: number) {\n  return limit;\n}\n",
    "src/worker.ts": 'import { claimJob } from "./queue.ts";\nexport const work = () => claimJob(1);\n',
    "vault/plan.ts": "export const plan = 1;\n",
  });
  repo.git("config", "uploadpack.allowFilter", "true");
  // As a server keeps it: without the blobs that nobody needed yet.
  mirror = join(realpathSync(folder.path), "mirror.git");
  repo.git("clone", "--quiet", "--bare", "--filter=blob:none", `file://${repo.dir}`, mirror);
  for (const name of ["remote.origin.promisor", "remote.origin.partialclonefilter"])
    repo.git("--git-dir", mirror, "config", "--unset", name);
  bring("src/queue.ts");
  bring("vault/plan.ts");
  const emptyHome = join(folder.path, "home");
  mkdirSync(emptyHome);
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const sha = repo.sha("main");
  const file = join(mirror, "hunkwise-graph", "index.db");
  task = { gitPath, gitDir: mirror, emptyHome, sha, file, privatePaths: ["vault/**"] };
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

/** A blob that a review needed. */
const bring = (path: string) => repo.git("--git-dir", mirror, "hash-object", "-w", join(repo.dir, path));

/** What an index knows without reading anything. */
async function knownOf(paths: readonly string[]) {
  const files = paths.map((path) => ({ path, oid: repo.git("rev-parse", `main:${path}`).trim() }));
  const read = async () => null;
  using graph = await openGraph({ file: task.file, readOnly: true, source: { files, read }, threads: 0 });
  return graph.report.known;
}

describe("the index process", () => {
  it("The index process indexes what the mirror has of the base", async () => {
    const report = await runIndexProcess(task, { signal: never });
    expect(report).toMatchObject({ files: 1, parsed: 1, known: 0 });
    expect(await knownOf(["src/queue.ts"])).toBe(1);
    expect(await knownOf(["src/worker.ts", "vault/plan.ts"])).toBe(0);
    expect(readdirSync(join(mirror, "hunkwise-graph"))).toEqual(["index.db"]);
  });

  it.runIf(long)("The index process later reads only what has arrived meanwhile", async () => {
    await runIndexProcess(task, { signal: never });
    bring("src/worker.ts");
    const report = await runIndexProcess(task, { signal: never });
    expect(report).toMatchObject({ files: 2, parsed: 1, known: 1 });
  });

  it("The index process can write only to the folder of its index", async () => {
    const outside = join(folder.path, "elsewhere");
    mkdirSync(outside);
    const elsewhere = { ...task, file: join(outside, "index.db") };
    const start = () => startIndexProcess(join(mirror, "hunkwise-graph"));
    await expect(runIndexProcess(elsewhere, { signal: never, start })).rejects.toMatchObject({
      code: "child_died",
      message: expect.stringMatching(/elsewhere|permission|restricted/i),
    });
    expect(readdirSync(outside)).toEqual([]);
  });

  it("The index process creates no folder for a mirror that is gone", async () => {
    const gone = join(folder.path, "gone.git");
    const away = { ...task, gitDir: gone, file: join(gone, "hunkwise-graph", "index.db") };
    await expect(runIndexProcess(away, { signal: never })).rejects.toMatchObject({ code: "ENOENT" });
    expect(existsSync(gone)).toBe(false);
  });
});
