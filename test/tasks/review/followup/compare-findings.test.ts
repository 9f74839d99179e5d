import { describe, expect, it } from "vitest";
import type { Finding } from "../../../../src/core/finding.ts";
import { codeHash, type PostedFinding } from "../../../../src/core/ledger/entry.ts";
import type { AnchorFile } from "../../../../src/tasks/anchor/anchor.ts";
import { locate, nearCollisions } from "../../../../src/tasks/review/followup/compare-findings.ts";
import { sampleFinding } from "../../../report/sample-result.ts";
import { earlierFinding, facts } from "./earlier-finding.ts";

const head = [
  ...["export function total(prices: number[]) {", "  let sum = 0;", "  for (const price of prices)"],
  ...["    sum -=", "      price;", "  return sum;", "}", ""],
  ...["export function count(prices: number[]) {", "  return prices.length;", "}"],
];
const fileOf = (lines: string[] | null): AnchorFile => ({
  ...{ path: "a.ts", paths: ["a.ts"], inChange: true, hidden: null, hunks: [] },
  lines: { RIGHT: lines, LEFT: null },
  hunkAt: () => undefined,
  isRemoved: () => false,
});
const file = fileOf(head);
const told = (over: Parameters<typeof earlierFinding>[0]) => earlierFinding({ line: null, ...over });

describe("the code of an earlier finding", () => {
  it("The code is at GitHub's line as long as it is the same code", async () => {
    const length = codeHash("return prices.length;");

    expect(await locate(file, told({ line: 10, code: length }))).toEqual({ start: 10, end: 10 });
    expect(await locate(file, told({ line: 6, code: length, symbol: null }))).toEqual({ start: 10, end: 10 });
  });

  it("Code that was wrapped or has moved is found in its definition", async () => {
    expect(await locate(file, told({ original_line: 400 }))).toEqual({ start: 4, end: 5 });
  });

  it("A comment without a hash of its code is at GitHub's line", async () => {
    expect(await locate(file, told({ line: 2, code: null }))).toEqual({ start: 2, end: 2 });
    expect(await locate(file, told({ code: null }))).toBeNull();
  });

  it("Of several places the nearest to the old one is found", async () => {
    const twice = fileOf(["a();", ...Array.from({ length: 40 }, () => "b();"), "a();"]);
    const where = (original_line: number) =>
      locate(twice, told({ original_line, symbol: null, code: codeHash("a();") }));

    expect(await where(30)).toEqual({ start: 42, end: 42 });
    expect(await where(9)).toEqual({ start: 1, end: 1 });
  });

  it("The code is gone with its words, with its file, and on a side without lines", async () => {
    expect(await locate(fileOf(["export function total() {", "  return 1;", "}"]), told({}))).toBeNull();
    expect(await locate(undefined, told({}))).toBeNull();
    expect(await locate(file, told({ side: "LEFT", line: 4 }))).toBeNull();
  });

  it("The search for code takes bounded time, whatever the file holds", async () => {
    const dense = fileOf(Array.from({ length: 200_000 }, (_, at) => `call(${at % 7});`));
    const wide = fileOf(Array.from({ length: 300 }, () => "x".repeat(100_000)));

    expect(await locate(dense, told({ original_line: null, symbol: null }))).toBeNull();
    expect(await locate(wide, told({ original_line: 150, symbol: null }))).toBeNull();
  });
});

const found = (over: Partial<Finding> = {}) =>
  sampleFinding({ ...{ path: "a.ts", line: 12, symbol: "total", title: "It rounds down" }, ...over });
const near = (finding: Finding, one: PostedFinding, paired = new Map<Finding, PostedFinding>()) =>
  nearCollisions([finding], [one], facts(), paired).length;

describe("nearCollisions", () => {
  it("A finding on the same lines in other words is near", () => {
    expect(near(found(), earlierFinding())).toBe(1);
    expect(near(found({ line: 13, start_line: 11 }), earlierFinding())).toBe(1);
    expect(near(found({ line: 13 }), earlierFinding())).toBe(0);
  });

  it("A finding on the same code under another category is near, unless the code is still elsewhere", () => {
    const finding = found({ line: 90, symbol: null, quote: "sum  -= price;", category: "data" });

    expect(near(finding, earlierFinding({ line: null }))).toBe(1);
    expect(near(finding, earlierFinding())).toBe(0);
  });

  it("A finding in the definition of an outdated comment is near", () => {
    const outdated = earlierFinding({ line: null, state: "outdated" });

    expect(near(found({ line: 90 }), outdated)).toBe(1);
    expect(near(found({ line: 90, symbol: null }), { ...outdated, symbol: null })).toBe(0);
  });

  it("A finding near the old lines with a similar title is near, in a definition of another name", () => {
    const outdated = earlierFinding({ line: null, original_line: 12, state: "outdated" });
    const renamed = found({ line: 20, symbol: "count", title: outdated.title });

    expect(near(renamed, outdated)).toBe(1);
    expect(near({ ...renamed, title: "It rounds down" }, outdated)).toBe(0);
    expect(near({ ...renamed, line: 90 }, outdated)).toBe(0);
  });

  it("A finding in the definition of a dismissed comment, or within ten lines, is near", () => {
    const dismissed = earlierFinding({ state: "dismissed" });

    expect(near(found({ line: 90 }), dismissed)).toBe(1);
    expect(near(found({ line: 22, symbol: "count" }), dismissed)).toBe(1);
    expect(near(found({ line: 23, symbol: "count" }), dismissed)).toBe(0);
  });

  it("A finding in a file that the comment names is near if it names that one in turn or is alike", () => {
    const earlier = earlierFinding({ files: ["b.ts"] });
    const evidence = [{ path: "a.ts", start_line: 12, end_line: 12, note: "" }];

    expect(near(found({ path: "b.ts", evidence }), earlier)).toBe(1);
    expect(near(found({ path: "b.ts", evidence: [], title: earlier.title }), earlier)).toBe(1);
    expect(near(found({ path: "b.ts", evidence: [] }), earlier)).toBe(0);
    expect(near(found({ path: "c.ts", evidence }), earlier)).toBe(0);
  });

  it("A finding is not near a comment on another file, a fixed one, or a deleted one", () => {
    expect(near(found({ path: "b.ts" }), earlierFinding())).toBe(0);
    expect(near(found(), earlierFinding({ state: "fixed" }))).toBe(0);
    expect(near(found(), earlierFinding({ comment: null, path: "", state: "dismissed" }))).toBe(0);
  });

  it("A comment with a partner is near another finding only if a person dismissed it", () => {
    const other = found({ line: 50 });
    const [open, dismissed] = [earlierFinding(), earlierFinding({ state: "dismissed" })];

    expect(near(found(), open, new Map([[other, open]]))).toBe(0);
    expect(near(found(), dismissed, new Map([[other, dismissed]]))).toBe(1);
  });
});
