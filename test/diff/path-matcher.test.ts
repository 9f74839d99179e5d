import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPathMatcher } from "../../src/diff/path-matcher.ts";
import { anyPath, anyPattern } from "./any-pattern.ts";

const long = process.env.HUNKWISE_LONG === "1";

describe("createPathMatcher", () => {
  it.each([
    [["src/**", "!src/ours/**"], "src/ours/a.ts", { matched: true, takenBack: false }],
    [["*.ts", "!src/*.ts"], "src/a.ts", { matched: false, takenBack: true }],
    [["a/**"], "a", { matched: false, takenBack: false }],
    [["a/**"], "a/b", { matched: true, takenBack: false }],
    [["a/"], "a", { matched: false, takenBack: false }],
    [["a/"], "a/", { matched: true, takenBack: false }],
    [["??"], "💥", { matched: true, takenBack: false }],
    [["[!a]*"], "é", { matched: true, takenBack: false }],
    [["[a"], "[a", { matched: false, takenBack: false }],
    [["a\\"], "a\\", { matched: false, takenBack: false }],
    [["a\\ "], "a ", { matched: true, takenBack: false }],
    [["a \r"], "a", { matched: true, takenBack: false }],
    [["", "#a", "!", "/", " "], "#a", { matched: false, takenBack: false }],
  ] as const)("of %j says of %s: %j", (patterns, path, expected) => {
    expect(createPathMatcher(patterns)(path)).toEqual(expected);
  });

  it("forgets nothing of a pattern between paths, whatever their order", () => {
    fc.assert(
      fc.property(
        fc.array(anyPattern, { minLength: 1, maxLength: 4 }),
        fc.array(anyPath, { maxLength: 12 }),
        (patterns, paths) => {
          const match = createPathMatcher(patterns);
          expect(paths.map(match)).toEqual(paths.map((path) => createPathMatcher(patterns)(path)));
        },
      ),
      { numRuns: long ? 10_000 : 500 },
    );
  });

  it("matches paths of up to 4,096 characters, and gives the answer for overlong ones beyond", () => {
    const deep = "a/".repeat(2_040);
    expect(createPathMatcher(["*.ts"])(`${deep}b.ts`).matched).toBe(true);
    expect(createPathMatcher(["a/**/*.ts"])(`${deep}b.ts`).matched).toBe(true);
    expect(createPathMatcher(["*.ts"], true)(`${"a/".repeat(2_048)}b`).matched).toBe(true);
    expect(createPathMatcher(["**"], false)(`${"a/".repeat(2_048)}b`).matched).toBe(false);
  });

  it("gives that answer for paths with so many folders that several `**` would try them for ever", () => {
    for (const [times, folders] of [
      [2, 1_000],
      [5, 40],
      [30, 12],
    ] as const) {
      const [pattern, path] = ["**/a/".repeat(times), "a/".repeat(folders)];
      expect(createPathMatcher([`${pattern}b`])(`${path}c`).matched).toBe(false);
      expect(createPathMatcher([`${pattern}b`], true)(`${path}c`).matched).toBe(true);
    }
    expect(createPathMatcher(["**/a/**/a/**/a/**/b"])(`${"a/".repeat(20)}b`).matched).toBe(true);
    expect(createPathMatcher(["**/a/**/b"], true)(`${"a/".repeat(100)}c`).matched).toBe(false);
  });
});
