import fc from "fast-check";
import { expect, it } from "vitest";
import { mergeNested, rebasePattern } from "../../src/config/load-config.ts";
import { NestedConfig, RepoConfig } from "../../src/config/repo-config.ts";
import { createPrivacy } from "../../src/repo/diff/filter.ts";
import { createPathMatcher } from "../../src/repo/diff/paths.ts";

const folders = ["a", "a/b", "c", "a/#b"];
const names = ["x", "y.md", "b", "z.key"];
const paths = ["", ...folders].flatMap((folder) =>
  names.flatMap((name) =>
    [`${folder}/${name}`, `${folder}/b/${name}`].map((path) => path.replace(/^\//, "")),
  ),
);

const pattern = fc
  .tuple(
    fc.constantFrom("", "!"),
    fc.constantFrom("", "/", "**/"),
    fc.constantFrom("*", "x", "*.md", "b/", "b/*", "*.key"),
  )
  .map((parts) => parts.join(""));
const list = fc.array(pattern, { maxLength: 4 });

it("What is private is what the repository's list or any folder's list keeps private by itself", () => {
  const nested = fc.array(fc.tuple(fc.constantFrom(...folders), list), { maxLength: 4 });
  fc.assert(
    fc.property(list, nested, (own, lists) => {
      const files = [...new Map(lists)].map(([folder, patterns]) => ({
        ...{ path: `${folder}/.hunkwise.yml`, folder },
        config: NestedConfig.parse({ paths: { private: patterns } }),
      }));
      const { config } = mergeNested(RepoConfig.parse({ paths: { private: own } }), files);
      const alone = [
        own,
        ...files.map(({ folder, config: { paths } }) =>
          paths.private.flatMap((one) => rebasePattern(one, folder) ?? []),
        ),
      ];
      const matchers = alone.map((patterns) => createPathMatcher(patterns));
      const expected = paths.filter((path) => matchers.some((match) => match(path).matched));
      expect(paths.filter(createPrivacy(config.paths.private))).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});
