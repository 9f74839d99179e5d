import { inReportOrder } from "../finding.ts";
import type { PlacedFinding } from "../review/review-result.ts";

/** Worst first, then by path and line. */
export function bySeverity(findings: readonly PlacedFinding[]): PlacedFinding[] {
  return findings.toSorted((a, b) => inReportOrder(a.finding, b.finding));
}

/** Files by their worst finding, then by path; findings of a file by line. */
export function byFile(findings: readonly PlacedFinding[]): [string, PlacedFinding[]][] {
  const groups = Map.groupBy(bySeverity(findings), ({ finding }) => finding.path);
  return [...groups].map(([path, group]) => [
    path,
    group.toSorted((a, b) => a.finding.line - b.finding.line),
  ]);
}
