import { describe, expect, it } from "vitest";
import { createUniqueIds } from "../../../../src/tasks/anchor/fingerprint.ts";
import {
  createJoiner,
  groupEqual,
  groupFindings,
  mergedFinding,
  mergeTwo,
} from "../../../../src/tasks/review/verify/merge.ts";
import { sampleFinding } from "../../../report/sample-result.ts";

const finding = sampleFinding;

describe("findings with one cause", () => {
  it("Merged findings have all places, the worse severity and the higher confidence", () => {
    const one = finding({ severity: "medium", confidence: 0.4 });
    const other = finding({
      id: "f2",
      path: "src/b.ts",
      line: 9,
      severity: "high",
      confidence: 0.8,
      quote: "b",
    });
    expect(mergeTwo(one, other)).toMatchObject({
      id: "f1",
      path: "src/cart.ts",
      severity: "high",
      confidence: 0.8,
      places: [{ path: "src/b.ts", line: 9, side: "RIGHT", start_line: null, quote: "b" }],
    });
  });

  it("Merged findings on the same lines have no further place", () => {
    const range = finding({ id: "f2", start_line: 5, line: 7 });
    expect(mergeTwo(finding(), range).places).toEqual([]);
  });

  it("A suggestion is taken over only for the same lines", () => {
    const bare = finding({ suggestion: null });
    expect(mergeTwo(bare, finding({ id: "f2" })).suggestion).toBe(finding().suggestion);
    expect(mergeTwo(bare, finding({ id: "f2", line: 7 })).suggestion).toBeNull();
  });

  it("Different titles are kept as evidence", () => {
    const other = finding({ id: "f2", path: "src/b.ts", line: 9, title: "The total is lost", evidence: [] });
    expect(mergeTwo(finding({ evidence: [] }), other).evidence).toEqual([
      { path: "src/b.ts", start_line: 9, end_line: 9, note: "The total is lost" },
    ]);
    expect(mergeTwo(finding({ evidence: [] }), finding({ path: "src/b.ts", evidence: [] })).evidence).toEqual(
      [],
    );
  });

  it("Equal titles are joined, whatever their case and spacing", () => {
    const all = [
      finding({ id: "a", title: "No limit", line: 1 }),
      finding({ id: "b", title: "no  LIMIT", path: "src/b.ts", line: 2 }),
      finding({ id: "c", title: "No limit", path: "src/c.ts", line: 3 }),
      finding({ id: "d", title: "No limit", category: "security", line: 9 }),
    ];
    const [first, other, ...more] = groupEqual(all.map((one) => [one])).map(mergedFinding);
    expect(first?.places.map(({ path }) => path)).toEqual(["src/b.ts", "src/c.ts"]);
    expect(other).toMatchObject({ id: "d", places: [] });
    expect(more).toEqual([]);
  });
});

describe("createJoiner", () => {
  const three = [
    [finding({ id: "a", line: 1 })],
    [finding({ id: "b", path: "src/b.ts", line: 2 })],
    [finding({ id: "c", path: "src/c.ts", line: 3 })],
  ] as const;

  it("A model joins findings, and the one it names stays", () => {
    const joiner = createJoiner(three);
    expect(joiner.join("b", ["a", "c"])).toMatchObject({ ok: true });
    expect(joiner.groups().map((group) => group.map(({ id }) => id))).toEqual([["b", "a", "c"]]);
    expect(joiner.groups().map(mergedFinding)).toMatchObject([
      { id: "b", places: [{ path: "src/cart.ts" }, { path: "src/c.ts" }] },
    ]);
  });

  it("An unknown id is refused, and nothing is lost", () => {
    const joiner = createJoiner(three);
    expect(joiner.join("a", ["z"])).toEqual({
      ok: false,
      reason: "there is no finding 'z'; the ids are a, b, c",
    });
    expect(joiner.groups()).toHaveLength(3);
  });

  it("A finding cannot be joined with itself", () => {
    const joiner = createJoiner(three);
    joiner.join("a", ["a"]);
    expect(joiner.groups()).toHaveLength(3);
  });
});

/** As they are reported where nothing is looked at again. */
const gathered = (loops: Parameters<typeof groupFindings>[0]) =>
  groupFindings(loops, createUniqueIds()).map(mergedFinding);

describe("the findings of several loops", () => {
  it("Two reports of one fault at one place are one finding", () => {
    const all = gathered([[finding()], [finding({ confidence: 0.99 })]]);
    expect(all).toMatchObject([{ confidence: 0.99, places: [] }]);
  });

  it("Three reports of one problem in several files are one finding with three places", () => {
    const loops = ["a", "b", "c"].map((name) => [finding({ path: `src/${name}.ts` })]);
    const all = gathered(loops);
    expect(all).toHaveLength(1);
    expect(all[0]?.places.map(({ path }) => path)).toEqual(["src/b.ts", "src/c.ts"]);
  });

  it("Different faults in equal code keep their own ids", () => {
    const all = gathered([[finding()], [finding({ title: "Another fault" })]]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(2);
  });

  it("The ids do not depend on which loop found what", () => {
    const [one, other] = [
      finding({ id: "aaaaaaaaaaaa", path: "src/a.ts", title: "A" }),
      finding({ id: "bbbbbbbbbbbb", path: "src/b.ts", title: "B" }),
    ];
    const ids = (loops: (typeof one)[][]) =>
      gathered(loops)
        .map(({ path, id }) => [path, id])
        .sort();
    expect(ids([[one], [other]])).toEqual(ids([[other, one]]));
  });
});

describe("findings of named rules", () => {
  const [one, other, none] = [{ rule: "no-raw-sql" }, { rule: "no-print" }, {}].map((over, at) =>
    finding({ id: `f${at}`, line: 6, title: "The handler sends its own query", ...over }),
  );
  if (!one || !other || !none) throw new Error("there are three");

  it("Findings of two rules stay two, and a merged one takes the rule of either", () => {
    expect(groupEqual([[one], [other]])).toHaveLength(2);
    expect(groupEqual([[one], [none]]).map(mergedFinding)).toMatchObject([{ rule: "no-raw-sql" }]);
    expect(
      groupEqual([[none], [one], [other]])
        .map(mergedFinding)
        .map(({ rule }) => rule),
    ).toEqual(["no-raw-sql", "no-print"]);
  });

  it("A model cannot join findings of two rules", () => {
    const joiner = createJoiner([[one], [other]]);
    expect(joiner.join(one.id, [other.id])).toMatchObject({
      ok: false,
      reason: expect.stringContaining("different rules"),
    });
    expect(joiner.groups()).toHaveLength(2);
  });
});
