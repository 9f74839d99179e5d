import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../../../src/core/finding.ts";
import { codeHash, type PostedFinding } from "../../../../src/core/ledger/entry.ts";
import { certainPairs, underRuleOf } from "../../../../src/tasks/review/followup/compare-findings.ts";
import { sampleFinding } from "../../../report/sample-result.ts";
import { earlierFinding, facts } from "./earlier-finding.ts";

const found = (over: Partial<Finding> = {}) =>
  sampleFinding({ ...{ id: "bbbbbbbbbbbb", path: "a.ts", line: 12, symbol: "total" }, ...over });
const pairsOf = (findings: Finding[], earlier: PostedFinding[], gone: PostedFinding[] = []) => [
  ...certainPairs(findings, earlier, facts(new Set(gone))),
];
const { title } = earlierFinding();

describe("an earlier comment and a breach of a named rule", () => {
  const breach = found({ id: "aaaaaaaaaaaa", rule: "no-raw-sql" });

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
      found({ id: "aaaaaaaaaaaa", severity: "low" }),
      earlierFinding({ rule: "no-raw-sql", severity: "high" }),
    ];
    expect(pairsOf([finding], [one])).toEqual([[finding, one]]);
    expect(underRuleOf(finding, one)).toMatchObject({ rule: "no-raw-sql", severity: "high" });
  });

  it("A finding without a rule does not repeat a breach that only the state remembers", () => {
    const listed = earlierFinding({ comment: null, rule: "no-raw-sql" });
    expect(pairsOf([found({ id: "aaaaaaaaaaaa" })], [listed])).toEqual([]);
  });
});

describe("certainPairs", () => {
  it("A finding repeats a comment with its fingerprint on the same lines, whatever the titles", () => {
    const [finding, one] = [found({ id: "aaaaaaaaaaaa-2" }), earlierFinding()];

    expect(pairsOf([finding], [one])).toEqual([[finding, one]]);
  });

  it("A finding repeats a comment with its fingerprint elsewhere only if that comment's code is gone", () => {
    const [finding, one] = [found({ id: "aaaaaaaaaaaa", line: 212 }), earlierFinding()];

    expect(pairsOf([finding], [one], [one])).toEqual([[finding, one]]);
    expect(pairsOf([finding], [one])).toEqual([]);
  });

  it("Of two equal pieces of code, the one on the comment's lines repeats it", () => {
    const [first, second] = [found({ id: "aaaaaaaaaaaa" }), found({ id: "aaaaaaaaaaaa-2", line: 53 })];
    const one = earlierFinding({ line: 53 });

    expect(pairsOf([first, second], [one])).toEqual([[second, one]]);
  });

  it("A comment whose code is gone is repeated only if no other comment is", () => {
    const finding = found({ id: "aaaaaaaaaaaa" });
    const [moved, there] = [earlierFinding({ line: null }), earlierFinding()];

    expect(pairsOf([finding], [moved, there])).toEqual([[finding, there]]);
    expect(pairsOf([finding], [moved])).toEqual([[finding, moved]]);
  });

  it("A finding at several places repeats a comment at any of them", () => {
    const place = { path: "a.ts", side: "RIGHT", line: 3, start_line: null, quote: "x <= y" } as const;
    const finding = found({ line: 90, places: [place] });
    const one = earlierFinding({ line: 3, code: codeHash("x  <= y"), title: "Off by one" });

    expect(pairsOf([finding], [one])).toEqual([[finding, one]]);
    expect(pairsOf([{ ...finding, places: [] }], [one])).toEqual([]);
    // Another finding of its own has the better claim.
    const own = found({ id: one.id, line: 3 });
    expect(pairsOf([finding, own], [one])).toEqual([[own, one]]);
  });

  it("A finding with a similar title on the same lines repeats a comment with another id", () => {
    const finding = found({ title: "Total subtracts each price instead of adding it" });
    const old = earlierFinding({ category: null, symbol: null, code: null });

    expect(pairsOf([finding], [old])).toEqual([[finding, old]]);
    expect(pairsOf([{ ...finding, line: 13 }], [old])).toEqual([]);
    expect(pairsOf([{ ...finding, title: "Prices are never rounded" }], [old])).toEqual([]);
  });

  it("A finding in the same definition, or near the old lines, repeats a comment whose code is gone", () => {
    const one = earlierFinding({ line: null, original_line: 12, state: "outdated" });

    expect(pairsOf([found({ title, line: 300 })], [one])).toHaveLength(1);
    expect(pairsOf([found({ title, line: 40, symbol: null })], [one])).toHaveLength(1);
    expect(pairsOf([found({ title, line: 300, symbol: "count" })], [one])).toEqual([]);
    // The next definition may well have the same kind of fault.
    expect(pairsOf([found({ title, line: 20, symbol: "count" })], [one])).toEqual([]);
  });

  it("A finding repeats a comment under the old name of its file", () => {
    const finding = found({ path: "new-name.ts", title });

    expect(pairsOf([finding], [earlierFinding()])).toHaveLength(1);
    expect(pairsOf([{ ...finding, path: "b.ts" }], [earlierFinding()])).toEqual([]);
  });

  it("A finding repeats a deleted comment only by its fingerprint", () => {
    const deleted = earlierFinding({ comment: null, state: "dismissed", path: "", line: null });

    expect(pairsOf([found({ id: "aaaaaaaaaaaa-2" })], [deleted])).toHaveLength(1);
    expect(pairsOf([found({ title })], [deleted])).toEqual([]);
  });

  it("A finding never repeats a comment that was fixed", () => {
    expect(pairsOf([found({ id: "aaaaaaaaaaaa", title })], [earlierFinding({ state: "fixed" })])).toEqual([]);
  });

  it("A finding with the same words elsewhere repeats no comment whose code is still there", () => {
    expect(pairsOf([found({ title, line: 40 })], [earlierFinding()])).toEqual([]);
    expect(pairsOf([found({ title, line: 12, side: "LEFT" })], [earlierFinding()])).toEqual([]);
  });
});

const line = fc.integer({ min: 1, max: 40 });
const titles = fc.constantFrom(title, "An empty cart divides by zero", "Prices are never rounded at all");
const symbols = fc.constantFrom("total", "count", null);
const findings = fc.array(
  fc
    .record({ id: fc.constantFrom("aaa", "aaa-2", "aaa-3", "bbb"), line, title: titles, symbol: symbols })
    .map((over) => found(over)),
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
