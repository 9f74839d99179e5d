import type { Analyzer } from "./analyzer.ts";
import { javaScriptExtensions, type LinePattern, matchLines } from "./line-pattern.ts";
import { isTestFile } from "./test-file.ts";

const focused = {
  severity: "medium",
  category: "test",
  title: "A focused test keeps the others from running",
  body: "Only the focused tests of this file run, and the run is green while everything else is skipped. Take the focus away before this is merged.",
} as const;

const skipped = {
  severity: "low",
  category: "test",
  title: "A test is skipped without a reason",
  body: "The test no longer runs, and nothing here tells when it may run again. Let it run, or say next to it why it cannot.",
  excusedByComment: true,
} as const;

/** Only what switches a test off or on for good counts: a skip with a condition or a reason is meant. */
const patterns: readonly LinePattern[] = [
  {
    ...focused,
    id: "javascript-only",
    extensions: javaScriptExtensions,
    pattern:
      /^\s*(?:(?:test\.)?(?:describe|suite|context)|it|test|specify|fixture)(?:\.(?:concurrent|sequential|serial|parallel))*\.only(?:\.each)?\s*[(`]|^\s*(?:fit|fdescribe|fcontext)\(\s*["'`]/,
  },
  {
    ...focused,
    id: "ruby-focus",
    extensions: ["rb"],
    pattern: /^\s*(?:fit|fdescribe|fcontext|fspecify)\s+["']|^\s*(?:it|describe|context)\s.*\bfocus: true\b/,
  },
  {
    ...skipped,
    id: "javascript-skip",
    extensions: javaScriptExtensions,
    pattern:
      /^\s*(?:(?:test\.)?(?:describe|suite|context)|it|test|specify)\.skip(?:\.each)?\s*\(\s*["'`]|^\s*(?:xit|xdescribe|xcontext|xtest)\(\s*["'`]/,
  },
  {
    ...skipped,
    id: "python-skip",
    extensions: ["py"],
    pattern: /^\s*@(?:pytest\.mark\.skip|unittest\.skip)(?:\(\s*(?:reason\s*=\s*)?(?:(?:""|'')\s*)?\))?\s*$/,
  },
  {
    ...skipped,
    id: "go-skip",
    // One tab: at the top of the test. Deeper down a condition decides.
    extensions: ["go"],
    pattern: /^\t\w+\.Skip(?:Now)?\(\)\s*$/,
  },
  {
    ...skipped,
    id: "java-disabled",
    extensions: ["java", "kt", "groovy"],
    pattern: /^\s*@(?:Disabled|Ignore)(?:\(\s*(?:""\s*)?\))?\s*$/,
  },
  {
    ...skipped,
    id: "ruby-skip",
    extensions: ["rb"],
    pattern: /^\s*(?:xit|xdescribe|xcontext|xspecify)\s+["']/,
  },
];

/** Finds tests of test files that were focused, or switched off without a word. */
export function createFocusedTestsAnalyzer(): Analyzer {
  return {
    name: "focused-tests",
    analyze: async (file) => (isTestFile(file.path) ? matchLines("focused-tests", file, patterns) : []),
  };
}
