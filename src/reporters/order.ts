import { type Severity, severities } from "../finding.ts";
import type { PlacedFinding } from "../review/review-result.ts";

const rank = (severity: Severity) => severities.indexOf(severity);

/** Worst first, then by path and line. */
export function bySeverity(findings: readonly PlacedFinding[]): PlacedFinding[] {
  return findings.toSorted(
    ({ finding: a }, { finding: b }) =>
      rank(a.severity) - rank(b.severity) || compare(a.path, b.path) || a.line - b.line,
  );
}

/** Files by their worst finding, then by path; findings of a file by line. */
export function byFile(findings: readonly PlacedFinding[]): [string, PlacedFinding[]][] {
  const groups = Map.groupBy(bySeverity(findings), ({ finding }) => finding.path);
  return [...groups].map(([path, group]) => [
    path,
    group.toSorted((a, b) => a.finding.line - b.finding.line),
  ]);
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
