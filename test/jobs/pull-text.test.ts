import { describe, expect, it } from "vitest";
import { RepoConfig } from "../../src/config/repo-config.ts";
import { AppError } from "../../src/errors.ts";
import type { FailedCheck } from "../../src/github/pull-request-api.ts";
import { pullTextOf } from "../../src/jobs/pull-text.ts";
import { ambiguous, MemoryGitHub, refusal } from "../publish/memory-github.ts";

const annotation = { path: "src/a.ts", startLine: 1, endLine: 2, level: "failure", message: "expected 2" };
const check = (over: Partial<FailedCheck> = {}): FailedCheck => ({
  ...{ name: "test", conclusion: "failure", title: "1 failed", summary: "a.ts", annotations: [annotation] },
  ...over,
});

function textOf(github: MemoryGitHub, warnings: string[] = [], config: object = {}) {
  return pullTextOf({
    api: github,
    pull: github.state,
    repository: { owner: "octo", name: "shop" },
    webUrl: "https://github.com",
    config: RepoConfig.parse(config),
    warn: (notice) => warnings.push(notice),
  });
}

describe("the issues that a pull request names", () => {
  it("come with title and body, those it closes first, without itself", async () => {
    const github = new MemoryGitHub();
    Object.assign(github.state, { title: "After #2", body: "Fixes #3, see #7 and #4." });
    for (const number of [2, 3, 4, 7]) github.issues.push({ number, title: `Issue ${number}`, body: "Text" });

    expect((await textOf(github)).issues).toEqual([
      { number: 3, title: "Issue 3", body: "Text" },
      { number: 2, title: "Issue 2", body: "Text" },
      { number: 4, title: "Issue 4", body: "Text" },
    ]);
  });

  it("are five at most, cut, and none that is not there", async () => {
    const github = new MemoryGitHub();
    github.state.body = "#10 #11 #12 #13 #14 #15";
    for (const number of [10, 12, 13, 14, 15])
      github.issues.push({ number, title: "T", body: "x".repeat(9_000) });

    const { issues } = await textOf(github);

    expect(issues.map(({ number }) => number)).toEqual([10, 12, 13, 14]);
    expect(issues.every(({ body }) => body.length < 4_100 && body.endsWith("[5000 more characters]"))).toBe(
      true,
    );
    expect(github.count("issue")).toBe(5);
  });
});

describe("failed checks", () => {
  it("come with their output and annotations, cut", async () => {
    const github = new MemoryGitHub();
    github.failed.push(check(), check({ title: "", summary: "y".repeat(5_000), annotations: [] }));

    const { checks } = await textOf(github);

    expect(checks[0]).toEqual({
      ...{ name: "test", conclusion: "failure", summary: "1 failed\n\na.ts" },
      annotations: [
        { path: "src/a.ts", start_line: 1, end_line: 2, level: "failure", message: "expected 2" },
      ],
    });
    expect(checks[1]?.summary.length).toBeLessThan(2_100);
  });

  it("say nothing of private files", async () => {
    const github = new MemoryGitHub();
    github.failed.push(check({ annotations: [{ ...annotation, path: "secrets/key.ts" }, annotation] }));

    const { checks } = await textOf(github, [], { paths: { private: ["secrets/"] } });

    expect(checks[0]?.annotations.map(({ path }) => path)).toEqual(["src/a.ts"]);
  });
});

describe("what cannot be read", () => {
  it.each([
    ["issue", "issues"],
    ["failedChecks", "checks"],
  ] as const)("is left out when GitHub fails `%s`, with a warning, beside all else", async (call, field) => {
    const github = new MemoryGitHub();
    github.state.body = "#1";
    github.issues.push({ number: 1, title: "T", body: "" });
    github.failed.push(check());
    github.faults.push({ call, error: ambiguous() });
    const warnings: string[] = [];

    const text = await textOf(github, warnings);

    const lengths = { issues: text.issues.length, checks: text.checks.length };
    expect(lengths).toEqual({ issues: 1, checks: 1, [field]: 0 });
    expect(warnings).toHaveLength(1);
  });

  it("is no news when the job ends", async () => {
    const github = new MemoryGitHub();
    github.state.body = "#1";
    github.faults.push({ call: "issue", error: new AppError("aborted", "called off") });
    github.faults.push({ call: "failedChecks", error: refusal("github_forbidden") });
    const warnings: string[] = [];
    await textOf(github, warnings);

    expect(warnings.join()).toMatch(/^The checks of its head/);
  });
});
