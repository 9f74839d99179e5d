import type { Finding } from "../../src/finding.ts";
import type { KnownIssue } from "./case-format.ts";

/** The compared fields of a finding. */
export type Located = Pick<Finding, "path" | "line" | "start_line" | "places">;

/** Maximum distance in lines between a known issue and a finding at the same place. */
export const NEAR_LINES = 10;

/** Whether one of the finding's places is near the issue or one of its alternatives. */
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

/** Distance in lines from `line` to a range. */
function distance(line: number, start: number, end: number): number {
  return Math.max(0, start - line, line - end);
}
