import { describe, expect, it } from "vitest";
import {
  createIdentities,
  createUniqueIds,
  fingerprint,
  titlesAlike,
} from "../../../src/tasks/anchor/fingerprint.ts";
import { sampleFinding } from "../../report/sample-result.ts";

const finding = sampleFinding({ symbol: "Cart.total", quote: "  if (a <= b) continue;" });

describe("a fingerprint", () => {
  it("A fingerprint survives moved, indented and wrapped lines", () => {
    const moved = { ...finding, line: 900, quote: "if (a <= b)\n\t\tcontinue;\n", title: "Another title" };

    expect(fingerprint(moved)).toBe(fingerprint(finding));
  });

  it.each([
    ["of another definition", { symbol: "Cart.count" }],
    ["outside of any definition", { symbol: null }],
    ["of another file", { path: "src/b.ts" }],
    ["of the other side", { side: "LEFT" as const }],
    ["of another kind", { category: "data" as const }],
    ["of other code", { quote: "if (a < b) continue;" }],
  ])("A finding %s has another fingerprint", (_, over) => {
    expect(fingerprint({ ...finding, ...over })).not.toBe(fingerprint(finding));
  });
});

describe("ids of one run", () => {
  it("Equal lines of one definition get different ids", () => {
    const base = fingerprint(finding);
    const identify = createIdentities();
    const given = [6, 8, 8, 10].map((line) => identify({ ...finding, line }));

    expect(given).toEqual([base, `${base}-2`, `${base}-2`, `${base}-3`]);
  });

  it("Ids of several loops become unique, and differ from those of earlier reviews", () => {
    const unique = createUniqueIds(new Set(["aaaaaaaaaaaa-2"]));
    const given = [6, 8, 8, 10].map((line) => unique({ id: "aaaaaaaaaaaa-7", line, title: "It is wrong" }));

    expect(given).toEqual(["aaaaaaaaaaaa", "aaaaaaaaaaaa-3", "aaaaaaaaaaaa-3", "aaaaaaaaaaaa-4"]);
  });
});

describe("two titles", () => {
  it.each([
    ["are the same", "The last line is never counted", "the last line is  never counted"],
    ["differ in small words", "The last line is never counted", "Last line never counted"],
    ["differ in one word", "The last line is never counted", "The last line is not counted"],
    ["name the same code", "`parseLine` drops the last line", "parseLine drops the very last line"],
  ])("Two titles that %s are alike", (_, one, other) => {
    expect(titlesAlike(one, other)).toBe(true);
    expect(titlesAlike(other, one)).toBe(true);
  });

  it.each([
    ["share few words", "The last line is never counted", "An empty cart divides by zero"],
    ["name other numbers", "The retry waits 10 seconds", "The retry waits 20 seconds"],
    ["name other code", "`maxItems` is never checked", "`minItems` is never checked"],
    ["have no word", "", ""],
  ])("Two titles that %s are not alike", (_, one, other) => {
    expect(titlesAlike(one, other)).toBe(false);
    expect(titlesAlike(other, one)).toBe(false);
  });
});
