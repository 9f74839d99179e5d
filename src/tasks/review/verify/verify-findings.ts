import pMap from "p-map";
import { checkingTools, judgingTools } from "../../../agent/tools/index.ts";
import type { Correction, Verdict } from "../../../agent/tools/tool.ts";
import { AppError, asValue, publicLine } from "../../../core/errors.ts";
import {
  atLeast,
  type CodeLocation,
  type Evidence,
  type Finding,
  worstFirst,
} from "../../../core/finding.ts";
import { showPath } from "../../../repo/show.ts";
import { resolveAnchor } from "../../anchor/anchor.ts";
import { isSameFinding } from "../../anchor/fingerprint.ts";
import type { ReviewRun } from "../../loop/review-run.ts";
import { furtherTools, runLoop } from "../../loop/run-loop.ts";
import { type DroppedFinding, publicModelError, whyNoResult } from "../../shapes/review-result.ts";
import { claimMessages, publicFile } from "./claim.ts";
import { type FindingGroup, mergedFinding, withPlaces } from "./merge.ts";
import { corrected, sentencesOf } from "./sentences.ts";

export interface VerifiedFindings {
  findings: Finding[];
  dropped: DroppedFinding[];
}

const CONCURRENCY = 4;
/** Maximum claims of one verification: more of them get less care, and lose more if it stops early. */
const MAX_CLAIMS = 6;

/** A refuted finding is dropped and recorded; an uncertain one is kept only if severe; one without a verdict says so. */
export async function verifyFindings(
  run: ReviewRun,
  groups: readonly FindingGroup[],
): Promise<VerifiedFindings> {
  const verified: VerifiedFindings = { findings: [], dropped: [] };
  let done = 0;
  let waiting = groups;
  while (waiting.length > 0) {
    const judged = await pMap(
      conversations(waiting),
      async (together) => {
        const outcomes = await tryToRefute(run, together.map(mergedFinding));
        return together.map((group, at) => {
          const kept = afterVerification(mergedFinding(group), outcomes[at] ?? NO_VERDICT);
          const rest = "reason" in kept ? withoutFirst(group) : null;
          if (rest === null) run.deps.progress({ type: "verdict", done: ++done, total: groups.length });
          return { kept, rest };
        });
      },
      { concurrency: CONCURRENCY },
    );
    const next: FindingGroup[] = [];
    // In the order of the conversations, not of their ends: the same review has the same result.
    for (const { kept, rest } of judged.flat()) {
      if ("reason" in kept) verified.dropped.push(kept);
      else verified.findings.push(kept);
      if (rest !== null) next.push(rest);
    }
    waiting = next;
  }
  return verified;
}

/** Claims about one file stay together as far as there is room; the conversation with the worst finding comes first. */
function conversations(groups: readonly FindingGroup[]): (readonly FindingGroup[])[] {
  const sorted = [...Map.groupBy(groups, ([{ path }]) => path).values()].flatMap((ofFile) =>
    ofFile.toSorted(([a], [b]) => a.line - b.line),
  );
  const size = Math.ceil(sorted.length / Math.ceil(sorted.length / MAX_CLAIMS));
  const all = Array.from({ length: Math.ceil(sorted.length / size) }, (_, at) =>
    sorted.slice(at * size, (at + 1) * size),
  );
  const worst = (together: readonly FindingGroup[]) =>
    together.map(mergedFinding).toSorted(worstFirst)[0] as Finding;
  return all.toSorted((a, b) => worstFirst(worst(a), worst(b)));
}

/** If the first finding is dropped, the next one is verified: the model that joined them may have been wrong, or deceived. */
function withoutFirst(group: FindingGroup): FindingGroup | null {
  const [next, ...others] = group.filter((one) => one !== group[0] && !isSameFinding(one, group[0]));
  return next ? [next, ...others] : null;
}

export function asUnverified(finding: Finding, reason: string): Finding {
  return { ...finding, verification_note: `The second look did not finish: ${reason}.` };
}

/** The finding after verification, with the verifier's severity unless it breaks a named rule, or the dropped finding. */
export function afterVerification(finding: Finding, outcome: VerificationOutcome): Finding | DroppedFinding {
  if (typeof outcome === "string") return asUnverified(finding, outcome);
  const { verdict, failingInput, reason, evidence, places, title, corrections } = outcome;
  const isOfRule = finding.rule !== undefined;
  const reached = isOfRule || (outcome.reached ?? finding.reached);
  const severity = isOfRule ? finding.severity : reached ? (outcome.severity ?? finding.severity) : "low";
  if (verdict === "refuted") return asDropped(finding, "refuted", reason);
  if (verdict === "uncertain" && !atLeast(severity, "high")) return asDropped(finding, "uncertain", reason);
  return {
    ...finding,
    severity,
    reached,
    title: title ?? finding.title,
    body: corrected(finding.body, corrections) ?? finding.body,
    verification: verdict,
    verification_note: verdict === "confirmed" ? confirmation(failingInput, reason) : reason,
    evidence: [...finding.evidence, ...evidence.filter((one) => !isNamed(one, finding))],
    places: withPlaces(finding, places),
  };
}

const confirmation = (failingInput: string, reason: string) =>
  `${failingInput.trim().replace(/\.$/, "")}. ${reason.trim()}`;

const isNamed = (one: Evidence, { evidence }: Finding) =>
  evidence.some(
    ({ path, start_line, end_line }) =>
      path === one.path && start_line <= one.end_line && one.start_line <= end_line,
  );

export function asDropped(
  { id, path, line, title, rule, severity, category }: Finding,
  verdict: DroppedFinding["verdict"],
  reason: string,
): DroppedFinding {
  return { id, path, line, title, verdict, reason, rule: rule ?? null, severity, category };
}

/** The result of verifying one finding: a verdict with located places, or why there is none. */
type VerificationOutcome = Verdict | string;

const NO_VERDICT = "the model gave no verdict";

const TURNS = 12;
/** Further turns for each claim after the first. */
const TURNS_A_CLAIM = 2;
const TOKENS = 400_000;
const TIME_SHARE = 0.6;

/** One outcome for each finding, in order. */
async function tryToRefute(run: ReviewRun, findings: readonly Finding[]): Promise<VerificationOutcome[]> {
  const { graph } = run.change;
  const { journal } = run.deps;
  // If the code cannot be read, the findings are reported unverified.
  const messages = await claimMessages(run, findings).catch(asValue);
  if (messages instanceof AppError) return findings.map(() => publicLine(messages));
  const verdicts = new Map<number, Verdict>();
  const loop = await runLoop(run, {
    loop: `verify:${findings[0]?.id}`,
    role: "verify",
    messages,
    readingTools: checkingTools,
    outputTools: [...judgingTools, ...furtherTools(graph, journal)],
    ports: {
      ...(journal && { journal }),
      ...(graph && { graph }),
      judge: {
        async judge(given, verdict) {
          const claim = given ?? (findings.length === 1 ? 1 : null);
          if (claim === null || claim > findings.length)
            return { ok: false, reason: `give \`claim\`, a number from 1 to ${findings.length}` };
          const refusal =
            verdict.verdict === "refuted"
              ? await whyNotRefuted(run, verdict.evidence)
              : whyNotCorrected(findings[claim - 1]?.body ?? "", verdict.corrections);
          if (refusal !== null) return { ok: false, reason: refusal };
          const { places, lost } = await locatePlaces(run, verdict.places);
          verdicts.set(claim, { ...verdict, places });
          return {
            ok: true,
            claim,
            open: findings.flatMap((_, at) => (verdicts.has(at + 1) ? [] : [at + 1])),
            note: lost.length === 0 ? null : `Not found in the code, and left out: ${lost.join(", ")}.`,
          };
        },
      },
    },
    turns: Math.min(TURNS + TURNS_A_CLAIM * (findings.length - 1), run.input.limits.turns),
    tokens: TOKENS,
    milliseconds: run.limits.timeLeft() * TIME_SHARE,
  });
  const reason = loop.modelError
    ? publicModelError(loop.modelError)
    : whyNoResult(loop.stopReason, NO_VERDICT);
  return findings.map((_, at) => verdicts.get(at + 1) ?? reason);
}

/** Without a sentence nothing is claimed any more, and then lines must show it. */
function whyNotCorrected(body: string, corrections: readonly Correction[]): string | null {
  const count = sentencesOf(body).length;
  const unknown = corrections.find(({ sentence }) => sentence > count);
  if (unknown) return `\`corrections\` names sentence ${unknown.sentence}; the text has ${count}`;
  return corrected(body, corrections) === null
    ? "`corrections` strikes every sentence: correct those that hold in part, or refute the claim"
    : null;
}

/** A finding is refuted by lines that exist: without them, a model could drop any finding with a sentence. */
async function whyNotRefuted(run: ReviewRun, evidence: readonly Evidence[]): Promise<string | null> {
  for (const { path, start_line, end_line } of evidence) {
    const lines = (await publicFile(run, path))?.lines;
    const length = Math.max(lines?.RIGHT?.length ?? 0, lines?.LEFT?.length ?? 0);
    if (start_line <= end_line && end_line <= length) return null;
  }
  const places = evidence.map(
    ({ path, start_line, end_line }) => `${showPath(path)}:${start_line}-${end_line}`,
  );
  return `\`evidence\` names no lines that exist (${places.join(", ")}); name those that make the fault impossible`;
}

/** The locations whose quotes are in the change, and the stated positions of the others. */
async function locatePlaces(
  run: ReviewRun,
  places: readonly CodeLocation[],
): Promise<{ places: CodeLocation[]; lost: string[] }> {
  const found: CodeLocation[] = [];
  const lost: string[] = [];
  for (const place of places) {
    const file = await publicFile(run, place.path);
    const resolved = file?.inChange ? resolveAnchor(file, place) : undefined;
    if (!file || !resolved?.ok) {
      lost.push(`${showPath(place.path)}:${place.line}`);
      continue;
    }
    const { side, line, start_line, quote } = resolved.anchor;
    found.push({ path: file.path, side, line, start_line, quote });
  }
  return { places: found, lost };
}
