import type { Category, Severity } from "../finding.ts";
import { addedLinesOf } from "./added-lines.ts";
import type { AnalyzedFile, Candidate } from "./analyzer.ts";
import { extensionOf, proseLinesOf } from "./languages.ts";

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
  /** A comment on the line or above it says why: then it is meant. */
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
    return pattern ? [{ line, text, pattern }] : [];
  });
  if (found.length === 0) return [];
  const prose = await proseLinesOf(file.path, file.text);
  const rows = file.text.split("\n");
  return found
    .filter(({ line }) => !prose.has(line))
    .filter(({ line, text, pattern }) => !pattern.excusedByComment || !isExplained(text, rows[line - 2]))
    .map(({ line, pattern }) => toCandidate(analyzer, file, line, pattern));
}

const isExplained = (text: string, above = "") => comment.test(text) || comment.test(above);

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
