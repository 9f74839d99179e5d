import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { divideHunk } from "../../src/diff/divide.ts";
import type { DiffLine, Hunk } from "../../src/diff/file-diff.ts";
import { parseFilePatch } from "../../src/diff/parse.ts";
import { printDiff } from "../../src/diff/render.ts";
import { randomHunk } from "./random-hunk.ts";

const sizeOf = (line: DiffLine) => line.text.length + 1;
const sizeOfAll = (hunk: Hunk) => hunk.lines.reduce((sum, line) => sum + sizeOf(line), 0);
const signs = { context: " ", added: "+", removed: "-" };
const shape = (hunks: Hunk[]) => hunks.map((hunk) => hunk.lines.map((line) => signs[line.kind]).join(""));

function hunkOf(pattern: string): Hunk {
  const body = [...pattern].map((sign) => `${sign}x\n`).join("");
  const [oldLines, newLines] = ["+", "-"].map((sign) => [...pattern].filter((one) => one !== sign).length);
  return parseFilePatch(`@@ -10,${oldLines} +20,${newLines} @@\n${body}`, "f", null).hunks[0]!;
}

describe("divideHunk", () => {
  it.each([
    ["leaves a hunk alone that fits", "  ++  ", 12, ["  ++  "]],
    ["cuts at an unchanged line", "++ ++ ", 10, ["++ ", "++ "]],
    ["cuts as late as it can", "+ + + + +", 8, ["+ + ", "+ + ", "+"]],
    ["cuts inside a change that is too large", "++++++", 4, ["++", "++", "++"]],
    ["keeps the unchanged lines in front with the change", "   +++++", 10, ["   ++", "+++"]],
    ["leaves no part without a change behind", "++++   ", 10, ["+++", "+   "]],
    ["gives a line that is too large a part of its own", "+ +", 1, ["+", " ", "+"]],
  ])("%s", (_, pattern, max, parts) => {
    expect(shape(divideHunk(hunkOf(pattern), max, sizeOf))).toEqual(parts);
  });

  it("numbers parts as git does, a side without lines by the line before", () => {
    const parts = divideHunk(hunkOf("---+++"), 6, sizeOf);
    expect(parts.map((part) => printDiff({ header: [], hunks: [part] }).split("\n")[0])).toEqual([
      "@@ -10,3 +19,0 @@",
      "@@ -12,0 +20,3 @@",
    ]);
  });

  it("gives consecutive valid hunks that are the hunk when put together", () => {
    fc.assert(
      fc.property(randomHunk, fc.integer({ min: 1, max: 40 }), (hunk, max) => {
        const parts = divideHunk(hunk, max, sizeOf);
        expect(parts.flatMap((part) => part.lines)).toEqual(hunk.lines);
        expect(parts.every((part) => sizeOfAll(part) <= max || part.lines.length === 1)).toBe(true);
        // Valid: parsing a printed part gives every line the number it had in the whole hunk.
        const printed = parts.map((part) => printDiff({ header: [], hunks: [part] }));
        expect(printed.map((one) => parseFilePatch(one, "f", null).hunks)).toEqual(
          parts.map((part) => [part]),
        );
      }),
    );
  });

  it("divides a hunk of 50,000 lines", () => {
    const parts = divideHunk(hunkOf("-+ ".repeat(16_000)), 4_000, sizeOf);
    expect(parts.length).toBeGreaterThan(20);
    expect(parts.flatMap((part) => part.lines)).toHaveLength(48_000);
  });
});
