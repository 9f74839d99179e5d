import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import {
  createLineIndex,
  parseFilePatch,
  printDiff,
  renderHunks,
  surveyPatch,
} from "../../src/repo/diff/file-diff.ts";
import { splitPatches } from "../../src/repo/git/patches.ts";
import { randomHunk } from "../repo/diff/random-hunk.ts";
import { FUZZ_TIMEOUT_MS, fuzz, textOf } from "../support/fuzz.ts";

const anything = textOf([
  ...["diff --git a/file b/file\n", "--- a/file\n", "+++ b/file\n", "--- /dev/null\n", "index 0..1 100644\n"],
  ...["rename from a\n", "new file mode 100644\n", "Binary files a and b differ\n", "GIT binary patch\n"],
  ...["@@ -1 +1 @@\n", "@@ -1,3 +1,4 @@ f() {\n", "@@ -0,0 +1,2 @@", "@@@ -1 -1 +1 @@@\n", "@@ -", "@@", "@"],
  ...[
    "@@ -1,99999999999999999999 +1 @@\n",
    "@@ -9007199254740993,1 +1,1 @@\n",
    "@@ -1,1 +1,1 @@ @@ -2 +2 @@\n",
  ],
  ...["+", "-", " ", "\\", "\n", "\r\n", "\r", "\0", "\t", "+a\n", "-a\n", " a\n", "+--- a/x\n", "-++ b/x\n"],
  ...["\\ No newline at end of file\n", "+@@ -1 +1 @@\n", "\u2028", "\ufeff", "\u202e", "💥", "\ud800"],
]);

/** A patch as git prints one, with something in it, as a hostile content or a broken stream would. */
const damaged = fc
  .tuple(fc.array(randomHunk, { minLength: 1, maxLength: 4 }), anything, fc.nat(1_000), fc.nat(30))
  .map(([hunks, noise, at, cut]) => {
    const text = printDiff({ header: ["--- a/file", "+++ b/file"], hunks });
    const place = at % (text.length + 1);
    return text.slice(0, place) + noise + text.slice(place + cut);
  });

/** Patches of several files, one after the other; every other time something is put in. */
const section = fc
  .array(randomHunk, { minLength: 1, maxLength: 3 })
  .map((hunks) => printDiff({ header: ["diff --git a/file b/file", "--- a/file", "+++ b/file"], hunks }));
const stream = fc
  .tuple(fc.array(section, { minLength: 1, maxLength: 4 }), fc.option(anything, { freq: 2 }), fc.nat(1_000))
  .map(([sections, noise, at]) => {
    const text = sections.join("");
    const place = at % (text.length + 1);
    return noise === null ? text : text.slice(0, place) + noise + text.slice(place);
  });

describe("the diff parser", () => {
  it(
    "The parser makes lines of any patch, in proportion to its length, and none twice",
    () => {
      fuzz({
        values: fc.oneof(anything, damaged),
        share: 0.6,
        sizeOf: (patch) => patch.length,
        run: (patch) => {
          const diff = parseFilePatch(patch, "file", null);
          createLineIndex(diff);
          return { diff, survey: surveyPatch(patch), shown: renderHunks(diff.hunks) };
        },
        reaches: ({ diff }) => diff.hunks.length > 1,
        check({ diff }, patch) {
          const lines = diff.hunks.flatMap((hunk) => hunk.lines);
          expect(lines.length).toBeLessThanOrEqual(patch.split("\n").length);
          expect(diff).toMatchObject({ path: "file", oldPath: null });
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );

  it(
    "Any output is divided into files without a gap, or the error says what is wrong with it",
    () => {
      fuzz({
        values: fc.oneof(stream, damaged, anything),
        share: 0.4,
        sizeOf: (patch) => patch.length,
        mayThrow: (error) => error instanceof AppError && error.code === "git_failed",
        run: split,
        reaches: (files) => files.length > 1,
        check(files, patch) {
          expect(Buffer.concat(files)).toEqual(Buffer.from(patch));
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );
});

/** The output for each file. */
function split(patch: string): Buffer[] {
  const everything = { bytes: Number.POSITIVE_INFINITY, hunks: Number.POSITIVE_INFINITY, isCut: false };
  const { sections } = splitPatches(Buffer.from(patch), everything);
  return sections.map(({ header, hunks }) => Buffer.concat([header, hunks]));
}
