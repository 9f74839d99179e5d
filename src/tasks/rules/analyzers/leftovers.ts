import type { Category, Severity } from "../../../core/finding.ts";
import { extensionOf } from "../../../repo/code/languages.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type AnalyzedFile, type Analyzer, addedLinesOf, type Diagnostic } from "./analyzer.ts";
import { proseLinesOf } from "./rule-file.ts";

interface LinePattern {
  id: string;
  extensions: readonly string[];
  pattern: RegExp;
  severity: Severity;
  category: Category;
  title: string;
  body: string;
  /** A comment next to the line that explains it excuses it. */
  excusedByComment?: true;
}

const javaScriptExtensions = ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"] as const;

const comment = /^\s*(?:\/\/|#|\/?\*)|\s(?:\/\/|#)\s/;

/** Diagnostics of the added lines that match a pattern in code, not in a string or comment. */
async function matchLines(
  analyzer: string,
  file: AnalyzedFile,
  patterns: readonly LinePattern[],
): Promise<Diagnostic[]> {
  const extension = extensionOf(file.path);
  const mine = patterns.filter((pattern) => pattern.extensions.includes(extension));
  if (mine.length === 0) return [];
  const found = addedLinesOf(file).flatMap(({ line, text }) => {
    const pattern = mine.find((one) => one.pattern.test(text));
    return pattern ? [{ line, pattern }] : [];
  });
  if (found.length === 0) return [];
  const prose = await proseLinesOf(file.path, file.text);
  const rows = file.text.split("\n");
  return found
    .filter(({ line }) => !prose.has(line))
    .filter(({ line, pattern }) => !pattern.excusedByComment || !isExplained(rows, line))
    .map(({ line, pattern: { id, severity, category, title, body } }) => ({
      path: file.path,
      line,
      severity,
      category,
      title,
      body,
      source: `${analyzer}/${id}`,
    }));
}

/** Whether there is a comment on the line, on the line above, or on the first non-empty line below. */
function isExplained(rows: readonly string[], line: number): boolean {
  let below = line;
  while (rows[below]?.trim() === "") below++;
  return [line - 2, line - 1, below].some((index) => comment.test(rows[index] ?? ""));
}

const stops = {
  severity: "high",
  category: "correctness",
  title: "A debugger statement was left in the code",
} as const;

/** Statements that stop a program for a person at a keyboard. Only its author knows whether a line that logs is meant. */
const leftovers: readonly LinePattern[] = [
  {
    ...stops,
    id: "javascript",
    extensions: javaScriptExtensions,
    pattern: /^\s*debugger\s*(?:;\s*)?(?:\/\/.*)?$/,
    body: "With developer tools open, or under `node inspect`, execution stops here for everyone. Remove the statement.",
  },
  {
    ...stops,
    id: "python",
    extensions: ["py"],
    pattern:
      /^\s*(?:import i?pdb\s*;\s*)?(?:breakpoint\(\)|(?:i?pdb|pudb)\.set_trace\(\))\s*(?:;\s*)?(?:#.*)?$/,
    body: "Execution stops here and waits at a prompt. Without a terminal, in a server or in CI, the process hangs or dies with `bdb.BdbQuit`. Remove the statement.",
  },
  {
    ...stops,
    id: "ruby",
    extensions: ["rb", "rake", "erb"],
    pattern: /^\s*(?:<%-?\s*)?(?:binding\.(?:pry|irb|break|b)|byebug|debugger)\s*(?:-?%>\s*)?(?:#.*)?$/,
    body: "Execution stops here and waits at a prompt; in a server or in CI the process hangs. Remove the statement.",
  },
  {
    ...stops,
    id: "php",
    extensions: ["php"],
    pattern: /^\s*(?:dd\(.*\)|xdebug_break\(\))\s*;\s*(?:\/\/.*)?$/s,
    body: "`dd` prints its arguments and ends the request; `xdebug_break` stops in the debugger. Remove the statement.",
  },
  {
    ...stops,
    id: "go",
    extensions: ["go"],
    pattern: /^\s*runtime\.Breakpoint\(\)\s*(?:\/\/.*)?$/,
    body: "Without a debugger attached, the breakpoint trap ends the program. Remove the call.",
  },
  {
    ...stops,
    id: "elixir",
    extensions: ["ex", "exs"],
    pattern: /^\s*(?:require IEx;\s*)?IEx\.pry(?:\(\))?\s*(?:#.*)?$/,
    body: "The process stops here and waits at a prompt. Remove the statement.",
  },
];

export const debuggerLeftoversAnalyzer: Analyzer = {
  name: "debugger-leftovers",
  analyze: (file) => matchLines("debugger-leftovers", file, leftovers),
};

const focused = {
  severity: "medium",
  category: "test",
  title: "A focused test keeps the others from running",
  body: "Only the focused tests of this file run, and the run is green although all other tests are skipped. Remove the focus before you merge this.",
} as const;

const skipped = {
  severity: "low",
  category: "test",
  title: "A test is skipped without a reason",
  body: "The test no longer runs, and nothing here says when it can run again. Enable it, or explain next to it why it cannot run.",
  excusedByComment: true,
} as const;

/** Only permanent switches count: a skip with a condition or a reason is intended. */
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
    // One tab: at the top level of the test. A deeper one may depend on a condition.
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

export const focusedTestsAnalyzer: Analyzer = {
  name: "focused-tests",
  async analyze(file) {
    if (!isTestFile(file.path)) return [];
    // `only` of node:test disables no other test, unless node runs with --test-only.
    const isNodeTest = /^\s*(?:import|const|let|var|\}).*(?:\bfrom|\()\s*["']node:test["']/m.test(file.text);
    const mine = patterns.filter(({ id }) => !isNodeTest || id !== "javascript-only");
    return matchLines("focused-tests", file, mine);
  },
};

const opening = /^<{7}(?: |$)/;
const middle = /^={7}$/;
const closing = /^>{7}(?: |$)/;
const base = /^\|{7}(?: |$)/;
/** In prose a row of signs can be a heading, a quotation or an explanation of conflicts. */
const prose = /\.(?:md|mdx|markdown|rst|adoc|txt|tex|org|html?|eml|patch|diff)$/i;
const fence = /^\s*(?:```|~~~)/;

/** Finds unresolved merge conflict markers: one finding for each conflict. */
export const mergeMarkersAnalyzer: Analyzer = {
  name: "merge-markers",
  async analyze(file) {
    const added = addedLinesOf(file);
    if (!added.some(({ text }) => opening.test(text) || middle.test(text) || closing.test(text))) return [];
    return conflictsOf(file)
      .map((conflict) => conflict.find((line) => file.addedLines.has(line)))
      .filter((line) => line !== undefined)
      .map((line) => toDiagnostic(file, line));
  },
};

/** The lines of each conflict's markers. In prose only complete conflicts count, and nothing in a Markdown fence. */
function conflictsOf(file: AnalyzedFile): number[][] {
  const conflicts: number[][] = [];
  const isProse = prose.test(file.path);
  let open: number[] = [];
  let fenced = false;
  const close = () => {
    if (open.length > 0 && !isProse) conflicts.push(open);
    open = [];
  };
  for (const [index, raw] of file.text.split("\n").entries()) {
    const text = raw.replace(/\r$/, "");
    if (isProse && fence.test(text)) fenced = !fenced;
    if (fenced) continue;
    if (opening.test(text)) {
      close();
      open = [index + 1];
    } else if (open.length > 0 && (middle.test(text) || base.test(text))) {
      open.push(index + 1);
    } else if (closing.test(text)) {
      if (open.length > 1 || !isProse) conflicts.push([...open, index + 1]);
      open = [];
    }
  }
  close();
  return conflicts;
}

function toDiagnostic(file: AnalyzedFile, line: number): Diagnostic {
  return {
    path: file.path,
    line,
    severity: "critical",
    category: "correctness",
    title: "A merge conflict is not resolved",
    body: "This is a conflict marker that git wrote. Both versions are in the file, which no longer parses or contains the code twice.\n\nKeep one version, or merge them by hand, and delete the lines `<<<<<<<`, `=======` and `>>>>>>>`.",
    source: "merge-markers/conflict",
  };
}
