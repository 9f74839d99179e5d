import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { splitLines } from "../../../../src/core/text/cut.ts";
import { type FileDiff, parseFilePatch, printDiff, renderLine } from "../../../../src/repo/diff/file-diff.ts";
import { widened } from "../../../../src/tasks/review/context/code-context.ts";
import { joined } from "../../../../src/tasks/review/context/lookup.ts";
import { testGitEnvironment } from "../../../support/git-repo.ts";

const folder = mkdtempSync(join(tmpdir(), "hunkwise-listing-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** git's diff of two texts; it exits with 1 if they differ. */
function gitDiff(before: string, after: string, contextLines: number): FileDiff {
  writeFileSync(join(folder, "before"), before);
  writeFileSync(join(folder, "after"), after);
  const command = ["git", "diff", "--no-index", "--no-color", `-U${contextLines}`, "before", "after"].join(
    " ",
  );
  const patch = execFileSync("sh", ["-c", `${command} || true`], {
    cwd: folder,
    env: testGitEnvironment,
    encoding: "utf8",
  });
  return parseFilePatch(patch, "f", null);
}

/** The text that a patch makes of another. git takes no hunk for a patch that changes nothing, so only the others are applied. */
function applied(before: string, diff: FileDiff): string {
  const hunks = diff.hunks.filter(({ lines }) => lines.some(({ kind }) => kind !== "context"));
  writeFileSync(join(folder, "f"), before);
  const header = ["--- a/f", "+++ b/f"];
  execFileSync("git", ["apply", "--unidiff-zero", "--whitespace=nowarn", "-"], {
    cwd: folder,
    env: { ...testGitEnvironment, GIT_CEILING_DIRECTORIES: tmpdir() },
    input: printDiff({ header, hunks }),
  });
  return readFileSync(join(folder, "f"), "utf8");
}

const line = fc.constantFrom("", "}", "return;", "a", "b", "  c", "d\r");
const texts = fc
  .record({
    lines: fc.array(line, { minLength: 1, maxLength: 60 }),
    edits: fc.array(
      fc.record({ at: fc.nat(60), removed: fc.nat(3), added: fc.array(line, { maxLength: 3 }) }),
      { minLength: 1, maxLength: 4 },
    ),
  })
  .map(({ lines, edits }) => {
    const after = [...lines];
    for (const { at, removed, added } of edits) after.splice(at, removed, ...added);
    const textOf = (all: readonly string[]) => all.map((one) => `${one}\n`).join("");
    return { before: textOf(lines), after: textOf(after) };
  })
  .filter(({ before, after }) => before !== after && after !== "");

const ranges = fc
  .array(fc.record({ start: fc.integer({ min: 1, max: 60 }), length: fc.nat(20) }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((all) => all.map(({ start, length }) => ({ start, end: start + length })));

const shownOf = ({ hunks }: FileDiff) => hunks.flatMap(({ lines }) => lines).map(renderLine);

describe("a widened diff", () => {
  it("A widened diff holds git's lines with full context, in git's order, and every line of the ranges", () => {
    fc.assert(
      fc.property(texts, ranges, ({ before, after }, wanted) => {
        const diff = gitDiff(before, after, 3);
        const lines = splitLines(after);
        const spans = joined(wanted, lines.length);
        const wide = shownOf(widened(diff, { hunks: diff.hunks, lines }, spans));
        const whole = shownOf(gitDiff(before, after, 1_000));
        // The numbers and signs make every line unlike the others.
        const places = wide.map((one) => whole.indexOf(one));
        expect(places).not.toContain(-1);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        const numbers = new Set(
          wide.filter((one) => !/^\d+ -/.test(one)).map((one) => Number.parseInt(one, 10)),
        );
        for (const { start, end } of spans)
          for (let at = start; at <= end; at++) expect(numbers.has(at)).toBe(true);
        expect(wide).toEqual(expect.arrayContaining(shownOf(diff)));
      }),
      { numRuns: 40 },
    );
  });

  it("A widened diff is a patch that git applies, with the right numbers in every header", () => {
    fc.assert(
      fc.property(texts, ranges, ({ before, after }, wanted) => {
        const diff = gitDiff(before, after, 3);
        const lines = splitLines(after);
        const wide = widened(diff, { hunks: diff.hunks, lines }, joined(wanted, lines.length));
        expect(applied(before, wide)).toBe(after);
        expect(parseFilePatch(printDiff(wide), "f", null).hunks).toEqual(wide.hunks);
      }),
      { numRuns: 40 },
    );
  });

  it("A widened diff shows other changes that lie within the ranges", () => {
    const numbers = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`);
    const before = numbers.join("");
    const after = numbers.with(9, "ten\n").with(29, "thirty\n").join("");
    const diff = gitDiff(before, after, 3);
    const file = { hunks: diff.hunks, lines: splitLines(after) };
    const first = { ...diff, hunks: diff.hunks.slice(0, 1) };
    const wide = shownOf(widened(first, file, [{ start: 5, end: 35 }]));
    expect(wide).toContain("30 -line 30");
    expect(wide).toContain("30 +thirty");
    expect(shownOf(widened(first, file, [{ start: 5, end: 20 }]))).not.toContain("30 +thirty");
  });

  it("A widened diff shows a small gap instead of a header", () => {
    const numbers = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`);
    const after = numbers.with(9, "ten\n").join("");
    const diff = gitDiff(numbers.join(""), after, 3);
    const file = { hunks: diff.hunks, lines: splitLines(after) };
    expect(widened(diff, file, [{ start: 16, end: 20 }]).hunks.length).toBe(1);
    expect(widened(diff, file, [{ start: 17, end: 20 }]).hunks.length).toBe(2);
  });
});
