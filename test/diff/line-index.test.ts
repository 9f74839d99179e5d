import { describe, expect, it } from "vitest";
import { createLineIndex, lineAtHead } from "../../src/diff/line-index.ts";
import { parseFilePatch } from "../../src/diff/parse.ts";

const patch = `@@ -1,4 +1,4 @@
 one
-two
+TWO
 three
 four
@@ -20,3 +20,4 @@ function f() {
 twenty
+new
 twenty-one
 twenty-two
`;
const diff = parseFilePatch(patch, "f", null);
const index = createLineIndex(diff);

describe("createLineIndex", () => {
  it("finds added and unchanged lines on the right, removed and unchanged ones on the left", () => {
    const shown = (side: "LEFT" | "RIGHT") =>
      Array.from({ length: 30 }, (_, line) => line).filter((line) => index.at(side, line));
    expect(shown("RIGHT")).toEqual([1, 2, 3, 4, 20, 21, 22, 23]);
    expect(shown("LEFT")).toEqual([1, 2, 3, 4, 20, 21, 22]);
    expect(index.at("RIGHT", 2)).toMatchObject({ hunk: 1, line: { kind: "added", text: "TWO" } });
    expect(index.at("LEFT", 2)).toMatchObject({ hunk: 1, line: { kind: "removed", text: "two" } });
    expect(index.at("LEFT", 21)).toMatchObject({ hunk: 2, line: { kind: "context", newLine: 22 } });
  });

  it("finds nothing outside the hunks", () => {
    expect(index.at("RIGHT", 5)).toBeUndefined();
    expect(index.at("LEFT", 23)).toBeUndefined();
  });
});

describe("lineAtHead", () => {
  it.each([
    [1, 1],
    [3, 3],
    [10, 10],
    [20, 20],
    [21, 22],
    [22, 23],
    [500, 501],
  ])("line %i of the merge base is line %i of the head", (old, now) => {
    expect(lineAtHead(diff.hunks, old)).toBe(now);
  });

  it("changes nothing where there are no hunks", () => {
    expect(lineAtHead([], 7)).toBe(7);
  });
});
