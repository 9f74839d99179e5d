import { type AnalyzedFile, type Analyzer, addedLinesOf, type Diagnostic } from "./analyzer.ts";

const opening = /^<{7}(?: |$)/;
const middle = /^={7}$/;
const closing = /^>{7}(?: |$)/;
const base = /^\|{7}(?: |$)/;
/** In prose a row of signs can be a heading, a quotation or an explanation of conflicts. */
const prose = /\.(?:md|mdx|markdown|rst|adoc|txt|tex|org|html?|eml|patch|diff)$/i;
const fence = /^\s*(?:```|~~~)/;

/** Finds unresolved merge conflict markers: one finding for each conflict. */
export function createMergeMarkersAnalyzer(): Analyzer {
  return {
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
}

/**
 * The lines of each conflict's markers. Complete conflicts count everywhere except in Markdown fences; a single opening or closing marker
 * counts outside of prose; a single `=======` never.
 */
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
    startLine: null,
    severity: "critical",
    category: "correctness",
    title: "A merge conflict is not resolved",
    body: "This is a conflict marker that git wrote. Both versions are in the file, which no longer parses or contains the code twice.\n\nKeep one version, or merge them by hand, and delete the lines `<<<<<<<`, `=======` and `>>>>>>>`.",
    suggestion: null,
    source: "merge-markers/conflict",
  };
}
