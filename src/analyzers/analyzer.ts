import type { FileDiff } from "../diff/file-diff.ts";
import type { Category, Severity } from "../finding.ts";

/** A changed file as an analyzer sees it: the whole text at head and which of its lines the change added. */
export interface AnalyzedFile {
  path: string;
  text: string;
  /** 1-indexed lines of `text` that the change added. */
  addedLines: ReadonlySet<number>;
  diff: FileDiff;
}

/** A possible finding: posted as it is offline, given to the model as evidence otherwise. */
export interface Candidate {
  path: string;
  line: number;
  /** First line of a range, smaller than `line`; null for a single line. */
  startLine: number | null;
  severity: Severity;
  category: Category;
  title: string;
  /** Markdown: what happens and when, and what to do instead. */
  body: string;
  suggestion: string | null;
  /** "ast-grep/py-mutable-default": the analyzer and its rule. */
  source: string;
  /** All lines of what was found, if there are more than it is told at: its id depends on their text. */
  extent?: { start: number; end: number };
}

/** Pure: no network, no repository code, no file system but its own rules. */
export interface Analyzer {
  name: string;
  /** Loads what the first file would have to wait for. */
  prepare?(): Promise<unknown>;
  analyze(file: AnalyzedFile, signal: AbortSignal): Promise<Candidate[]>;
}
