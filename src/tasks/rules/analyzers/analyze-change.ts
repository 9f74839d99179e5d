import { join } from "node:path";
import { setImmediate as nextTick } from "node:timers/promises";
import { worstFirst } from "../../../core/finding.ts";
import { dataFormatOf } from "../../../repo/code/data-formats.ts";
import { type AnalyzedFile, type Analyzer, type Diagnostic, seamLines } from "./analyzer.ts";
import { createAstGrepAnalyzer } from "./ast-grep.ts";
import { brokenCodeAnalyzers, brokenDataAnalyzer } from "./broken-files.ts";
import { hiddenCharactersAnalyzer } from "./hidden-characters.ts";
import { hidingAttributesAnalyzer } from "./hiding-attributes.ts";
import { debuggerLeftoversAnalyzer, focusedTestsAnalyzer, mergeMarkersAnalyzer } from "./leftovers.ts";
import { loadRules, ruleGrammarOf } from "./rule-file.ts";
import { secretsAnalyzer } from "./secrets.ts";

/** `rules/` is next to `src/` and, in the package, next to `dist/`. */
export const rulesFolder = join(import.meta.dirname, "../../../../rules");

/** All analyzers, which cache what they have loaded; the cheap ones first. */
export const allAnalyzers: readonly Analyzer[] = [
  mergeMarkersAnalyzer,
  hiddenCharactersAnalyzer,
  hidingAttributesAnalyzer,
  debuggerLeftoversAnalyzer,
  focusedTestsAnalyzer,
  brokenDataAnalyzer,
  ...brokenCodeAnalyzers,
  secretsAnalyzer,
  createAstGrepAnalyzer((language) => loadRules(rulesFolder, language)),
];

/** Loads the analyzers while the process waits for work. A load error is reported on first use. */
export async function prepareAnalyzers(): Promise<void> {
  await Promise.allSettled(allAnalyzers.map((analyzer) => analyzer.prepare?.()));
}

/** Whether a rule is about files of this kind. What reads every file, such as the search for secrets, does not count. */
export const hasRules = (path: string): boolean =>
  ruleGrammarOf(path) !== null || dataFormatOf(path) !== null || /(?:^|\/)\.gitattributes$/.test(path);

const maximumCharacters = 1_000_000;
/** Time limit for all analyzers of one file together. */
const millisecondsPerFile = 5_000;

interface AnalysisOptions {
  /** Ends the whole run. */
  signal: AbortSignal;
  /** Fires when the analyzers' time is up: the rest is skipped, and the results so far are returned. */
  timeLimit?: AbortSignal;
  analyzers: readonly Analyzer[];
  /** Called if an analyzer throws, or the time for the file is up. The review goes on without its results. */
  onCrash?(analyzer: string, path: string, error: unknown): void;
}

/** A file on which not all analyzers finished. */
export interface UnfinishedFile {
  path: string;
  /** Names of the analyzers that were skipped or stopped, or that threw; empty if none was started. */
  analyzers: string[];
}

/**
 * Diagnostics by line, on lines that the change added or next to a removal; and the analyzers that did not finish.
 * @throws the signal's reason if the run is aborted
 */
export async function analyzeFile(file: AnalyzedFile, options: AnalysisOptions) {
  const { signal, timeLimit, analyzers, onCrash } = options;
  const limits = [signal, AbortSignal.timeout(millisecondsPerFile), ...(timeLimit ? [timeLimit] : [])];
  const limited = AbortSignal.any(limits);
  const changed = new Set([...file.addedLines, ...seamLines(file)]);
  const found: Diagnostic[][] = [];
  const mine = analyzers.filter(({ readsEvery }) => readsEvery || isReadable(file));
  const missing = analyzers.filter((one) => !mine.includes(one)).map(({ name }) => name);
  for (const analyzer of mine) {
    await nextTick();
    try {
      limited.throwIfAborted();
      found.push(await analyzer.analyze(file, limited));
      // An analyzer that stopped early returns what it has, and counts as unfinished.
      limited.throwIfAborted();
    } catch (error) {
      missing.push(analyzer.name);
      // An analyzer that was not started has not crashed.
      if (!timeLimit?.aborted) onCrash?.(analyzer.name, file.path, error);
    }
  }
  signal.throwIfAborted();
  const touching = found.flat().filter((one) => linesOf(one).some((line) => changed.has(line)));
  return { diagnostics: withoutRepetitions(touching).sort(byLine), missing };
}

const isReadable = (file: AnalyzedFile) => file.text.length <= maximumCharacters && !file.text.includes("\0");

function linesOf({ start_line, line }: Diagnostic): number[] {
  const first = start_line ?? line;
  return Array.from({ length: line - first + 1 }, (_, index) => first + index);
}

/** Keeps one diagnostic of each rule on a line. */
function withoutRepetitions(found: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Map(found.map((one) => [`${one.line} ${one.source}`, one]));
  return [...seen.values()];
}

const byLine = (a: Diagnostic, b: Diagnostic) => a.line - b.line || worstFirst(a, b);
