import pMap from "p-map";
import { atLeast, type Evidence, type Finding, type Place, severities } from "../../finding.ts";
import { asOne, type Group } from "../merge/join.ts";
import { isSameFault, overlap, placeOf } from "../merge/same-fault.ts";
import type { DroppedFinding } from "../review-result.ts";
import type { ReviewRun } from "../review-run.ts";
import { lookAgain, type Outcome } from "./sceptic.ts";
import { createSiblingSearch, type SiblingSearch } from "./siblings.ts";

export interface Verified {
  findings: Finding[];
  /** What is not reported after all, each with the reason. */
  dropped: DroppedFinding[];
}

/** Second looks at the same time. */
const CONCURRENCY = 4;

/**
 * Gives each finding to a sceptic. What is refuted is dropped and told as dropped; what could not be settled is kept only when
 * it would be severe, and says so; what could not be checked is kept and says that. The worst are looked at first, for tokens
 * and time may end.
 */
export async function verifyFindings(run: ReviewRun, groups: readonly Group[]): Promise<Verified> {
  const siblings = createSiblingSearch(run.files, run.deps.diffs);
  let done = 0;
  const rank = (group: Group) => severities.indexOf(asOne(group).severity);
  const worstFirst = groups.toSorted((a, b) => rank(a) - rank(b));
  const all = await pMap(
    worstFirst,
    async (group) => {
      const judged = await verifyGroup(run, group, siblings);
      done += 1;
      run.deps.progress({ type: "verdict", done, total: groups.length });
      return judged;
    },
    { concurrency: CONCURRENCY },
  );
  return {
    findings: all.flatMap(({ findings }) => findings),
    dropped: all.flatMap(({ dropped }) => dropped),
  };
}

/** Where the first is dropped, the next speaks for the rest: whoever joined them may have been wrong, or deceived. */
async function verifyGroup(run: ReviewRun, group: Group, siblings: SiblingSearch): Promise<Verified> {
  const finding = asOne(group);
  const kept = afterLook(finding, await lookAgain(run, finding, siblings));
  if (!("reason" in kept)) return { findings: [kept], dropped: [] };
  const [next, ...others] = group.filter((one) => one !== group[0] && !isSameFault(one, group[0]));
  if (!next) return { findings: [], dropped: [kept] };
  const { findings, dropped } = await verifyGroup(run, [next, ...others], siblings);
  return { findings, dropped: [kept, ...dropped] };
}

/** Nobody is to take it for checked, and nobody is to miss it. */
export function unchecked(finding: Finding, reason: string): Finding {
  return { ...finding, verification_note: `The second look did not finish: ${reason}.` };
}

/** The finding as it is reported after a second look, or as it is dropped. Its severity is the sceptic's from here on. */
export function afterLook(finding: Finding, outcome: Outcome): Finding | DroppedFinding {
  if (outcome.verdict === null) return unchecked(finding, outcome.reason);
  const { verdict, failingInput, reason, evidence, places } = outcome.verdict;
  const severity = outcome.verdict.severity ?? finding.severity;
  if (verdict === "refuted") return dropped(finding, "refuted", reason);
  if (verdict === "uncertain" && !atLeast(severity, "high")) return dropped(finding, "uncertain", reason);
  return {
    ...finding,
    severity,
    verification: verdict,
    verification_note: verdict === "confirmed" ? confirmation(failingInput, reason) : reason,
    evidence: [...finding.evidence, ...evidence.filter((one) => !isNamed(one, finding))],
    places: withPlaces(finding, places),
  };
}

/** The input first: with it people can see for themselves. */
const confirmation = (failingInput: string, reason: string) =>
  `${failingInput.trim().replace(/\.$/, "")}. ${reason.trim()}`;

const isNamed = (one: Evidence, { evidence }: Finding) =>
  evidence.some(
    ({ path, start_line, end_line }) =>
      path === one.path && start_line <= one.end_line && one.start_line <= end_line,
  );

function dropped(
  { id, path, line, title }: Finding,
  verdict: DroppedFinding["verdict"],
  reason: string,
): DroppedFinding {
  return { id, path, line, title, verdict, reason, rule: null };
}

function withPlaces(finding: Finding, more: readonly Place[]): Place[] {
  const places = [...finding.places];
  for (const place of more) {
    if (![placeOf(finding), ...places].some((one) => overlap(one, place))) places.push(place);
  }
  return places;
}
