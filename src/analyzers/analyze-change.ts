import { setImmediate as nextTick } from "node:timers/promises";
import { severities } from "../finding.ts";
import { createAnalyzers } from "./all-analyzers.ts";
import type { AnalyzedFile, Analyzer, Candidate } from "./analyzer.ts";
import { seamLines } from "./base-text.ts";

/** Characters; what is larger is data or generated, and costs more than it can tell. */
const maximumCharacters = 1_000_000;
/** For all analyzers of one file together. */
const millisecondsPerFile = 5_000;

/** An analyzer that threw, or a file whose time was up. The review goes on without what it would have said. */
export type OnCrash = (analyzer: string, path: string, error: unknown) => void;

/**
 * What the analyzers say about the change, sorted by path and line. Candidates stand on lines that the change added or,
 * where it only removed, next to the removal.
 * @throws the signal's reason when the whole run is aborted.
 */
export async function analyzeChange(
  files: readonly AnalyzedFile[],
  signal: AbortSignal,
  onCrash: OnCrash = () => {},
  analyzers: readonly Analyzer[] = createAnalyzers(),
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  for (const file of files.filter(isReadable)) {
    signal.throwIfAborted();
    candidates.push(...(await analyzeFile(file, signal, onCrash, analyzers)));
  }
  signal.throwIfAborted();
  return withoutRepetitions(candidates).sort(byPlace);
}

async function analyzeFile(
  file: AnalyzedFile,
  signal: AbortSignal,
  onCrash: OnCrash,
  analyzers: readonly Analyzer[],
): Promise<Candidate[]> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(millisecondsPerFile)]);
  const changed = new Set([...file.addedLines, ...seamLines(file)]);
  const candidates: Candidate[] = [];
  for (const analyzer of analyzers) {
    await nextTick();
    try {
      limited.throwIfAborted();
      candidates.push(...(await analyzer.analyze(file, limited)));
      // One that stopped early hands over what it has, and whoever asked must know that there may be more.
      limited.throwIfAborted();
    } catch (error) {
      onCrash(analyzer.name, file.path, error);
    }
  }
  return candidates.filter((candidate) => linesOf(candidate).some((line) => changed.has(line)));
}

const isReadable = (file: AnalyzedFile) => file.text.length <= maximumCharacters && !file.text.includes("\0");

function linesOf({ startLine, line }: Candidate): number[] {
  const first = startLine ?? line;
  return Array.from({ length: line - first + 1 }, (_, index) => first + index);
}

/** The same rule at the same place says the same twice. */
function withoutRepetitions(candidates: Candidate[]): Candidate[] {
  const seen = new Map(candidates.map((one) => [JSON.stringify([one.path, one.line, one.source]), one]));
  return [...seen.values()];
}

function byPlace(a: Candidate, b: Candidate): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.line - b.line || severities.indexOf(a.severity) - severities.indexOf(b.severity);
}
