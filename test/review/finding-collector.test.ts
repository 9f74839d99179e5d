import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/finding.ts";
import type { AnchorFile } from "../../src/review/anchor.ts";
import { createFindingCollector, type Unread } from "../../src/review/finding-collector.ts";
import type { ReportedFinding } from "../../src/tools/tool.ts";

const file: AnchorFile = {
  path: "a.ts",
  paths: ["a.ts"],
  inChange: true,
  lines: { RIGHT: ["first", "twin", "third", "twin"], LEFT: null },
  hunkAt: (_side, line) => (line <= 2 ? 1 : undefined),
  isRemoved: () => false,
};

const reported: ReportedFinding = {
  path: "a.ts",
  side: "RIGHT",
  line: 1,
  start_line: null,
  quote: "first",
  severity: "medium",
  category: "correctness",
  title: "t",
  body: "b",
  suggestion: null,
  confidence: 0.4,
  evidence: [],
};

function collector(unread: Unread[] = []) {
  const seen: Finding[] = [];
  const options = {
    anchorFile: async (path: string) => (path === "a.ts" ? file : undefined),
    unread: () => unread,
    minimumSeverity: "medium" as const,
    isPrivate: (path: string) => path.startsWith("secret/"),
    onFinding: (finding: Finding) => seen.push(finding),
  };
  return { ...createFindingCollector(options), seen };
}

describe("the finding collector", () => {
  it("keeps an anchored finding and tells about it at once", async () => {
    const { report, findings, seen } = collector();

    const answer = await report(reported);

    expect(answer).toMatchObject({
      ok: true,
      finding: { line: 1, source: "model", verification: "unverified" },
    });
    expect(findings()).toHaveLength(1);
    expect(seen).toEqual(findings());
  });

  it("keeps the same finding once", async () => {
    const { report, findings } = collector();
    await report(reported);

    expect(await report({ ...reported, title: "in other words" })).toMatchObject({
      ok: true,
      note: expect.stringContaining("once"),
    });
    expect(findings()).toHaveLength(1);
  });

  it("keeps the same fault at two places as two findings with ids of their own", async () => {
    const { report, findings } = collector();
    await report({ ...reported, quote: "twin", line: 2 });
    await report({ ...reported, quote: "twin", line: 4 });
    await report({ ...reported, quote: "twin", line: 4 });

    expect(findings().map((one) => one.line)).toEqual([2, 4]);
    expect(new Set(findings().map((one) => one.id)).size).toBe(2);
  });

  it("says when a line is outside the diff", async () => {
    const answer = await collector().report({ ...reported, quote: "third", line: 3 });

    expect(answer).toMatchObject({ ok: true, note: expect.stringContaining("outside the diff") });
  });

  it("refuses unknown paths, private paths and findings below the wanted severity, each with its reason", async () => {
    const { report, findings } = collector();

    expect(await report({ ...reported, path: "b.ts" })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("no such file"),
    });
    expect(await report({ ...reported, path: "secret/a" })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("withheld"),
    });
    expect(await report({ ...reported, severity: "low" })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("medium and above"),
    });
    expect(findings()).toEqual([]);
  });

  it("finishes only when everything was read, and names what was not", async () => {
    const unread: Unread[] = [{ path: "b.ts", hunks: 4 }];
    const { finish, summary } = collector(unread);

    expect(await finish("done")).toEqual({
      ok: false,
      reason: expect.stringContaining("b.ts (4 unread)"),
    });
    expect(summary()).toBeNull();

    unread.length = 0;
    expect(await finish("done")).toEqual({ ok: true });
    expect(summary()).toBe("done");
  });
});
