import type { Finding } from "../../src/finding.ts";
import type { KnownIssue } from "./case-format.ts";

/** A finding as far as it is compared. */
export type Located = Pick<Finding, "path" | "line" | "start_line" | "places">;

/** Lines between a known issue and a finding that still name the same place. */
export const NEAR_LINES = 10;

/** Whether the finding names the place of the issue or one of its alternatives, also among its further places. */
export function isNear(
  issue: Pick<KnownIssue, "file" | "lines" | "alternatives">,
  finding: Located,
): boolean {
  const places = [...issue.lines.map((line) => ({ file: issue.file, line })), ...issue.alternatives];
  return [finding, ...finding.places].some(({ path, line, start_line }) =>
    places.some(
      (place) => place.file === path && distance(place.line, start_line ?? line, line) <= NEAR_LINES,
    ),
  );
}

/** Lines from `line` to the nearest one of a range. */
function distance(line: number, start: number, end: number): number {
  return Math.max(0, start - line, line - end);
}
