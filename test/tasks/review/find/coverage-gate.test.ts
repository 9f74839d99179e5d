import { describe, expect, it } from "vitest";
import { createCoverage } from "../../../../src/agent/loop/coverage.ts";
import { parseFilePatch } from "../../../../src/repo/diff/file-diff.ts";
import type { ChangedFile } from "../../../../src/repo/diff-source.ts";
import { createUnreadHunks } from "../../../../src/tasks/review/find/coverage-gate.ts";

/** One file with a hunk of one added line for each text. */
function unread(texts: readonly string[], portionBytes: number) {
  const hunks = texts.map((text, at) => `@@ -${at * 10},0 +${at * 10 + 1} @@\n+${text}\n`);
  const diff = parseFilePatch(`--- a/a.ts\n+++ b/a.ts\n${hunks.join("")}`, "a.ts", null);
  const change = { path: "a.ts" } as ChangedFile["change"];
  const coverage = createCoverage([{ path: "a.ts", hunks: texts.length }]);
  const changes = texts.map((text) => [text]);
  const facts = { reading: "hunks" as const, totalHunks: texts.length, diffBytes: 0, changes };
  const files = [{ change, ...facts, reviewable: true, skipReason: null, account: null }];
  const [fileDiff, shownDiff] = [async () => diff, async () => diff];
  const diffs = {
    fileDiff,
    shownDiff,
    files: async () => files,
    warnings: () => [],
    lockFaults: async () => [],
  };
  return { coverage, next: createUnreadHunks({ files, diffs, coverage, portionBytes }) };
}

describe("unread hunks", () => {
  it("Unread hunks are shown in portions up to the last one", async () => {
    const { coverage, next } = unread(["one ".repeat(30), "two ".repeat(30), "three ".repeat(20)], 260);
    const texts: string[] = [];
    for (let portion = await next(); portion; portion = await next()) {
      texts.push(portion.text);
      portion.shown();
    }

    expect(texts.map((text) => /one|two|three/.exec(text)?.[0])).toEqual(["one", "two", "three"]);
    expect(coverage.unshown("a.ts")).toEqual([]);
  });

  it("A portion is shown again if it was not delivered", async () => {
    const { next } = unread(["one"], 1_000);
    const first = await next();

    expect((await next())?.text).toBe(first?.text);
  });

  it("A hunk is shown although one before it never fits", async () => {
    const { coverage, next } = unread(["small", "x".repeat(5_000), "behind"], 1_000);
    const portion = await next();
    portion?.shown();

    expect(portion?.text).toContain("behind");
    expect(coverage.unshown("a.ts")).toEqual([2]);
    expect(await next()).toBeNull();
  });
});
