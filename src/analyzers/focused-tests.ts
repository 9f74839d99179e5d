import { loadAstGrep } from "../code/languages.ts";
import { isWorthParsing } from "../code/parse.ts";
import { isTestFile } from "../code/test-file.ts";
import type { AnalyzedFile, Analyzer, Candidate } from "./analyzer.ts";
import { ruleGrammarOf } from "./languages.ts";
import { javaScriptExtensions, type LinePattern, matchLines } from "./line-pattern.ts";

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
    async analyze(file) {
      if (!isTestFile(file.path)) return [];
      return withoutNodeTest(file, await matchLines("focused-tests", file, patterns));
    },
  };
}

/** `only` of node:test keeps no other test from running, unless node is started with --test-only. */
async function withoutNodeTest(file: AnalyzedFile, found: Candidate[]): Promise<Candidate[]> {
  if (!found.some(isFocus) || !file.text.includes("node:test")) return found;
  const names = await nodeTestNames(file);
  const rows = file.text.split("\n");
  const nameOn = (line: number) => /\w+/.exec(rows[line - 1] ?? "")?.[0] ?? "";
  return found.filter((one) => !isFocus(one) || !names.has(nameOn(one.line)));
}

const isFocus = (one: Candidate) => one.source === "focused-tests/javascript-only";

const module = `["']node:test["']`;
const imports = {
  any: [
    { kind: "import_statement", regex: `${module}\\)?;?$` },
    { kind: "variable_declarator", regex: `=\\s*(?:require|\\(?await\\s+import)\\(\\s*${module}` },
  ],
};

/** The names by which a file knows node:test and what it takes from it. */
async function nodeTestNames({ path, text }: AnalyzedFile): Promise<Set<string>> {
  const grammar = ruleGrammarOf(path);
  if (!grammar || !isWorthParsing(text)) return new Set();
  const astGrep = await loadAstGrep();
  const nodes = astGrep.parse(grammar.dialect, text).root().findAll({ rule: imports });
  return new Set(nodes.flatMap((node) => boundNames(node.text())));
}

/** `test`, `it` and `suite` of `import test, { describe as it, suite } from …` and `{ test, describe: it, suite } = …`. */
function boundNames(declaration: string): string[] {
  const bindings = declaration.replace(/^import\s/, "").split(/\sfrom\b|=/, 1)[0] ?? "";
  return bindings.split(/[{},]/).flatMap((binding) => /\w+$/.exec(binding.trim())?.[0] ?? []);
}
