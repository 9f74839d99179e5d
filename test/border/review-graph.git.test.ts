import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createReviewGraph } from "../../src/border/review-graph.ts";
import { type OpenRange, openRange } from "../../src/cli/open-range.ts";
import { openGraph, sourceOfWorkspace } from "../../src/repo/index/open-graph.ts";
import { postedFinding } from "../pull/ledger/posted-finding.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";

const never = new AbortController().signal;
const isPrivate = (path: string) => path.startsWith("vault/");
let repo: GitRepo;
let folder: TempFolder;
let range: OpenRange;
let file: string;

beforeAll(async () => {
  folder = new TempFolder("review-graph");
  repo = GitRepo.create();
  repo.commit("Count once: two workers took one job", {
    "src/queue.ts": "export function claimJob(limit: number) {\n  return limit;\n}\n",
    "src/worker.ts": 'import { claimJob } from "./queue.ts";\nexport const work = () => claimJob(1);\n',
    "vault/plan.ts": 'import { claimJob } from "../src/queue.ts";\nexport const plan = () => claimJob(7);\n',
  });
  repo.branch("topic");
  repo.commit("Claim twice", {
    "src/again.ts": 'import { claimJob } from "./queue.ts";\nexport const again = () => claimJob(2);\n',
  });
  range = await openRange({ repo: repo.dir, base: "main", head: "topic", signal: never });
  file = join(folder.path, "index.db");
  const source = await sourceOfWorkspace(range.workspace, isPrivate, "base");
  (await openGraph({ file, source, threads: 0 }))[Symbol.dispose]();
});
afterAll(async () => {
  await range[Symbol.asyncDispose]();
  repo.dispose();
  folder.dispose();
});

const finding = postedFinding({
  comment: 1,
  id: "f1",
  path: "src/queue.ts",
  line: 2,
  title: "No upper limit",
  text: "Any number is taken.",
  state: "dismissed",
  replies: ["callers check it"],
});

function graphAt(at: string, signal = never) {
  const crashes: string[] = [];
  const { place, workspace } = range;
  const onCrash = (error: string) => void crashes.push(error);
  const graph = createReviewGraph({
    place,
    workspace,
    file: at,
    isPrivate,
    earlier: [finding],
    onCrash,
    signal,
  });
  return { graph, crashes };
}

describe("the graph of a review", () => {
  it("The graph of a review knows callers at the head", async () => {
    const { graph: kept } = graphAt(file);
    await using graph = kept;
    const opened = await graph.open();
    const calls = opened?.callers({ path: "src/queue.ts", name: "claimJob", line: 1 }, 0.5) ?? [];
    expect(calls.map(({ path, line }) => `${path}:${line}`).sort()).toEqual([
      "src/again.ts:2",
      "src/worker.ts:2",
    ]);
    expect(opened?.commits.map(({ message }) => message)).toEqual(["Count once: two workers took one job"]);
  });

  it("The graph of a review answers what was decided before", async () => {
    const { graph: kept } = graphAt(file);
    await using graph = kept;
    const answer = await (await graph.open())?.query("was an upper limit decided before?", 5, never);
    const found = answer?.nodes.find(({ kind }) => kind === "finding");
    expect(found).toMatchObject({ name: "No upper limit" });
    expect(found?.excerpt).toContain("dismissed: callers check it");
  });

  it("The graph of a review leaves nothing of the change in the index", async () => {
    const before = readFileSync(file);
    const { graph: kept } = graphAt(file);
    {
      await using graph = kept;
      await graph.open();
    }
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(existsSync(`${file}-journal`)).toBe(false);
  });

  it("The graph of a review is opened once", async () => {
    const { graph: kept } = graphAt(file);
    await using graph = kept;
    const [first, second] = await Promise.all([graph.open(), graph.open()]);
    expect(first).not.toBeNull();
    expect(second).toBe(first);
  });

  it("The graph of a review is null if the index cannot be used, and the review goes on", async () => {
    const damaged = join(folder.path, "damaged.db");
    writeFileSync(damaged, "no database at all ".repeat(400));
    for (const at of [damaged, join(folder.path, "gone.db")]) {
      const { graph: kept } = graphAt(at);
      await using graph = kept;
      expect(await graph.open()).toBeNull();
    }
    expect(existsSync(join(folder.path, "gone.db"))).toBe(false);
  });

  it("The graph of a review ends with its review", async () => {
    const copy = join(folder.path, "copy.db");
    copyFileSync(file, copy);
    const ending = new AbortController();
    ending.abort(new Error("enough"));
    const { graph: kept, crashes } = graphAt(copy, ending.signal);
    await using graph = kept;
    await expect(graph.open()).rejects.toThrow("enough");
    expect(crashes).toEqual([]);
  });
});
