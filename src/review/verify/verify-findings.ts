import pMap from "p-map";
import { AppError, asValue, publicLine } from "../../errors.ts";
import { atLeast, type CodeLocation, type Evidence, type Finding, worstFirst } from "../../finding.ts";
import { judgingTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { Verdict } from "../../tools/tool.ts";
import { resolveAnchor } from "../find/anchor.ts";
import { isSameFinding, locationOf, locationsOverlap } from "../find/fingerprint.ts";
import { type DroppedFinding, publicModelError, whyNoResult } from "../review-result.ts";
import type { ReviewRun } from "../review-run.ts";
import { runLoop } from "../run-loop.ts";
import { claimMessages, createSiblingSearch, type SiblingSearch } from "./claim.ts";
import { type FindingGroup, mergedFinding } from "./merge.ts";

export interface VerifiedFindings {
  findings: Finding[];
  /** Findings that are not reported, each with the reason. */
  dropped: DroppedFinding[];
}

/** Concurrent verifications. */
const CONCURRENCY = 4;

/**
 * Lets a verifier try to refute each finding, the worst first. A refuted finding is dropped and recorded as dropped; an uncertain one
 * is kept only if it would be severe; one that could not be verified is kept and says so.
 */
export async function verifyFindings(
  run: ReviewRun,
  groups: readonly FindingGroup[],
): Promise<VerifiedFindings> {
  const siblings = createSiblingSearch(run.files, run.deps.diffs);
  let done = 0;
  const all = await pMap(
    groups.toSorted((a, b) => worstFirst(mergedFinding(a), mergedFinding(b))),
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

/** If the first finding is dropped, the next one is verified: the model that joined them may have been wrong, or deceived. */
async function verifyGroup(
  run: ReviewRun,
  group: FindingGroup,
  siblings: SiblingSearch,
): Promise<VerifiedFindings> {
  const finding = mergedFinding(group);
  const kept = afterVerification(finding, await tryToRefute(run, finding, siblings));
  if (!("reason" in kept)) return { findings: [kept], dropped: [] };
  const [next, ...others] = group.filter((one) => one !== group[0] && !isSameFinding(one, group[0]));
  if (!next) return { findings: [], dropped: [kept] };
  const { findings, dropped } = await verifyGroup(run, [next, ...others], siblings);
  return { findings, dropped: [kept, ...dropped] };
}

/** The finding with a note that it was not verified. */
export function asUnverified(finding: Finding, reason: string): Finding {
  return { ...finding, verification_note: `The second look did not finish: ${reason}.` };
}

/** The finding after verification, with the verifier's severity, or the dropped finding. */
export function afterVerification(finding: Finding, outcome: VerificationOutcome): Finding | DroppedFinding {
  if (outcome.verdict === null) return asUnverified(finding, outcome.reason);
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

/** The failing input first, so that people can reproduce it. */
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

function withPlaces(finding: Finding, more: readonly CodeLocation[]): CodeLocation[] {
  const places = [...finding.places];
  for (const place of more) {
    if (![locationOf(finding), ...places].some((one) => locationsOverlap(one, place))) places.push(place);
  }
  return places;
}

/** The result of one verification: a verdict with located places, or why there is none. */
type VerificationOutcome = { verdict: Verdict } | { verdict: null; reason: string };

const TURNS = 12;
/** Maximum tokens of one verification. */
const TOKENS = 400_000;
/** Share of the remaining time. */
const TIME_SHARE = 0.6;

/** Lets a fresh loop try to refute a finding. It sees the claim and the location, never the reviewer's reasons. */
async function tryToRefute(
  run: ReviewRun,
  finding: Finding,
  siblings: SiblingSearch,
): Promise<VerificationOutcome> {
  const alike = siblings.of(finding);
  // If the code cannot be read, the finding is reported unverified.
  const messages = await alike.then((lines) => claimMessages(run, finding, lines)).catch(asValue);
  if (messages instanceof AppError) return { verdict: null, reason: publicLine(messages) };
  let verdict: Verdict | null = null;
  const loop = await runLoop(run, {
    loop: `verify:${finding.id}`,
    role: "verify",
    messages,
    outputTools: judgingTools,
    ports: {
      judge: {
        async judge(given) {
          const { places, lost } = await locatePlaces(run, given.places);
          verdict = { ...given, places };
          return lost.length === 0 ? null : `Not found in the code, and left out: ${lost.join(", ")}.`;
        },
      },
    },
    budget: run.budget,
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: TOKENS,
    milliseconds: run.timeLeft() * TIME_SHARE,
  });
  if (verdict) return { verdict };
  return {
    verdict: null,
    reason: loop.modelError
      ? publicModelError(loop.modelError)
      : whyNoResult(loop.stopReason, "the model gave no verdict"),
  };
}

/** The locations whose quotes are in the change, and the stated positions of the others. */
async function locatePlaces(
  { anchorFile, deps: { isPrivate } }: ReviewRun,
  places: readonly CodeLocation[],
): Promise<{ places: CodeLocation[]; lost: string[] }> {
  const found: CodeLocation[] = [];
  const lost: string[] = [];
  for (const place of places) {
    const file = await anchorFile(place.path);
    // Either path of a renamed file withholds the lines of both.
    const isWithheld = [place.path, ...(file?.paths ?? [])].some(isPrivate);
    const resolved = file?.inChange && !isWithheld ? resolveAnchor(file, place) : undefined;
    if (!file || !resolved?.ok) {
      lost.push(`${showPath(place.path)}:${place.line}`);
      continue;
    }
    const { side, line, start_line, quote } = resolved.anchor;
    found.push({ path: file.path, side, line, start_line, quote });
  }
  return { places: found, lost };
}
