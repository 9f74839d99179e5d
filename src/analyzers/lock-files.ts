import { hasLockName } from "../diff/lock-sources.ts";
import { compareLocks } from "../diff/locks/compare.ts";
import { lockFinding } from "../diff/locks/report.ts";
import { type Analyzer, baseText, seamLines } from "./analyzer.ts";

/** Finds entries of a lock file that no package manager would write. A file that cannot be read counts as unread instead. */
export const createLockFilesAnalyzer = (): Analyzer => ({
  name: "lock-files",
  readsEvery: true,
  async analyze(file) {
    if (!hasLockName(file.path)) return [];
    const reading = compareLocks(file.path, baseText(file), file.text);
    if (reading.kind === "unread" || reading.faults.length === 0) return [];
    const { line, ...finding } = lockFinding(reading.faults);
    // A fault that a removal causes is reported beside the removal.
    const changed = [...file.addedLines, ...seamLines(file)].toSorted((a, b) => a - b);
    const shown = changed.findLast((one) => one <= line) ?? changed[0] ?? line;
    return [{ ...finding, path: file.path, line: shown, startLine: null, suggestion: null }];
  },
});
