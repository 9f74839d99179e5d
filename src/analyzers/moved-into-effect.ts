import { keepsEffect, takesEffect } from "../diff/without-lines.ts";
import { type AnalyzedFile, type Analyzer, type Diagnostic, seamLines } from "./analyzer.ts";

/**
 * Finds files that a change edits and renames to a path where they take effect automatically, unless the diff shows all of their lines: the
 * other lines would take effect unread. A rename without an edit has no line for a finding; the review counts it as unread.
 */
export function createMovedIntoEffectAnalyzer(): Analyzer {
  return {
    name: "moved-into-effect",
    async analyze(file) {
      const { oldPath } = file.diff;
      if (oldPath === null || !takesEffect(file.path) || keepsEffect(file.path, oldPath)) return [];
      const all = file.text.replace(/\n$/, "").split("\n").length;
      const shown = file.diff.hunks.reduce((sum, { newLines }) => sum + newLines, 0);
      const [line] = [...file.addedLines, ...seamLines(file)];
      return shown < all && line !== undefined ? [toDiagnostic(file, line, all - shown)] : [];
    },
  };
}

const toDiagnostic = ({ path }: AnalyzedFile, line: number, unseen: number): Diagnostic => ({
  path,
  line,
  startLine: null,
  severity: "high",
  category: "security",
  title: "The file moves to a place where it takes effect, and the diff shows only a part of it",
  body: `CI, git, a build or another program uses a file of this name automatically. It did not use the file at its old path in this way, so this change puts the whole file into effect, and no hunk shows ${unseen} of its lines. Read the whole file before you merge this.`,
  suggestion: null,
  source: "moved-into-effect/unseen-lines",
});
