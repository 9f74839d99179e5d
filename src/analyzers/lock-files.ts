import type { LockFault } from "../diff/locks/compare.ts";
import type { AnalyzedFile, Diagnostic } from "./analyzer.ts";
import { lineOfChange } from "./data-formats.ts";

/** Entries that a finding names. */
const mostListed = 20;

/**
 * The one finding about a lock file. No text of the file can act in it.
 *
 * @param faults at least one
 */
export function lockDiagnostic(file: AnalyzedFile, faults: readonly LockFault[]): Diagnostic {
  const entries = new Set(faults.map(({ entry }) => entry)).size;
  const isOne = entries === 1;
  const listed = faults
    .slice(0, mostListed)
    .map(({ entry, text, line }) => `- line ${line}: \`${entry}\` ${text}`);
  const more = faults.length > mostListed ? [`- and ${faults.length - mostListed} more`] : [];
  const first = Math.min(...faults.slice(0, mostListed).map(({ line }) => line));
  return {
    path: file.path,
    // A fault that a removal causes is reported beside the removal.
    line: lineOfChange(file, first),
    startLine: null,
    severity: "critical",
    category: "security",
    source: "lock-files/entries",
    title: `The lock file has ${isOne ? "an entry" : `${entries} entries`} that no package manager would write`,
    body: [
      `Compared with the base branch, ${isOne ? "this entry" : "each of these entries"} lets other code be installed under a known name, or code that nothing needs:`,
      [...listed, ...more].join("\n"),
      "Write the lock file again with the package manager, from the lock file of the base branch. If the change is intended, say so here.",
    ].join("\n\n"),
    suggestion: null,
  };
}
