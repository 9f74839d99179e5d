import type { Finding } from "../../finding.ts";
import type { createUniqueIds } from "../fingerprint.ts";
import { type Group, joinEqual } from "./join.ts";

/**
 * The findings of several loops as those of one review, in their order: what two loops found at one place is one group, and so
 * is what says the same of several places. Ids are given anew, for loops that ran beside each other gave them without knowing
 * of each other.
 *
 * @param identify gives ids that are unique within the review
 */
export function gather(
  loops: readonly (readonly Finding[])[],
  identify: ReturnType<typeof createUniqueIds>,
): Group[] {
  return joinEqual(loops.flat().map((finding) => [{ ...finding, id: identify(finding) }]));
}
