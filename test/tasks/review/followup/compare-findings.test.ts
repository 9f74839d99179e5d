import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../../../src/core/finding.ts";
import { codeHash, type PostedFinding } from "../../../../src/core/ledger/entry.ts";
import type { AnchorFile } from "../../../../src/tasks/anchor/anchor.ts";
import {
  certainPairs,
  locate,
  nearCollisions,
  underRuleOf,
} from "../../../../src/tasks/review/followup/compare-findings.ts";
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

const paired = (over: Partial<Finding> = {}) =>
  sampleFinding({ ...{ id: "bbbbbbbbbbbb", path: "a.ts", line: 12, symbol: "total" }, ...over });
const pairsOf = (findings: Finding[], earlier: PostedFinding[], gone: PostedFinding[] = []) => [
  ...certainPairs(findings, earlier, facts(new Set(gone))),
];
const { title } = earlierFinding();

describe("an earlier comment and a breach of a named rule", () => {
  const breach = paired({ id: "aaaaaaaaaaaa", rule: "no-raw-sql" });

  it("A breach repeats a comment about the same rule", () => {
    const one = earlierFinding({ rule: "no-raw-sql" });
    expect(pairsOf([breach], [one])).toEqual([[breach, one]]);
  });

  it("A breach does not repeat a comment about another rule or none, so a dismissal unblocks nothing", () => {
    for (const over of [{}, { rule: "no-print" }])
      expect(pairsOf([breach], [earlierFinding({ ...over, state: "dismissed" })])).toEqual([]);
  });

  it("A finding without a rule repeats a comment about a breach, and takes over its rule and severity", () => {
    const [finding, one] = [
      paired({ id: "aaaaaaaaaaaa", severity: "low" }),
      earlierFinding({ rule: "no-raw-sql", severity: "high" }),
    ];
    expect(pairsOf([finding], [one])).toEqual([[finding, one]]);
    expect(underRuleOf(finding, one)).toMatchObject({ rule: "no-raw-sql", severity: "high" });
  });

  it("A finding without a rule does not repeat a breach that only the state remembers", () => {
    const listed = earlierFinding({ comment: null, rule: "no-raw-sql" });
    expect(pairsOf([paired({ id: "aaaaaaaaaaaa" })], [listed])).toEqual([]);
  });
});

describe("certainPairs", () => {
  it("A finding repeats a comment with its fingerprint on the same lines, whatever the titles", () => {
    const [finding, one] = [paired({ id: "aaaaaaaaaaaa-2" }), earlierFinding()];

    expect(pairsOf([finding], [one])).toEqual([[finding, one]]);
  });

  it("A finding repeats a comment with its fingerprint elsewhere only if that comment's code is gone", () => {
    const [finding, one] = [paired({ id: "aaaaaaaaaaaa", line: 212 }), earlierFinding()];

    expect(pairsOf([finding], [one], [one])).toEqual([[finding, one]]);
    expect(pairsOf([finding], [one])).toEqual([]);
  });

  it("Of two equal pieces of code, the one on the comment's lines repeats it", () => {
    const [first, second] = [paired({ id: "aaaaaaaaaaaa" }), paired({ id: "aaaaaaaaaaaa-2", line: 53 })];
    const one = earlierFinding({ line: 53 });

    expect(pairsOf([first, second], [one])).toEqual([[second, one]]);
  });

  it("A comment whose code is gone is repeated only if no other comment is", () => {
    const finding = paired({ id: "aaaaaaaaaaaa" });
    const [moved, there] = [earlierFinding({ line: null }), earlierFinding()];

    expect(pairsOf([finding], [moved, there])).toEqual([[finding, there]]);
    expect(pairsOf([finding], [moved])).toEqual([[finding, moved]]);
  });

  it("A finding at several places repeats a comment at any of them", () => {
    const place = { path: "a.ts", side: "RIGHT", line: 3, start_line: null, quote: "x <= y" } as const;
    const finding = paired({ line: 90, places: [place] });
    const one = earlierFinding({ line: 3, code: codeHash("x  <= y"), title: "Off by one" });

    expect(pairsOf([finding], [one])).toEqual([[finding, one]]);
    expect(pairsOf([{ ...finding, places: [] }], [one])).toEqual([]);
    // Another finding of its own has the better claim.
    const own = paired({ id: one.id, line: 3 });
    expect(pairsOf([finding, own], [one])).toEqual([[own, one]]);
  });

  it("A finding with a similar title on the same lines repeats a comment with another id", () => {
    const finding = paired({ title: "Total subtracts each price instead of adding it" });
    const old = earlierFinding({ category: null, symbol: null, code: null });

    expect(pairsOf([finding], [old])).toEqual([[finding, old]]);
    expect(pairsOf([{ ...finding, line: 13 }], [old])).toEqual([]);
    expect(pairsOf([{ ...finding, title: "Prices are never rounded" }], [old])).toEqual([]);
  });

  it("A finding in the same definition, or near the old lines, repeats a comment whose code is gone", () => {
    const one = earlierFinding({ line: null, original_line: 12, state: "outdated" });

    expect(pairsOf([paired({ title, line: 300 })], [one])).toHaveLength(1);
    expect(pairsOf([paired({ title, line: 40, symbol: null })], [one])).toHaveLength(1);
    expect(pairsOf([paired({ title, line: 300, symbol: "count" })], [one])).toEqual([]);
    // The next definition may well have the same kind of fault.
    expect(pairsOf([paired({ title, line: 20, symbol: "count" })], [one])).toEqual([]);
  });

  it("A finding repeats a comment under the old name of its file", () => {
    const finding = paired({ path: "new-name.ts", title });

    expect(pairsOf([finding], [earlierFinding()])).toHaveLength(1);
    expect(pairsOf([{ ...finding, path: "b.ts" }], [earlierFinding()])).toEqual([]);
  });

  it("A finding repeats a deleted comment only by its fingerprint", () => {
    const deleted = earlierFinding({ comment: null, state: "dismissed", path: "", line: null });

    expect(pairsOf([paired({ id: "aaaaaaaaaaaa-2" })], [deleted])).toHaveLength(1);
    expect(pairsOf([paired({ title })], [deleted])).toEqual([]);
  });

  it("A finding never repeats a comment that was fixed", () => {
    expect(pairsOf([paired({ id: "aaaaaaaaaaaa", title })], [earlierFinding({ state: "fixed" })])).toEqual(
      [],
    );
  });

  it("A finding with the same words elsewhere repeats no comment whose code is still there", () => {
    expect(pairsOf([paired({ title, line: 40 })], [earlierFinding()])).toEqual([]);
    expect(pairsOf([paired({ title, line: 12, side: "LEFT" })], [earlierFinding()])).toEqual([]);
  });
});

const line = fc.integer({ min: 1, max: 40 });
const titles = fc.constantFrom(title, "An empty cart divides by zero", "Prices are never rounded at all");
const symbols = fc.constantFrom("total", "count", null);
const findings = fc.array(
  fc
    .record({ id: fc.constantFrom("aaa", "aaa-2", "aaa-3", "bbb"), line, title: titles, symbol: symbols })
    .map((over) => paired(over)),
  { maxLength: 6 },
);
const earlierOnes = fc.array(
  fc
    .record({
      ...{ id: fc.constantFrom("aaa", "aaa-2", "bbb"), line: fc.option(line), original_line: line },
      ...{ title: titles, symbol: symbols },
      state: fc.constantFrom("open" as const, "outdated" as const, "dismissed" as const, "fixed" as const),
    })
    .map((over) => earlierFinding(over)),
  { maxLength: 6 },
);

describe("any pairs", () => {
  it("Each finding and each comment is in one pair, and every fingerprint finds its pair", () => {
    fc.assert(
      fc.property(findings, earlierOnes, (all, earlier) => {
        const lost = earlier.map((one) => ({ ...one, line: null }));
        const pairs = pairsOf(all, lost);

        expect(new Set(pairs.map(([, one]) => one)).size).toBe(pairs.length);
        for (const start of ["aaa", "bbb"]) {
          const wanted = all.filter(({ id }) => id.startsWith(start));
          const there = lost.filter(({ id, state }) => id.startsWith(start) && state !== "fixed");
          const told = wanted.filter((one) => pairs.some(([finding]) => finding === one));
          expect(told.length).toBeGreaterThanOrEqual(Math.min(wanted.length, there.length));
        }
      }),
    );
  });

  it("The pairs do not depend on how far the code moves", () => {
    fc.assert(
      fc.property(findings, earlierOnes, fc.integer({ min: 0, max: 5_000 }), (all, earlier, by) => {
        const numbers = (pairs: [Finding, PostedFinding][], of: Finding[], among: PostedFinding[]) =>
          pairs.map(([finding, one]) => [of.indexOf(finding), among.indexOf(one)]);
        const down = all.map((one) => ({ ...one, line: one.line + by }));
        const below = earlier.map((one) => ({
          ...one,
          line: one.line && one.line + by,
          original_line: one.original_line && one.original_line + by,
        }));

        expect(numbers(pairsOf(down, below), down, below)).toEqual(
          numbers(pairsOf(all, earlier), all, earlier),
        );
      }),
    );
  });
});
