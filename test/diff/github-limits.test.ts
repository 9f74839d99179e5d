import { describe, expect, it } from "vitest";
import { isHiddenForSize } from "../../src/diff/github-limits.ts";
import { parseFilePatch } from "../../src/diff/parse.ts";

const hidden = (patch: string, encoding: "utf8" | "latin1" = "utf8") =>
  isHiddenForSize(parseFilePatch(patch, "f", null), encoding);

/** A new file's patch. */
const added = (lines: string[]) =>
  `@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join("")}`;

/** Two lines whose patch has so many bytes. */
const ofBytes = (bytes: number) => added(["x".repeat(bytes - added(["", ""]).length), ""]);

describe("a file's diff is hidden by GitHub", () => {
  it("beyond 20,000 lines, unchanged ones included", () => {
    const context = Array.from({ length: 10_000 }, () => " same\n-old\n").join("");

    expect(hidden(added(new Array(20_000).fill("l")))).toBe(false);
    expect(hidden(added(new Array(20_001).fill("l")))).toBe(true);
    expect(hidden(`@@ -1,20000 +1,10000 @@\n${context}`)).toBe(false);
    expect(hidden(`@@ -1,20000 +1,10001 @@\n${context}+new\n`)).toBe(true);
  });

  it("beyond 500 KB, headers and remarks of hunks included", () => {
    expect(ofBytes(500 * 1024)).toHaveLength(512_000);
    expect(hidden(ofBytes(500 * 1024))).toBe(false);
    expect(hidden(ofBytes(500 * 1024 + 1))).toBe(true);
    expect(hidden(`${ofBytes(500 * 1024 - 28)}\\ No newline at end of file\n`)).toBe(false);
    expect(hidden(`${ofBytes(500 * 1024 - 27)}\\ No newline at end of file\n`)).toBe(true);
  });

  it("by bytes, not by characters", () => {
    expect(hidden(added(["é".repeat(255_000)]))).toBe(false);
    expect(hidden(added(["é".repeat(257_000)]))).toBe(true);
  });

  it("by no more bytes than there were, where lines were not UTF-8", () => {
    expect(hidden(added(["é".repeat(500_000)]), "latin1")).toBe(false);
    expect(hidden(added(["é".repeat(512_000)]), "latin1")).toBe(true);
  });
});
