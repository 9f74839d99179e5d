import fc from "fast-check";
import ignore from "ignore";
import { describe, expect, it } from "vitest";
import { createPathMatcher, patternFault } from "../../../src/repo/diff/paths.ts";
import { anyPath, anyPattern } from "./any-pattern.ts";

const long = process.env.HUNKWISE_LONG === "1";

/** The library goes by the documentation where git does not: with two stars behind text, at the end of a name. */
const documented = anyPattern.filter(
  (one) => !/^[^*?[\\]*[^*?[\\/]\*\*+(\/|\s*$)/.test(one.replace(/^!/, "")),
);

describe("createPathMatcher", () => {
  it("createPathMatcher answers as the package ignore", () => {
    fc.assert(
      fc.property(
        fc.array(documented, { minLength: 1, maxLength: 5 }),
        fc.array(anyPath, { minLength: 1, maxLength: 8 }),
        (patterns, paths) => {
          const library = ignore({ ignorecase: false, allowRelativePaths: true }).add(patterns);
          const match = createPathMatcher(patterns);
          for (const path of paths) {
            const { ignored, unignored } = library.test(path);
            expect({ path, ...match(path) }).toEqual({ path, matched: ignored, takenBack: unignored });
          }
        },
      ),
      { numRuns: long ? 50_000 : 600 },
    );
  });

  it.each([
    [["src/**", "!src/ours/**"], "src/ours/a.ts", { matched: true, takenBack: false }],
    [["*.ts", "!src/*.ts"], "src/a.ts", { matched: false, takenBack: true }],
    [["a/**"], "a", { matched: false, takenBack: false }],
    [["a/**"], "a/b", { matched: true, takenBack: false }],
    // As git has it, against its documentation.
    [["a**/b"], "ab", { matched: true, takenBack: false }],
    [["a**/b"], "ac/x/b", { matched: true, takenBack: false }],
    [["a**/b"], "x/ab", { matched: false, takenBack: false }],
    [["a**/**/*/c"], "a/c", { matched: true, takenBack: false }],
    [["*.ts", "!x/a**"], "x/ab/c.ts", { matched: false, takenBack: true }],
    [["a/"], "a", { matched: false, takenBack: false }],
    [["a/"], "a/", { matched: true, takenBack: false }],
    [["?"], "💥", { matched: true, takenBack: false }],
    [["[!a]*"], "é", { matched: true, takenBack: false }],
    [["[a"], "[a", { matched: false, takenBack: false }],
    [["a\\"], "a\\", { matched: false, takenBack: false }],
    [["a\\ "], "a ", { matched: true, takenBack: false }],
    [["a \r"], "a", { matched: true, takenBack: false }],
    [["", "#a", "!", "/", " "], "#a", { matched: false, takenBack: false }],
  ] as const)("createPathMatcher of %j answers for %s: %j", (patterns, path, expected) => {
    expect(createPathMatcher(patterns)(path)).toEqual(expected);
  });

  it("createPathMatcher answers alike in any order of paths", () => {
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

  it.each([
    ["*[+-9]".repeat(40), "0".repeat(4_000)],
    ["*[x/0]".repeat(40), "0".repeat(4_000)],
    ["**/a/".repeat(40), "a/".repeat(2_000)],
    ["a".repeat(40_000), "a"],
    [`${" ".repeat(65_000)}x`, "x"],
  ])("createPathMatcher ends for a pattern that a regular expression never ends (%#)", (pattern, path) => {
    expect(createPathMatcher([`${pattern}c`], true)(path).matched).toBe(false);
  });

  it("createPathMatcher matches paths of up to 4,096 characters", () => {
    const deep = "a/".repeat(2_040);
    expect(createPathMatcher(["**/a/**/b"])(`${deep}b`).matched).toBe(true);
    expect(createPathMatcher(["**/a/**/b"], true)(`${deep}c`).matched).toBe(false);
    expect(createPathMatcher(["*.ts"], true)(`${"a/".repeat(2_048)}b`).matched).toBe(true);
    expect(createPathMatcher(["**"], false)(`${"a/".repeat(2_048)}b`).matched).toBe(false);
  });
});

describe("patternFault", () => {
  it.each([
    ...["./src/**", "src/./a", "src//a", "../x", "!../x", "src/..", "a/b//", "/", "."],
    ...["secret\\**", "src\\keys\\id.pem", ".\\src", "src\\", "C:\\keys\\*", "c:/keys/**", "~/keys/*"],
    ...["/home/me/shop/src/**", "/Users/me/shop/x", "[a", "[[:letters:]]x"],
    ...["", "  ", "!", "#x", "#secret/**", "secret/[z-a]*"],
  ])("patternFault says why %s matches no path", (pattern) => {
    expect(patternFault(pattern, false)).toMatch(/^(?:has|begins) /);
  });

  it.each([
    ...["# a comment: ./x", "x\\ "],
    ..."# !#x [!z-a] [z-aq] /src src/ ** **/x a/**/b .* ..a a.. .github/**".split(" "),
    ..."\\#x \\!x src/\\[id\\]/** star\\*.txt a\\?b [\\]a] a\\\\b /home/** C:x".split(" "),
  ])("patternFault accepts %j", (pattern) => {
    expect(patternFault(pattern, false)).toBeNull();
  });

  it("patternFault refuses an escaped star only for private paths", () => {
    expect(patternFault("keys\\*", true)).toMatch(/backslash/);
    expect(patternFault("keys[*]", true)).toBeNull();
  });

  it("patternFault accepts each pattern that matches a path of git", () => {
    const isOfGit = (path: string) => path.split("/").every((name) => !["", ".", ".."].includes(name));
    fc.assert(
      fc.property(anyPattern, anyPath, (pattern, path) => {
        const plain = pattern.replaceAll("\\", "");
        fc.pre(isOfGit(path.replace(/\/$/, "")) && !plain.startsWith("!"));
        if (createPathMatcher([plain])(path).matched)
          expect({ plain, fault: patternFault(plain, false) }).toEqual({ plain, fault: null });
      }),
      { numRuns: long ? 50_000 : 2_000 },
    );
  });
});
