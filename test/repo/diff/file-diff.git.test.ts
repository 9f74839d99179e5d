import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import {
  isOverlong,
  MAX_LINE_BYTES,
  parseFilePatch,
  renderHunks,
  renderLine,
  shownBytes,
} from "../../../src/repo/diff/file-diff.ts";

describe("renderLine", () => {
  it.each([
    ["an unchanged line by its new number", { kind: "context", text: "a", oldLine: 1, newLine: 12 }, "12  a"],
    ["an added line by its new number", { kind: "added", text: "\tb", newLine: 13 }, "13 +\tb"],
    ["a removed line by its old number", { kind: "removed", text: "c", oldLine: 11 }, "11 -c"],
    [
      "a line without a newline",
      { kind: "added", text: "d", newLine: 1, noNewline: true },
      "1 +d\n\\ No newline at end of file",
    ],
  ] as const)("renderLine shows %s", (_, line, text) => expect(renderLine(line)).toBe(text));

  it("renderLine cuts an overlong line and says how much is missing", () => {
    const line = { kind: "added", text: "x".repeat(20_000), newLine: 1 } as const;
    expect(renderLine(line)).toMatch(/^1 \+x{2048}… \[17952 more characters of this line\]$/);
  });
});

describe("isOverlong", () => {
  it("isOverlong counts a line with its hidden characters escaped", () => {
    expect(isOverlong("x".repeat(MAX_LINE_BYTES))).toBe(false);
    expect(isOverlong("x".repeat(MAX_LINE_BYTES + 1))).toBe(true);
    expect(isOverlong("\u001F".repeat(MAX_LINE_BYTES / 6 + 1))).toBe(true);
    expect(shownBytes("\u0001\u{E0041}")).toBe("\\u{1}\\u{E0041}".length);
  });
});

describe("renderHunks", () => {
  it("renderHunks takes less than 1.5 times the characters of the plain diff of ordinary code", () => {
    const source = (width: number) =>
      Array.from(
        { length: 400 },
        (_, line) => `  const value${line} = compute(${line * width}, input);\n`,
      ).join("");
    // No repository is needed to compare two texts, but the exit code is 1 when they differ.
    const script = 'printf %s "$A" > a; printf %s "$B" > b; git diff --no-index --no-color a b || true';
    const folder = execFileSync("mktemp", ["-d"], { encoding: "utf8" }).trim();
    const environment = { PATH: process.env.PATH ?? "", A: source(3), B: source(3).replaceAll("15", "16") };
    const plain = execFileSync("sh", ["-c", script], { cwd: folder, env: environment, encoding: "utf8" });
    execFileSync("rm", ["-r", folder]);
    const diff = parseFilePatch(plain, "a", null);
    expect(diff.hunks.length).toBeGreaterThan(3);
    expect(renderHunks(diff.hunks).length).toBeLessThan(plain.length * 1.5);
  });
});
