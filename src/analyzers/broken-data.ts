import { isTestFile } from "../code/test-file.ts";
import type { AnalyzedFile, Analyzer, Candidate } from "./analyzer.ts";
import { baseText, seamLines } from "./base-text.ts";
import { type DataError, dataFormatOf, firstError } from "./data-formats.ts";

/** Names by which tests call data that is broken on purpose. */
const onPurpose = /broken|invalid|malformed|corrupt|bad|wrong|error|fail/i;

/** Markers of a merge conflict break every format, and another analyzer names them. */
const conflict = /^(?:<{7}|>{7})(?: |$)/m;

/** Finds JSON and YAML files that can no longer be parsed, if this change broke them. */
export function createBrokenDataAnalyzer(): Analyzer {
  return {
    name: "broken-data",
    async analyze(file) {
      const format = dataFormatOf(file.path);
      if (!format || file.text.trim() === "" || conflict.test(file.text)) return [];
      if (isTestFile(file.path) && onPurpose.test(file.path)) return [];
      const error = await firstError(format, file.path, file.text);
      if (!error) return [];
      const before = baseText(file);
      const wasBroken = before !== null && (await firstError(format, file.path, before)) !== null;
      const line = wasBroken ? error.line : lineOfChange(file, error.line);
      return file.addedLines.has(line) || !wasBroken ? [toCandidate(file, line, error)] : [];
    },
  };
}

/** The changed line that is nearest to the place where the parser gave up, those before it first. */
function lineOfChange(file: AnalyzedFile, line: number): number {
  const changed = [...new Set([...file.addedLines, ...seamLines(file)])].sort((a, b) => a - b);
  return changed.findLast((one) => one <= line) ?? changed[0] ?? line;
}

function toCandidate(file: AnalyzedFile, line: number, error: DataError): Candidate {
  const place = line === error.line ? "here" : `on line ${error.line}, because of what changed here`;
  return {
    path: file.path,
    line,
    startLine: null,
    severity: "high",
    category: "data",
    title: `The file is not valid ${error.format}`,
    body: `Parsing fails ${place}: ${error.message}. Whatever reads this file will refuse it as a whole.`,
    suggestion: null,
    source: `broken-data/${error.format.toLowerCase()}`,
  };
}
