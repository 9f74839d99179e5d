import fc from "fast-check";
import type { DiffLine, Hunk } from "../../../src/repo/diff/file-diff.ts";

const text = fc.constantFrom(
  "",
  "a",
  "  b",
  "-c",
  "+d",
  "@@ -1 +1 @@",
  "\\ No newline at end of file",
  "e\r",
);
const kinds = fc.array(fc.constantFrom<DiffLine["kind"]>("context", "added", "removed", "added"), {
  minLength: 1,
  maxLength: 60,
});

/** A valid hunk somewhere in a file, its lines numbered by its header; with at least one change. */
export const randomHunk: fc.Arbitrary<Hunk> = fc
  .record({ oldBefore: fc.nat(2_000), newBefore: fc.nat(2_000), kinds, text: fc.infiniteStream(text) })
  .map(({ oldBefore, newBefore, kinds: some, text: texts }) => {
    const lines: DiffLine[] = [];
    let [oldLine, newLine] = [oldBefore, newBefore];
    for (const kind of [...some, "added"] as const) {
      const one = texts.next().value ?? "";
      if (kind === "context") lines.push({ kind, text: one, oldLine: ++oldLine, newLine: ++newLine });
      else if (kind === "added") lines.push({ kind, text: one, newLine: ++newLine });
      else lines.push({ kind, text: one, oldLine: ++oldLine });
    }
    const [oldLines, newLines] = [oldLine - oldBefore, newLine - newBefore];
    return {
      oldStart: oldLines === 0 ? oldBefore : oldBefore + 1,
      oldLines,
      newStart: newLines === 0 ? newBefore : newBefore + 1,
      newLines,
      section: "function f() {",
      lines,
    };
  });
