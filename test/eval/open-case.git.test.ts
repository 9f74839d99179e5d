import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { channelsOf, openCase } from "../../scripts/eval/open-case.ts";
import { sampleFinding, sampleResult } from "../report/sample-result.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { loadOne, writeCase } from "./case-folder.ts";

const temp = new TempFolder("open-case");
const [cases, repos] = [join(temp.path, "cases"), join(temp.path, "repos")];
const key = `ghp_${"aB3dE5gH7jK9".repeat(3)}`;
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line_${index + 1} = 1`);
const text = (lines: readonly string[]) => `${lines.join("\n")}\n`;

beforeAll(() => {
  mkdirSync(repos);
  using origin = GitRepo.create();
  const lines = numbered(400);
  const base = origin.commit("Start", {
    "old.py": text(lines),
    "gone.py": text(["removed = 1", "also = 2"]),
    ".github/hunkwise.yml": "paths:\n  private:\n    - secret/**\n",
    "secret/a.py": "x = 1\n",
  });
  origin.git("mv", "old.py", "new.py");
  origin.git("rm", "--quiet", "gone.py");
  const changed = lines.with(9, `token = "${key}"`).with(299, "line_300 = 2");
  const head = origin.commit("Change", { "new.py": text(changed), "secret/a.py": "x = 2\n" });
  origin.git("clone", "--quiet", "--bare", origin.dir, join(repos, "owner+name"));
  const pull = { title: "Change", fetch: "owner/name", base_sha: base, head_sha: head };
  writeCase(cases, "one", { "case.json": pull, "known.json": { known: [] } });
});
afterAll(() => temp.dispose());

async function codeOf(path: string, line: number, side: "LEFT" | "RIGHT" = "RIGHT") {
  const one = await loadOne(cases, "one");
  await using opened = await openCase(one, repos, new AbortController().signal);
  return await opened.codeOf({ path, side, line, start_line: null });
}

describe("the code for the judge of a finding", () => {
  it("The judge's code is the file's diff and the lines around the place, with numbers", async () => {
    const { diff, around } = await codeOf("new.py", 300);
    expect(diff).toContain("300 -line_300 = 1\n300 +line_300 = 2");
    expect(diff).toContain("10 -line_10 = 1");
    expect(around).toMatch(/^220\|line_220 = 1\n/);
    expect(around).toMatch(/\n300\|line_300 = 2\n[\s\S]*\n380\|line_380 = 1$/);
  });

  it("The judge's code of a removed line comes from the merge base, even if the file moved", async () => {
    expect((await codeOf("new.py", 300, "LEFT")).around).toContain("\n300|line_300 = 1\n");
    const { diff, around } = await codeOf("gone.py", 1, "LEFT");
    expect(diff).toContain("1 -removed = 1\n2 -also = 2");
    expect(around).toBe("1|removed = 1\n2|also = 2");
  });

  it("The judge's code contains no secret and nothing of a private file", async () => {
    const { diff, around } = await codeOf("new.py", 10);
    expect(diff).toContain("10 +token = ");
    expect(around).toContain("10|token = ");
    expect(diff + around).not.toContain(key);
    expect(await codeOf("secret/a.py", 1)).toEqual({ diff: "", around: "" });
  });

  it("The judge's code is empty for a place that does not exist", async () => {
    expect(await codeOf("nowhere.py", 3)).toEqual({ diff: "", around: "" });
    expect((await codeOf("new.py", 9_000)).around).toBe("");
  });
});

describe("the channels of a review's findings", () => {
  it("A finding has the App's channel: the most severe ones are on lines", () => {
    const placed = [
      { finding: sampleFinding({ id: "a", severity: "low" }), placement: { kind: "inline" as const } },
      { finding: sampleFinding({ id: "b" }), placement: { kind: "inline" as const } },
      {
        finding: sampleFinding({ id: "c" }),
        placement: { kind: "file" as const, reason: "the line is outside the diff" },
      },
      {
        finding: sampleFinding({ id: "d" }),
        placement: { kind: "summary" as const, reason: "the file could not be read" },
      },
    ];
    const result = sampleResult({ findings: placed });
    expect(channelsOf(result, 40)).toEqual(["line", "line", "file", "summary"]);
    expect(channelsOf(result, 1)).toEqual(["summary", "line", "summary", "summary"]);
  });
});
