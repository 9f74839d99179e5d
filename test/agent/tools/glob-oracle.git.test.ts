import fc from "fast-check";
import { expect, it } from "vitest";
import { createPathMatcher } from "../../../src/repo/diff/paths.ts";
import { anyPath, anyPattern } from "../../repo/diff/any-pattern.ts";
import { GitRepo } from "../../support/git-repo.ts";

/** To git, a name is its bytes: `?` is one of the two of an é, to us all of it. */
const plainPath = anyPath.filter((path) => !path.includes("é"));
const lists = fc.sample(
  fc.record({
    patterns: fc.array(anyPattern, { minLength: 1, maxLength: 5 }),
    paths: fc.uniqueArray(plainPath, { minLength: 1, maxLength: 8 }),
  }),
  { numRuns: process.env.HUNKWISE_LONG === "1" ? 5_000 : 600, seed: 7 },
);

it("Matches what git ignores, by one list of patterns in each of many folders", () => {
  using repo = GitRepo.create();
  repo.write(
    Object.fromEntries(lists.map(({ patterns }, at) => [`d${at}/.gitignore`, `${patterns.join("\n")}\n`])),
  );
  const paths = lists.flatMap((list, at) => list.paths.map((path) => `d${at}/${path}`));
  const asked = ["check-ignore", "--no-index", "-z", "--stdin"];
  const answer = repo.bytes(asked, `${paths.join("\0")}\0`, [0, 1]).toString("utf8");
  const ignored = new Set(answer.split("\0").filter((path) => path !== ""));
  expect(ignored.size).toBeGreaterThan(paths.length / 10);
  for (const [at, list] of lists.entries()) {
    const match = createPathMatcher(list.patterns);
    const matched = list.paths.map((path) => [path, match(path).matched]);
    const expected = list.paths.map((path) => [path, ignored.has(`d${at}/${path}`)]);
    expect({ patterns: list.patterns, matched }).toEqual({ patterns: list.patterns, matched: expected });
  }
});
