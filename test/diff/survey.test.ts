import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Hunk,
  NO_NEWLINE,
  parseFilePatch,
  printDiff,
  renderHunks,
  shownBytes,
  signs,
} from "../../src/diff/file-diff.ts";
import { surveyPatch } from "../../src/diff/survey.ts";
import { randomHunk } from "./random-hunk.ts";

const folder = join(import.meta.dirname, "../../fixtures/diffs");
const patches = readdirSync(folder).filter((file) => file.endsWith(".diff"));

/** What the parser and the renderer make of it, the slow way. */
function rendered(patch: string) {
  const { hunks } = parseFilePatch(patch, "f", null);
  return {
    hunks: hunks.length,
    shownBytes: shownBytes(renderHunks(hunks)),
    changes: hunks.map((hunk) => changesOf(hunk).map(digest)),
  };
}

const digest = (lines: readonly string[]) =>
  createHash("sha256").update(lines.join("\n")).digest("base64url");

/** The lines of each run of changed lines, with their signs. */
function changesOf({ lines }: Hunk): string[][] {
  const runs: string[][] = [];
  lines.forEach((line, at) => {
    if (line.kind === "context") return;
    const before = lines[at - 1];
    if (before === undefined || before.kind === "context") runs.push([]);
    runs.at(-1)?.push(`${signs[line.kind]}${line.text}`, ...(line.noNewline ? [NO_NEWLINE] : []));
  });
  return runs;
}

describe("surveyPatch", () => {
  it.each(patches)(
    "counts the hunks of %s as the parser does, and its bytes as they are rendered",
    (name) => {
      const patch = readFileSync(join(folder, name), "utf8");
      expect(surveyPatch(patch)).toEqual({ ...rendered(patch), overlongChange: false });
    },
  );

  it("counts the bytes of any hunks as they are rendered", () => {
    fc.assert(
      fc.property(fc.array(randomHunk, { maxLength: 5 }), fc.boolean(), (hunks, cut) => {
        const patch = printDiff({ header: ["diff --git a/f b/f", "--- a/f", "+++ b/f"], hunks });
        expect(surveyPatch(cut ? patch.slice(0, -1) : patch)).toMatchObject(rendered(patch));
      }),
    );
  });

  it("counts what is shown: escapes, characters of several bytes, and no number at a missing line feed", () => {
    const lines = ["-a\u200bb\r", "+a\u{1F600}\\u{41}", "\\ No newline at end of file"];
    const patch = `--- a/f\n+++ b/f\n@@ -9999 +9999 @@ é\n${lines.join("\n")}\n`;
    expect(surveyPatch(patch)).toEqual({ ...rendered(patch), overlongChange: false });
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
    expect(surveyPatch(patch)).toEqual({ ...rendered(patch), overlongChange: overlong });
  });
});
