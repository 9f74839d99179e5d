import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EvalCase } from "../../scripts/eval/case-format.ts";
import { openCaseRepository } from "../../scripts/eval/case-repository.ts";
import { casesOfBenchmark } from "../../scripts/eval/public-benchmarks.ts";
import { fingerprintOf } from "../cli/sample-repo.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { loadOne, patchOfNew, writeCase } from "./case-folder.ts";

const temp = new TempFolder("case-repos");
const [cases, repos] = [join(temp.path, "cases"), join(temp.path, "repos")];
let base: string;
let head: string;

beforeAll(() => {
  mkdirSync(repos);
  using origin = GitRepo.create();
  base = origin.commit("Start", { "a.py": "x = 1\n" });
  head = origin.commit("Change", { "a.py": "x = 2\n" });
  origin.commit("Fix", { "a.py": "x = 3\n" });
  origin.git("clone", "--quiet", "--bare", origin.dir, join(repos, "owner+name"));
  const prepared = GitRepo.create({ dir: join(repos, "prepared") });
  prepared.commit("Start", { "a.py": "x = 1\n" });
  prepared.branch("pull").commit("Change", { "a.py": "x = 2\n" });
});
afterAll(() => temp.dispose());

/** What `git diff main...pull` says in the case's repository, and which commits it reaches. */
async function read(name: string, files: Record<string, unknown>, folder: string | null = repos) {
  writeCase(cases, name, { "known.json": { known: [] }, ...files });
  return readCase(await loadOne(cases, name), folder);
}

async function readCase(one: EvalCase, folder: string | null = repos) {
  await using opened = await openCaseRepository(one, folder);
  const repo = GitRepo.at(opened.repo);
  return {
    diff: repo.git("diff", `${opened.base}...${opened.head}`),
    messages: repo.git("log", "--all", "--format=%s").split("\n"),
    commits: [repo.git("rev-parse", opened.base), repo.git("rev-parse", opened.head)],
  };
}

describe("the repository of a case", () => {
  it("A case's repository borrows from an unchanged bare clone and shows nothing after the head", async () => {
    const before = fingerprintOf(repos);
    const pull = { title: "Change", fetch: "owner/name", base_sha: base, head_sha: head };
    const { commits, messages } = await read("cloned", { "case.json": pull });
    expect(commits).toEqual([base, head]);
    expect(messages).toEqual(["Change", "Start"]);
    expect(fingerprintOf(repos)).toEqual(before);
  });

  it("A case's repository can be prepared", async () => {
    const repo = GitRepo.at(join(repos, "prepared"));
    const shas = { base_sha: repo.sha("main"), head_sha: repo.sha("pull") };
    expect((await read("prepared", { "case.json": { title: "Change", ...shas } })).diff).toContain("+x = 2");
    const others = { title: "Change", ...shas, head_sha: shas.base_sha };
    await expect(read("prepared", { "case.json": others })).rejects.toThrow("prepared for other commits");
  });

  it("A case's repository is made of a patch, on nothing or on a commit", async () => {
    const ofNew = { title: "Add", diff: patchOfNew("b.py", ["y = 1"]) };
    const alone = await read("alone", { "case.json": ofNew }, null);
    expect(alone.diff).toContain("+y = 1");
    const patch = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 5\n";
    const upon = { title: "Change", fetch: "owner/name", base_sha: base, diff: patch };
    const changed = await read("upon", { "case.json": upon });
    expect(changed.commits[0]).toBe(base);
    expect(changed.diff).toContain("-x = 1\n+x = 5");
    await expect(read("alone", { "case.json": { title: "Change", diff: patch } }, null)).rejects.toThrow(
      "the diff of the case alone does not apply",
    );
  });

  it("A case of a pull request has the two commits stored under its number", async () => {
    const url = "https://github.com/owner/name/pull/7";
    const [one] = casesOfBenchmark(JSON.stringify([{ pr_title: "Change", url, comments: [] }]), "bench.json");
    await expect(readCase(one!)).rejects.toMatchObject({
      code: "repository_unavailable",
      message: expect.stringContaining("has no refs/pull/7/base or no refs/pull/7/head"),
      remedy: expect.stringContaining("gh api repos/owner/name/pulls/7 --jq .base.sha,.head.sha"),
    });
    const clone = GitRepo.at(join(repos, "owner+name"));
    clone.git("update-ref", "refs/pull/7/base", base);
    clone.git("update-ref", "refs/pull/7/head", head);
    expect(await readCase(one!)).toMatchObject({ commits: [base, head], messages: ["Change", "Start"] });
    const prepared = { ...one!, name: "prepared" };
    expect((await readCase(prepared)).diff).toContain("+x = 2");
  });

  it("A clone that lacks a commit of the case causes an error that names it", async () => {
    const pull = { title: "Change", fetch: "owner/name", base_sha: base, head_sha: "a".repeat(40) };
    await expect(read("pushed-over", { "case.json": pull })).rejects.toMatchObject({
      message: expect.stringContaining(`lacks the commit ${"a".repeat(40)} of the case pushed-over`),
      remedy: `Fetch it: git -C ${join(repos, "owner+name")} fetch origin ${"a".repeat(40)}`,
    });
  });

  it("A missing repository causes an error with the places where it was looked for", async () => {
    const pull = { title: "Change", fetch: "owner/other", base_sha: base, head_sha: head };
    await expect(read("gone", { "case.json": pull })).rejects.toMatchObject({
      code: "repository_unavailable",
      remedy: expect.stringContaining(join(repos, "owner+other")),
    });
  });
});
