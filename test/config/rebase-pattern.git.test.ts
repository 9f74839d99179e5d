import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rebasePattern } from "../../src/config/load-config.ts";
import { createPathMatcher } from "../../src/repo/diff/paths.ts";
import { GitRepo } from "../support/git-repo.ts";

describe("a pattern of a folder", () => {
  it.each([
    ["*.pem", "a/b", "/a/b/**/*.pem"],
    ["keys/", "a", "/a/**/keys/"],
    ["/keys", "a", "/a/keys"],
    ["x/y", "a", "/a/x/y"],
    ["**/y", "a", "/a/**/y"],
    ["!x", "a", "!/a/**/x"],
    ["\\#x", "a", "/a/**/\\#x"],
    ["x", "app/[id]/a*?\\", "/app/\\[id\\]/a\\*\\?\\\\/**/x"],
    ["x", "", "/**/x"],
  ])("The pattern %s of folder %s is %s at the root", (pattern, folder, expected) => {
    expect(rebasePattern(pattern, folder)).toBe(expected);
  });

  it.each(["", "  ", "# note", "/", "!", "!/"])("The line %j is no pattern", (pattern) => {
    expect(rebasePattern(pattern, "a")).toBeNull();
  });

  it("A pattern of a folder matches what git takes it to match in that folder", () => {
    using repo = GitRepo.create();
    const paths = [
      "x",
      "a",
      "k.ts",
      "a/x",
      "x/a",
      "a/k.ts",
      "x/a/k.ts",
      "[id]/a",
      "!x",
      "#a",
      "b b/x",
      "a*/x",
    ];
    const folder = fc.constantFrom("pkg", "pkg/[id]", "a*b", "{a,b}", "!x", "#y", "s p", "a\\b");
    const part = fc.constantFrom(
      "x",
      "a",
      "*",
      "**",
      "?",
      "*.ts",
      "[ax]",
      "\\!x",
      "\\#a",
      "#a",
      "b b",
      "[id]",
    );
    const pattern = fc
      .tuple(
        fc.constantFrom("", "/"),
        fc.array(part, { minLength: 1, maxLength: 3 }),
        fc.constantFrom("", "/"),
      )
      .map(([start, parts, end]) => `${start}${parts.join("/")}${end}`);
    const list = fc.array(
      fc.tuple(fc.boolean(), pattern).map(([no, one]) => `${no ? "!" : ""}${one}`),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(folder, list), { minLength: 1, maxLength: 6 }), (cases) => {
        const files = [...new Map(cases)].toSorted(([a], [b]) => (a < b ? -1 : 1));
        const texts = files.map(([place, patterns]) => [`${place}/.gitignore`, `${patterns.join("\n")}\n`]);
        repo.write(Object.fromEntries(texts));
        const all = files.flatMap(([place]) => paths.map((path) => `${place}/${path}`)).concat(paths);
        const rebased = files.flatMap(([place, patterns]) =>
          patterns.flatMap((one) => rebasePattern(one, place) ?? []),
        );
        const match = createPathMatcher(rebased);
        expect({ rebased, matched: all.filter((path) => match(path).matched) }).toEqual({
          rebased,
          matched: ignoredByGit(repo, all),
        });
        repo.write(Object.fromEntries(files.map(([place]) => [`${place}/.gitignore`, null])));
      }),
      { numRuns: 40 },
    );
  });
});

function ignoredByGit(repo: GitRepo, paths: readonly string[]): string[] {
  const args = ["check-ignore", "--no-index", "-z", "--stdin"];
  const output = repo.bytes(args, `${paths.join("\0")}\0`, [0, 1]).toString("utf8");
  const ignored = new Set(output.split("\0"));
  return paths.filter((path) => ignored.has(path));
}
