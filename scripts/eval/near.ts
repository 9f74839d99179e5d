import type { Finding } from "../../src/core/finding.ts";
import type { KnownIssue } from "./case-format.ts";

/** The compared fields of a finding. */
export type Located = Pick<Finding, "path" | "line" | "start_line" | "places">;

/** Maximum distance in lines between a known issue and a finding at the same place. */
export const NEAR_LINES = 10;

/** Whether one of the finding's places is near the issue or one of its alternatives. */
export function isNear(
  { place, alternatives }: Pick<KnownIssue, "place" | "alternatives">,
  finding: Located,
): boolean {
  const own = place?.lines.map((line) => ({ file: place.file, line })) ?? [];
  const places = [...own, ...alternatives];
  return [finding, ...finding.places].some(({ path, line, start_line }) =>
    places.some((one) => one.file === path && distance(one.line, start_line ?? line, line) <= NEAR_LINES),
  );
}

/** Distance in lines from `line` to a range. */
function distance(line: number, start: number, end: number): number {
  return Math.max(0, start - line, line - end);
}
