import { describe, expect, it } from "vitest";
import type { DiffLine, FileDiff } from "../../../../src/repo/diff/file-diff.ts";
import { significantLines } from "../../../../src/tasks/review/context/changed.ts";

/** A diff of lines with a sign in front. */
function diffOf(...texts: string[]): FileDiff {
  let [oldLine, newLine] = [0, 0];
  const lines = texts.map((signed): DiffLine => {
    const text = signed.slice(1);
    if (signed.startsWith("-")) return { kind: "removed", text, oldLine: ++oldLine };
    if (signed.startsWith("+")) return { kind: "added", text, newLine: ++newLine };
    return { kind: "context", text, oldLine: ++oldLine, newLine: ++newLine };
  });
  const hunk = { oldStart: 1, oldLines: oldLine, newStart: 1, newLines: newLine, section: "", lines };
  return { path: "a.ts", oldPath: null, header: [], hunks: [hunk] };
}

function significantIn(...texts: string[]) {
  const found = [...significantLines([diffOf(...texts)])];
  return {
    added: found.flatMap((line) => (line.kind === "added" ? [line.newLine] : [])),
    removed: found.flatMap((line) => (line.kind === "removed" ? [line.oldLine] : [])),
  };
}

const none = { added: [], removed: [] };
const first = { added: [1], removed: [1] };

describe("lines without a significant change", () => {
  it("A name that is replaced everywhere is not significant", () => {
    expect(significantIn("-use(total, 1);", "+use(sum, 1);", " ", "-return total;", "+return sum;")).toEqual(
      none,
    );
  });

  it("A comment is not significant", () => {
    expect(
      significantIn("-// Old.", "+// New.", "+// And more.", " x", "-call(); // old", "+call(); // new"),
    ).toEqual(none);
    expect(significantIn("-    # Old.", "+    # New, longer.")).toEqual(none);
  });
});

describe("lines with a significant change", () => {
  it("A call of another function in one place is significant", () => {
    expect(significantIn("-min(a, b);", "+max(a, b);")).toEqual(first);
  });

  it("A replaced name is significant if the old one is still used, or the new one was before", () => {
    const both = { added: [1, 3], removed: [1, 3] };
    expect(significantIn("-use(a);", "+use(b);", " a = 1;", "-give(a);", "+give(b);")).toEqual(both);
    expect(significantIn("-use(a, b);", "+use(b, a);", " x", "-give(a, b);", "+give(b, a);")).toEqual(both);
  });

  it("Another operator, string, number, keyword or indentation is significant", () => {
    const pairs = [
      ["a < b", "a <= b"],
      ['x("a")', 'x("b")'],
      ["x(1)", "x(2)"],
      ["x = true", "x = false"],
      ["  x()", "    x()"],
      ["#define A 1", "#define A 2"],
      ['x("a // b")', 'x("a // c")'],
    ];
    for (const [before, after] of pairs) expect(significantIn(`-${before}`, `+${after}`)).toEqual(first);
  });

  it("Added or removed code is significant", () => {
    expect(significantIn("+call();", " x", "-other();")).toEqual({ added: [1], removed: [2] });
  });
});
