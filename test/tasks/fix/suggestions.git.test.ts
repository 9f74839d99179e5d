import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFilePatch } from "../../../src/repo/diff/file-diff.ts";
import { type LineSuggestion, suggestionsFor } from "../../../src/tasks/fix/suggestions.ts";
import { GitRepo } from "../../support/git-repo.ts";

const path = "a.txt";
const text = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");

/** Three versions of a file as git compares them: the merge base, the head, and the head with the fix. */
function versions(repo: GitRepo, base: readonly string[], head: readonly string[], fixed: readonly string[]) {
  const [one = "", two = "", three = ""] = [base, head, fixed].flatMap((lines, at) =>
    repo.importCommits([{ branch: `v${at}`, parents: [], files: [[path, text(lines)]] }]),
  );
  const diff = (from: string, to: string, context: number) =>
    parseFilePatch(`${repo.git("diff", `-U${context}`, from, to, "--", path)}\n`, path, null);
  return { path, fix: diff(two, three, 0), change: diff(one, two, 3), lines: head };
}

/** What clicking all of them makes of a file. */
function applied(lines: readonly string[], suggestions: readonly LineSuggestion[]): string[] {
  const result = [...lines];
  for (const { start, end, lines: now } of suggestions.toSorted((a, b) => b.start - a.start))
    result.splice(start - 1, end - start + 1, ...now);
  return result;
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `${at + 1}`);

describe("suggestionsFor", () => {
  it("Suggestions replace, add and remove lines that the pull request shows", () => {
    using repo = GitRepo.create();
    const head = ["1", "2", "three", "4", "5", "6"];
    const fixed = ["0", "1", "2", "drei", "4", "6"];
    const suggestions = suggestionsFor([versions(repo, numbered(6), head, fixed)]);
    expect(suggestions).toEqual([
      { path, start: 1, end: 1, lines: ["0", "1"] },
      { path, start: 3, end: 3, lines: ["drei"] },
      { path, start: 5, end: 5, lines: [] },
    ]);
    expect(applied(head, suggestions ?? [])).toEqual(fixed);
  });

  it("A fix is no suggestion if the pull request does not show all of its lines", () => {
    using repo = GitRepo.create();
    const head = ["one", ...numbered(40).slice(1)];
    const far = head.with(30, "far");
    expect(suggestionsFor([versions(repo, numbered(40), head, far)])).toBeNull();
    const both = far.with(0, "eins");
    expect(suggestionsFor([versions(repo, numbered(40), head, both)])).toBeNull();
  });

  it("A fix is no suggestion if it adds or deletes a file, or edits an unchanged one", () => {
    using repo = GitRepo.create();
    const file = versions(repo, ["1"], ["one"], ["eins"]);
    expect(suggestionsFor([{ ...file, change: undefined }])).toBeNull();
    expect(suggestionsFor([{ ...file, fix: { ...file.fix, header: ["new file mode 100644"] } }])).toBeNull();
    expect(suggestionsFor([{ ...file, fix: { ...file.fix, hunks: [] } }])).toBeNull();
  });

  it("A suggestion has the line ends of its file, and there is none that would change them", () => {
    using repo = GitRepo.create();
    const crlf = (...lines: string[]) => lines.map((line) => `${line}\r`);
    const kept = versions(repo, crlf("1", "2"), crlf("1", "two"), crlf("1", "zwei", "3"));
    expect(suggestionsFor([kept])).toEqual([{ path, start: 2, end: 2, lines: ["zwei", "3"] }]);
    expect(suggestionsFor([versions(repo, crlf("1"), crlf("one"), ["eins"])])).toBeNull();
    expect(suggestionsFor([versions(repo, ["1"], ["one"], crlf("eins"))])).toBeNull();
  });

  it.each(["a\u001b[31m", "a\u200bb", "a\u000bb", "a\u2028b"])(
    "A fix is no suggestion if it holds what nobody can see: %j",
    (line) => {
      using repo = GitRepo.create();
      expect(suggestionsFor([versions(repo, ["1"], ["one"], [line])])).toBeNull();
    },
  );

  it("The suggestions of a fix turn the head into the fixed files", () => {
    using repo = GitRepo.create();
    const lines = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 8 });
    let placed = 0;
    fc.assert(
      fc.property(lines, lines, lines, (base, head, fixed) => {
        const file = versions(repo, base, head, fixed);
        const suggestions = file.fix.hunks.length > 0 ? suggestionsFor([file]) : null;
        if (suggestions === null) return;
        placed += 1;
        expect(applied(head, suggestions)).toEqual(fixed);
      }),
      { numRuns: 25 },
    );
    expect(placed).toBeGreaterThan(5);
  });
});
