import fc from "fast-check";
import { expect, it } from "vitest";
import { openObjects, openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { SearchQuery } from "../../../src/repo/git/workspace.ts";
import { checkedOut } from "../../support/checked-out.ts";
import { gitPath } from "../../support/git-repo.ts";
import { buildRepository } from "../../support/hostile-repository.ts";
import { repositorySpec, worstCase } from "../../support/repo-arbitrary.ts";

const long = process.env.HUNKWISE_LONG === "1";

const query: fc.Arbitrary<SearchQuery> = fc.record({
  pattern: fc.constantFrom("needle", "line \\d+$", "^", "é", "a", "@@", "return|café", "\\bx\\b"),
  filePattern: fc.constantFrom(undefined, undefined, "*.ts", "!src", "*/*", "{a,b}*", "**/*.md"),
  fileType: fc.constantFrom(undefined, undefined, undefined, "py", "ts"),
  contextLines: fc.nat(3),
  maxResults: fc.constantFrom(1, 7, 100_000),
  fixedString: fc.boolean(),
  ignoreCase: fc.boolean(),
  wholeWord: fc.boolean(),
  invertMatch: fc.boolean(),
  mode: fc.constantFrom("content" as const, "files_with_matches" as const, "count" as const),
});

it("Any search finds in git's objects what it finds in the checkout", {
  timeout: long ? 1_800_000 : 300_000,
}, async () => {
  let found = 0;
  const queries = fc.array(query, { minLength: 12, maxLength: 12 });
  const claim = fc.asyncProperty(repositorySpec, queries, async (spec, asked) => {
    using made = buildRepository(spec);
    await using range = await openLocalRange({ repo: made.repo.dir, base: "main", head: "topic", gitPath });
    await using checkout = openWorkspace(await checkedOut(range.place));
    await using objects = openObjects(range.place);
    for (const one of asked) {
      const { program: _, ...expected } = await checkout.search(one, AbortSignal.timeout(30_000));
      const { program: __, ...hits } = await objects.search(one, AbortSignal.timeout(30_000));
      expect({ one, hits }).toEqual({ one, hits: expected });
      found += JSON.stringify(expected).length > 60 ? 1 : 0;
    }
  });
  const examples: [typeof worstCase, SearchQuery[]][] = [
    [worstCase, fc.sample(query, { numRuns: 12, seed: 1 })],
  ];
  await fc.assert(claim, { examples, numRuns: long ? 300 : 4, ...(long ? {} : { seed: 20_261_123 }) });
  expect(found).toBeGreaterThan(long ? 300 : 10);
});
