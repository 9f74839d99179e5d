import { extensionOf } from "../code/languages.ts";
import type { Category, Severity } from "../finding.ts";
import { addedLinesOf } from "./added-lines.ts";
import type { AnalyzedFile, Candidate } from "./analyzer.ts";
import { proseLinesOf } from "./languages.ts";

/** Something that a single line shows. */
export interface LinePattern {
  id: string;
  /** Extensions of the files it is looked for in. */
  extensions: readonly string[];
  pattern: RegExp;
  severity: Severity;
  category: Category;
  title: string;
  body: string;
  /** A comment next to the line says why: then it is meant. */
  excusedByComment?: true;
}

export const javaScriptExtensions = ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"] as const;

const comment = /^\s*(?:\/\/|#|\/?\*)|\s(?:\/\/|#)\s/;

/** Candidates for the added lines that match a pattern in code, not in a string or comment. */
export async function matchLines(
  analyzer: string,
  file: AnalyzedFile,
  patterns: readonly LinePattern[],
): Promise<Candidate[]> {
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
    .map(({ line, pattern }) => toCandidate(analyzer, file, line, pattern));
}

/** A comment on the line, on the one above, or on the first line below that is not empty. */
function isExplained(rows: readonly string[], line: number): boolean {
  let below = line;
  while (rows[below]?.trim() === "") below++;
  return [line - 2, line - 1, below].some((index) => comment.test(rows[index] ?? ""));
}

function toCandidate(analyzer: string, file: AnalyzedFile, line: number, found: LinePattern): Candidate {
  return {
    path: file.path,
    line,
    startLine: null,
    severity: found.severity,
    category: found.category,
    title: found.title,
    body: found.body,
    suggestion: null,
    source: `${analyzer}/${found.id}`,
  };
}
