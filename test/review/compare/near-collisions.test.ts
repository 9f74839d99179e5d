import { describe, expect, it } from "vitest";
import type { Finding } from "../../../src/finding.ts";
import { nearCollisions } from "../../../src/review/compare/near-collisions.ts";
import type { EarlierFinding } from "../../../src/review/review-input.ts";
import { sampleFinding } from "../../reporters/sample-result.ts";
import { earlierFinding, facts } from "./earlier-finding.ts";

const found = (over: Partial<Finding> = {}) =>
  sampleFinding({ ...{ path: "a.ts", line: 12, symbol: "total", title: "It rounds down" }, ...over });
const near = (finding: Finding, one: EarlierFinding, paired = new Map<Finding, EarlierFinding>()) =>
  nearCollisions([finding], [one], facts(), paired).map(({ isSamePlace }) => isSamePlace);

describe("a finding may be what an earlier comment says", () => {
  it("on the same lines in other words", () => {
    expect(near(found(), earlierFinding())).toEqual([true]);
    expect(near(found({ line: 13, start_line: 11 }), earlierFinding())).toEqual([true]);
    expect(near(found({ line: 13 }), earlierFinding())).toEqual([]);
  });

  it("on the same code under another category, unless that still stands elsewhere", () => {
    const finding = found({ line: 90, symbol: null, quote: "sum  -= price;", category: "data" });

    expect(near(finding, earlierFinding({ line: null }))).toEqual([false]);
    expect(near(finding, earlierFinding())).toEqual([]);
  });

  it("in the definition of one that is outdated", () => {
    const outdated = earlierFinding({ line: null, state: "outdated" });

    expect(near(found({ line: 90 }), outdated)).toEqual([false]);
    expect(near(found({ line: 90, symbol: null }), { ...outdated, symbol: null })).toEqual([]);
  });

  it("in another definition near the lines that its code had, where the titles say the same", () => {
    const outdated = earlierFinding({ line: null, original_line: 12, state: "outdated" });
    const renamed = found({ line: 20, symbol: "count", title: outdated.title });

    expect(near(renamed, outdated)).toEqual([false]);
    expect(near({ ...renamed, title: "It rounds down" }, outdated)).toEqual([]);
    expect(near({ ...renamed, line: 90 }, outdated)).toEqual([]);
  });

  it("in the definition of one that was dismissed, or within ten lines of it", () => {
    const dismissed = earlierFinding({ state: "dismissed" });

    expect(near(found({ line: 90 }), dismissed)).toEqual([false]);
    expect(near(found({ line: 22, symbol: "count" }), dismissed)).toEqual([false]);
    expect(near(found({ line: 23, symbol: "count" }), dismissed)).toEqual([]);
  });

  it("in a file that the earlier one rests on, where it rests on that one's file in turn or says the same", () => {
    const earlier = earlierFinding({ files: ["b.ts"] });
    const evidence = [{ path: "a.ts", start_line: 12, end_line: 12, note: "" }];

    expect(near(found({ path: "b.ts", evidence }), earlier)).toEqual([false]);
    expect(near(found({ path: "b.ts", evidence: [], title: earlier.title }), earlier)).toEqual([false]);
    expect(near(found({ path: "b.ts", evidence: [] }), earlier)).toEqual([]);
    expect(near(found({ path: "c.ts", evidence }), earlier)).toEqual([]);
  });

  it("never in a file that it does not speak of, of one that was fixed, or where the comment is gone", () => {
    expect(near(found({ path: "b.ts" }), earlierFinding())).toEqual([]);
    expect(near(found(), earlierFinding({ state: "fixed" }))).toEqual([]);
    expect(near(found(), earlierFinding({ comment: null, state: "dismissed" }))).toEqual([]);
  });

  it("of one that has its pair only where a person dismissed that", () => {
    const other = found({ line: 50 });
    const [open, dismissed] = [earlierFinding(), earlierFinding({ state: "dismissed" })];

    expect(near(found(), open, new Map([[other, open]]))).toEqual([]);
    expect(near(found(), dismissed, new Map([[other, dismissed]]))).toEqual([true]);
  });
});
