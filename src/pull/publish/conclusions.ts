import { AppError, type ErrorCode, publicLine } from "../../core/errors.ts";
import { atLeast, type Finding, type Severity, waitsForPerson } from "../../core/finding.ts";
import { mayHold, type OpenFinding } from "../../core/ledger/entry.ts";
import { count, thousands } from "../../core/text/count.ts";
import { shownCount } from "../../report/finding-words.ts";
import {
  countBySeverity,
  isPartialBesidesNeutral,
  isUnanswered,
  outcomeOf,
  outcomeSentence,
  ruleCount,
  ruleWords,
} from "../../report/outcome.ts";
import { untrustedBlock, untrustedCode, untrustedLine } from "../../report/safe-markdown.ts";
import { type ReviewResult, type StopReason, unplacedTexts } from "../../tasks/shapes/review-result.ts";
import type { CheckRunUpdate } from "../github/pull-request-api.ts";
import {
  details,
  droppedSections,
  figures,
  howToAccept,
  section,
  settledWords,
  skippedSection,
  unreadSection,
} from "./markdown-parts.ts";
import { publicPlain, publicText } from "./public-text.ts";

/** The severity from which findings hold the check, and whether they turn it red. */
export interface CheckPolicy {
  threshold: Severity | "never";
  fail: boolean;
  /** Names of the rules whose open findings turn it red in any case. Default: none. */
  blocking?: ReadonlySet<string> | undefined;
  /** The conclusion of a change that was not (or only partly) read. Default: as for findings at the threshold. */
  limit?: "failure" | "neutral" | undefined;
}

export const limitConclusion = ({ limit, fail }: CheckPolicy): "failure" | "neutral" =>
  limit ?? (fail ? "failure" : "neutral");

/** Faults of ours and of the model's endpoint, which must not block a merge. The change's author can cause all others. */
const ourFaults: ReadonlySet<StopReason> = new Set(["aborted", "model_error", "no_model"]);

/** Failures that the size or shape of a change can cause, so they count as a limit. */
const ofTheChange: ReadonlySet<ErrorCode> = new Set(["too_large", "git_timeout", "child_died"]);

/** The conclusion of a check without a review, if nothing is open. */
type Unreviewed = "failure" | "neutral" | "skipped" | "waits";

const nothingToReview = "Nothing to review";
const failedTitle = "The review failed";
const notReviewedTitle = "Not reviewed";
const waitsTitle = "Waits to be reviewed";
const refusedTitle = `${notReviewedTitle}. Analyzers only: `;

/** Whether a check run with this title says why there was no review. */
export const isNoReview = (title: string) =>
  title.startsWith(failedTitle) ||
  [notReviewedTitle, waitsTitle].includes(title) ||
  title.startsWith(refusedTitle);

/** Whether a conclusion only says that a review is to come: GitHub shows its check run as queued, which neither passes nor fails. */
export const isWaiting = ({ conclusion, title }: { conclusion: string; title: string }) =>
  conclusion === "skipped" && title === waitsTitle;

type HeldFinding = Pick<Finding, "severity"> & { source: string | null; rule?: string | undefined } & Partial<
    Pick<Finding, "verification">
  >;

interface AroundConclusion {
  /** Shown below the figures: the summary, if it could not be posted as a comment. */
  text?: string;
  /** The findings of this review that count. Default: all. */
  found?: readonly HeldFinding[];
  /** Open findings of earlier reviews that this one does not repeat. */
  open?: readonly (OpenFinding & { source: string | null })[];
  /** How many of the pull request's findings are fixed by now. */
  fixed?: number;
  /** How many of them people have dismissed. */
  dismissed?: number;
}

export function reviewConclusion(
  result: ReviewResult,
  policy: CheckPolicy,
  around: AroundConclusion = {},
): CheckRunUpdate {
  const { text = "", open: earlier = [] } = around;
  const found = around.found ?? result.findings.map(({ finding }) => finding);
  const { threshold } = policy;
  // A finding that no model judged prevents a green check (`outcomeOf`), and never turns it red.
  const counts = ({ severity, verification }: HeldFinding) =>
    threshold !== "never" && verification !== "not_judged" && atLeast(severity, threshold);
  const open = [...found, ...earlier].filter((one) => counts(one) && mayHold(one));
  const blocking = [...found, ...earlier].filter((one) => isBlocking(one, policy));
  const outcome = outcomeOf(result);
  // Even a secret in a test or an example.
  const waits = [...found, ...earlier].some(({ source }) => source !== null && waitsForPerson({ source }));
  const isGreen = outcome === "complete" && open.length === 0 && blocking.length === 0 && !waits;
  const isLimited = waits || (isPartialBesidesNeutral(result) && !ourFaults.has(result.stop_reason));
  const otherwise = isGreen ? "success" : isLimited ? limitConclusion(policy) : "neutral";
  const conclusion = blocking.length > 0 || (open.length > 0 && policy.fail) ? "failure" : otherwise;
  const states = { complete: "", offline: "Analyzers only: ", partial: "Incomplete review: " };
  const withoutModel = result.refused === null ? states[outcome] : refusedTitle;
  const state = isUnanswered(result) ? `${failedTitle}. Analyzers only: ` : withoutModel;
  const parts = [
    outcome === "complete" ? "" : `**${outcomeSentence(result)}.**`,
    howToAccept(result),
    result.refused === null ? "" : asText(result.refused),
    blockingSentence(blocking),
    open.length > 0 ? `${count(open.length, "finding")} at or above the threshold "${threshold}".` : "",
    waits
      ? "This check waits until someone with write access dismisses each secret, and each finding about a lock file."
      : "",
    earlier.length > 0 ? `Open from earlier reviews: ${countBySeverity(earlier)}.` : "",
    settledSentence(around),
    shownSentence(result),
    ...ruleLines(result, [...found, ...earlier]),
    ...figures(result).map(([name, words]) => `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${words}.`),
    ...droppedSections(result).map(({ title, list }) => details(title, list)),
    ...section("", unplacedTexts(result), (text) => `- ${untrustedLine(text, 1_000)}`, 5_000).map((list) =>
      details("Reported by the model, and not placed", list),
    ),
    ...unreadSection("", result).map((list) => details("What was not read", list)),
    ...skippedSection("", result.coverage).map((list) => details("Files skipped, and why", list)),
  ];
  const title = `${state}${[foundWords(result, found, earlier.length), ...settledWords(around)].join(", ")}`;
  const update = completed(conclusion, title, parts.filter((part) => part !== "").join("\n\n"));
  return text === "" ? update : { ...update, text: publicText(text) };
}

/** Green without a review: there is nothing to judge. */
export function passedConclusion(reason: string): CheckRunUpdate {
  return completed("success", nothingToReview, asText(reason));
}

/** No review runs. Open findings keep the check red: using up a budget, or making a pull request a draft, must not turn it green. */
export function withheldConclusion(
  reason: string,
  open: readonly OpenFinding[],
  policy: CheckPolicy,
  otherwise: Unreviewed,
): CheckRunUpdate {
  const { threshold, fail } = policy;
  const blocking = open.filter((one) => isBlocking(one, policy));
  const isHeld = (one: OpenFinding) =>
    blocking.includes(one) || (threshold !== "never" && atLeast(one.severity, threshold));
  const held = open.filter(isHeld);
  const isRed = held.length > 0 && (fail || blocking.length > 0);
  if (otherwise === "waits" && !isRed) return completed("skipped", waitsTitle, asText(reason));
  if (otherwise !== "waits" && held.length === 0)
    return completed(otherwise, notReviewedTitle, asText(reason));
  const still = [`Open from earlier reviews: ${countBySeverity(held)}.`, blockingSentence(blocking)];
  const text = [asText(reason), ...still].filter((part) => part !== "").join("\n\n");
  return completed(isRed || otherwise === "failure" ? "failure" : "neutral", notReviewedTitle, text);
}

export interface Held {
  open: readonly OpenFinding[];
  policy: CheckPolicy;
}

const nothingHeld: Held = { open: [], policy: { threshold: "never", fail: false } };

/** The review failed. Our own fault never turns the check red; a failure that the change can cause counts as a limit. */
export function failedConclusion(error: unknown, { open, policy }: Held = nothingHeld): CheckRunUpdate {
  const isLimit = error instanceof AppError && ofTheChange.has(error.code);
  const otherwise = isLimit ? limitConclusion(policy) : "neutral";
  const update = withheldConclusion(`The review failed: ${publicLine(error)}`, open, policy, otherwise);
  return { ...update, title: publicPlain(failedTitle) };
}

export function cancelledConclusion(reason: string): CheckRunUpdate {
  return completed("cancelled", "Canceled", asText(reason));
}

/** What no model judged never turns a check red. */
const isBlocking = (
  { rule, verification }: Pick<HeldFinding, "rule" | "verification">,
  policy: CheckPolicy,
) => rule !== undefined && verification !== "not_judged" && policy.blocking?.has(rule) === true;

/** "2 findings of blocking rules: `no-raw-sql`." */
function blockingSentence(blocking: readonly Pick<HeldFinding, "rule">[]): string {
  if (blocking.length === 0) return "";
  const names = [...new Set(blocking.flatMap(({ rule }) => rule ?? []))].map((name) => untrustedCode(name));
  return `**${count(blocking.length, "finding")} of blocking rules: ${names.join(", ")}.**`;
}

/** What became of each named rule, with the number of its open findings; none without named rules. */
function ruleLines({ rules }: ReviewResult, open: readonly HeldFinding[]): string[] {
  if (rules === undefined) return [];
  const lines = rules.applied.map((one) => {
    const findings = open.filter(({ rule }) => rule === one.name).length;
    return `- ${untrustedCode(one.name)}${one.blocking ? " (blocking)" : ""}: ${untrustedLine(ruleWords({ ...one, findings }))}`;
  });
  return [`Rules of this repository: ${ruleCount(rules)}.`, lines.join("\n")];
}

/** How many findings a test shows. It changes no conclusion. */
function shownSentence({ findings }: ReviewResult): string {
  const count = shownCount(findings.map(({ finding }) => finding));
  return count === "" ? "" : `${count}.`;
}

/** A reason may contain a label, a branch or a model's answer. */
const asText = (reason: string) => untrustedBlock(reason, 4_000);

function completed(
  conclusion: NonNullable<CheckRunUpdate["conclusion"]>,
  title: string,
  summary: string,
): CheckRunUpdate {
  return { status: "completed", conclusion, title: publicPlain(title), summary: publicText(summary) };
}

function foundWords(result: ReviewResult, found: readonly HeldFinding[], earlier: number): string {
  const isJudged = ({ verification }: HeldFinding) => verification !== "not_judged";
  const counted = countBySeverity(found.filter(isJudged));
  const unjudged = found.length - found.filter(isJudged).length;
  const matches = unjudged === 1 ? "1 rule match" : `${thousands(unjudged)} rule matches`;
  const words = [
    found.length === 0 ? "Nothing new" : counted && `found ${counted}`,
    unjudged > 0 ? `${matches} not judged` : "",
    earlier > 0 ? `${thousands(earlier)} open from earlier reviews` : "",
  ];
  if (found.length === 0 && earlier === 0) return nothingFound(result);
  return words.filter((part) => part !== "").join(", ");
}

function settledSentence(around: AroundConclusion): string {
  const words = settledWords(around);
  return words.length === 0 ? "" : `Findings settled in this pull request: ${words.join(", ")}.`;
}

/** Only a complete review may say "No problems found". */
function nothingFound(result: ReviewResult): string {
  if (outcomeOf(result) !== "complete") return "nothing found in the part that was read";
  return result.coverage.hunks_total === 0 ? nothingToReview : "No problems found";
}
