import type { Finding } from "../../finding.ts";
import { createIdentities } from "../fingerprint.ts";
import { joinEqual, joined } from "./join.ts";
import { isSameFault } from "./same-fault.ts";

/**
 * The findings of several loops as those of one review, in their order: what two loops found at one place is one finding, and
 * so is what says the same of several places. Ids are given anew, for loops that ran beside each other gave them without
 * knowing of each other.
 *
 * @param firstName the name that a file had at the merge base
 */
export function gather(
  loops: readonly (readonly Finding[])[],
  firstName: (path: string) => string,
): Finding[] {
  const identify = createIdentities();
  const kept: Finding[] = [];
  for (const finding of loops.flat()) {
    const place = kept.findIndex((one) => isSameFault(one, finding));
    const first = kept[place];
    if (first) kept[place] = joined(first, finding);
    else kept.push({ ...finding, id: identify({ ...finding, path: firstName(finding.path) }) });
  }
  return joinEqual(kept);
}
