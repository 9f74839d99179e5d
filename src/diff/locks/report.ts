import type { LockFault } from "./compare.ts";

/** Entries that a finding names. */
const mostListed = 20;

/**
 * The one finding about a lock file, for people, as Markdown. No text of the file can act in it.
 *
 * @param faults at least one
 */
export function lockFinding(faults: readonly LockFault[]) {
  const entries = new Set(faults.map(({ entry }) => entry)).size;
  const isOne = entries === 1;
  const listed = faults
    .slice(0, mostListed)
    .map(({ entry, text, line }) => `- line ${line}: \`${entry}\` ${text}`);
  const more = faults.length > mostListed ? [`- and ${faults.length - mostListed} more`] : [];
  return {
    severity: "critical",
    category: "security",
    source: "lock-files/entries",
    line: Math.min(...faults.map(({ line }) => line)),
    title: `The lock file has ${isOne ? "an entry" : `${entries} entries`} that no package manager would write`,
    body: [
      `Compared with the base branch, ${isOne ? "this entry" : "each of these entries"} lets other code be installed under a known name, or code that nothing needs:`,
      [...listed, ...more].join("\n"),
      "Write the lock file again with the package manager, from the lock file of the base branch. If the change is intended, say so here.",
    ].join("\n\n"),
  } as const;
}
