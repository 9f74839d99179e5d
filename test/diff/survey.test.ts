import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFilePatch } from "../../src/diff/parse.ts";
import { printDiff } from "../../src/diff/print.ts";
import { surveyPatch } from "../../src/diff/survey.ts";
import { randomHunk } from "./random-hunk.ts";

const folder = join(import.meta.dirname, "../../fixtures/diffs");
const patches = readdirSync(folder).filter((file) => file.endsWith(".diff"));

describe("surveyPatch", () => {
  it.each(patches)("counts the hunks of %s as the parser does", (name) => {
    const patch = readFileSync(join(folder, name), "utf8");
    const hunks = parseFilePatch(patch, name, null).hunks.length;
    expect(surveyPatch(patch)).toEqual({ hunks, overlongChange: false });
  });

  it("counts hunks whose lines look like hunk headers", () => {
    fc.assert(
      fc.property(fc.array(randomHunk, { maxLength: 5 }), (hunks) => {
        const header = ["diff --git a/f b/f", "--- a/f", "+++ b/f"];
        return surveyPatch(printDiff({ header, hunks })).hunks === hunks.length;
      }),
    );
  });

  it.each([
    ["an added line", "+", true],
    ["a removed line", "-", true],
    ["an unchanged line", " ", false],
  ])("tells whether %s is overlong", (_, sign, overlong) => {
    const patch = `--- a/f\n+++ b/f\n@@ -1 +1 @@\n${sign}${"x".repeat(20_000)}\n`;
    expect(surveyPatch(patch)).toEqual({ hunks: 1, overlongChange: overlong });
  });
});
