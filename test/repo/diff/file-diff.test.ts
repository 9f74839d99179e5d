import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createLineIndex,
  type DiffLine,
  divideHunk,
  type Hunk,
  isHiddenForSize,
  lineAtHead,
  NO_NEWLINE,
  parseFilePatch,
  printDiff,
  renderHunks,
  shownBytes,
  surveyPatch,
} from "../../../src/repo/diff/file-diff.ts";
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
  ])("divideHunk: %s", (_, pattern, max, parts) => {
    expect(shape(divideHunk(hunkOf(pattern), max, sizeOf))).toEqual(parts);
  });

  it("divideHunk numbers a side without lines by the line before, as git does", () => {
    const parts = divideHunk(hunkOf("---+++"), 6, sizeOf);
    expect(parts.map((part) => printDiff({ header: [], hunks: [part] }).split("\n")[0])).toEqual([
      "@@ -10,3 +19,0 @@",
      "@@ -12,0 +20,3 @@",
    ]);
  });

  it("divideHunk gives consecutive valid hunks that join to the hunk", () => {
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

  it("divideHunk divides a hunk of 50,000 lines", () => {
    const parts = divideHunk(hunkOf("-+ ".repeat(16_000)), 4_000, sizeOf);
    expect(parts.length).toBeGreaterThan(20);
    expect(parts.flatMap((part) => part.lines)).toHaveLength(48_000);
  });
});

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
  it("createLineIndex finds added lines on the right, removed ones on the left, unchanged ones on both", () => {
    const shown = (side: "LEFT" | "RIGHT") =>
      Array.from({ length: 30 }, (_, line) => line).filter((line) => index.at(side, line));
    expect(shown("RIGHT")).toEqual([1, 2, 3, 4, 20, 21, 22, 23]);
    expect(shown("LEFT")).toEqual([1, 2, 3, 4, 20, 21, 22]);
    expect(index.at("RIGHT", 2)).toMatchObject({ hunk: 1, line: { kind: "added", text: "TWO" } });
    expect(index.at("LEFT", 2)).toMatchObject({ hunk: 1, line: { kind: "removed", text: "two" } });
    expect(index.at("LEFT", 21)).toMatchObject({ hunk: 2, line: { kind: "context", newLine: 22 } });
  });

  it("createLineIndex finds nothing outside the hunks", () => {
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
  ])("lineAtHead maps line %i of the merge base to line %i of the head", (old, now) => {
    expect(lineAtHead(diff.hunks, old)).toBe(now);
  });

  it("lineAtHead changes no line of a file without hunks", () => {
    expect(lineAtHead([], 7)).toBe(7);
  });
});

const hidden = (patch: string, encoding: "utf8" | "latin1" = "utf8") =>
  isHiddenForSize(parseFilePatch(patch, "f", null), encoding);

/** A new file's patch. */
const added = (lines: string[]) =>
  `@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join("")}`;

/** Two lines whose patch has so many bytes. */
const ofBytes = (bytes: number) => added(["x".repeat(bytes - added(["", ""]).length), ""]);

describe("isHiddenForSize", () => {
  it("GitHub hides a diff of more than 20,000 lines, unchanged ones included", () => {
    const context = Array.from({ length: 10_000 }, () => " same\n-old\n").join("");

    expect(hidden(added(new Array(20_000).fill("l")))).toBe(false);
    expect(hidden(added(new Array(20_001).fill("l")))).toBe(true);
    expect(hidden(`@@ -1,20000 +1,10000 @@\n${context}`)).toBe(false);
    expect(hidden(`@@ -1,20000 +1,10001 @@\n${context}+new\n`)).toBe(true);
  });

  it("GitHub hides a diff of more than 500 KB, headers and remarks included", () => {
    expect(ofBytes(500 * 1024)).toHaveLength(512_000);
    expect(hidden(ofBytes(500 * 1024))).toBe(false);
    expect(hidden(ofBytes(500 * 1024 + 1))).toBe(true);
    expect(hidden(`${ofBytes(500 * 1024 - 28)}\\ No newline at end of file\n`)).toBe(false);
    expect(hidden(`${ofBytes(500 * 1024 - 27)}\\ No newline at end of file\n`)).toBe(true);
  });

  it("GitHub's limit for a diff counts bytes, not characters", () => {
    expect(hidden(added(["é".repeat(255_000)]))).toBe(false);
    expect(hidden(added(["é".repeat(257_000)]))).toBe(true);
  });

  it("A Latin-1 line counts no more bytes than it had", () => {
    expect(hidden(added(["é".repeat(500_000)]), "latin1")).toBe(false);
    expect(hidden(added(["é".repeat(512_000)]), "latin1")).toBe(true);
  });
});

const folder = join(import.meta.dirname, "../../../fixtures/diffs");
const patches = readdirSync(folder).filter((file) => file.endsWith(".diff"));

/** What the parser and the renderer make of it, the slow way. */
function rendered(patch: string) {
  const { hunks } = parseFilePatch(patch, "f", null);
  return {
    hunks: hunks.length,
    shownBytes: shownBytes(renderHunks(hunks)),
    changes: hunks.map((hunk) => changesOf(hunk).map(digest)),
  };
}

const digest = (lines: readonly string[]) =>
  createHash("sha256").update(lines.join("\n")).digest("base64url");

/** The lines of each run of changed lines, with their signs. */
function changesOf({ lines }: Hunk): string[][] {
  const runs: string[][] = [];
  lines.forEach((line, at) => {
    if (line.kind === "context") return;
    const before = lines[at - 1];
    if (before === undefined || before.kind === "context") runs.push([]);
    runs.at(-1)?.push(`${signs[line.kind]}${line.text}`, ...(line.noNewline ? [NO_NEWLINE] : []));
  });
  return runs;
}

describe("surveyPatch", () => {
  it.each(patches)(
    "surveyPatch counts the hunks of %s as the parser does, and its bytes as they are rendered",
    (name) => {
      const patch = readFileSync(join(folder, name), "utf8");
      expect(surveyPatch(patch)).toEqual({ ...rendered(patch), overlongChange: false });
    },
  );

  it("surveyPatch counts the bytes of any hunks as they are rendered", () => {
    fc.assert(
      fc.property(fc.array(randomHunk, { maxLength: 5 }), fc.boolean(), (hunks, cut) => {
        const patch = printDiff({ header: ["diff --git a/f b/f", "--- a/f", "+++ b/f"], hunks });
        expect(surveyPatch(cut ? patch.slice(0, -1) : patch)).toMatchObject(rendered(patch));
      }),
    );
  });

  it("surveyPatch counts escapes and characters of several bytes as they are shown", () => {
    const lines = ["-a\u200bb\r", "+a\u{1F600}\\u{41}", "\\ No newline at end of file"];
    const patch = `--- a/f\n+++ b/f\n@@ -9999 +9999 @@ é\n${lines.join("\n")}\n`;
    expect(surveyPatch(patch)).toEqual({ ...rendered(patch), overlongChange: false });
  });

  it("surveyPatch counts hunks whose lines look like hunk headers", () => {
    fc.assert(
      fc.property(fc.array(randomHunk, { maxLength: 5 }), (hunks) => {
        const header = ["diff --git a/f b/f", "--- a/f", "+++ b/f"];
        return surveyPatch(printDiff({ header, hunks })).hunks === hunks.length;
      }),
    );
  });

  it.each([
    ["an added line", "+", true],
    ["a removed line", "-", true],
    ["an unchanged line", " ", false],
  ])("surveyPatch tells whether %s is overlong", (_, sign, overlong) => {
    const patch = `--- a/f\n+++ b/f\n@@ -1 +1 @@\n${sign}${"x".repeat(20_000)}\n`;
    expect(surveyPatch(patch)).toEqual({ ...rendered(patch), overlongChange: overlong });
  });
});
