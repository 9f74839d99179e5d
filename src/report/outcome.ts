import { holdsSecret, type Severity, severities } from "../core/finding.ts";
import { count, thousands } from "../core/text/count.ts";
import type { FixResult, TriedOut } from "../tasks/fix/fix-input.ts";
import {
  isComplete,
  type MaskedLine,
  notJudged,
  type ReviewResult,
  type RuleOutcome,
  type RuleReport,
  unreadFiles,
  wasAnswered,
  whyStopped,
} from "../tasks/shapes/review-result.ts";

/** The outcome of a result: a model read everything, only the analyzers looked, or something was not done. */
type Outcome = "complete" | "offline" | "partial";

export function outcomeOf(result: ReviewResult): Outcome {
  if (isComplete(result)) return "complete";
  return isOffline(result) && unlookedWords(result) === "" ? "offline" : "partial";
}

/** Whether the review was meant to run without a model, and nothing interrupted it. */
function isOffline({ mode, stop_reason }: ReviewResult): boolean {
  return mode === "offline" && (stop_reason === "no_model" || stop_reason === "finished");
}

/** Whether no model read anything although there was something to read. Reports for people say so on their first line. */
export function isUnread({ mode, usage, coverage }: ReviewResult): boolean {
  return mode === "offline" || (usage.requests === 0 && coverage.hunks_total > 0);
}

/** One sentence without a final full stop on how far the review got; empty for a complete one. */
export function outcomeSentence(result: ReviewResult): string {
  if (outcomeOf(result) === "complete") return "";
  const joined = (...parts: string[]) => parts.filter((part) => part !== "").join("; ");
  if (result.refused !== null)
    return joined(
      "Not reviewed: the configuration is refused, so no model read this change, and only certain findings of the analyzers are reported",
      unlookedWords(result),
    );
  if (isOffline(result))
    return joined(`Offline: no model read this change; only ${ANALYZERS} checked it`, unlookedWords(result));
  const unjudged = notJudgedWords(result);
  if (isUnanswered(result)) {
    const why = whyStopped[result.stop_reason];
    return joined(
      `Offline: no model read this change because ${why}; only ${ANALYZERS} checked it`,
      unlookedWords(result),
      unjudged,
    );
  }
  const { hunks_served, hunks_total } = result.coverage;
  const hasReadAll = result.stop_reason === "finished" && hunks_served === hunks_total;
  const why = hasReadAll ? "" : whyStopped[result.stop_reason];
  const read = hunks_total === 0 ? "" : `${hunks_served} of ${hunks_total} hunks were read`;
  return `Partial: ${joined(why, unlookedWords(result), read, unjudged, unplacedWords(result))}`;
}

const MOST_KINDS = 8;
const ANALYZERS = "the built-in analyzers";

/** Whether a model was meant to read the change and never answered. */
export function isUnanswered(result: ReviewResult): boolean {
  return result.mode === "model" && result.stop_reason !== "finished" && !wasAnswered(result);
}

function unplacedWords({ unplaced: { total } }: ReviewResult): string {
  if (total === 0) return "";
  return `${count(total, "report")} of the model could not be read or placed, and ${total === 1 ? "was" : "were"} not repeated`;
}

function notJudgedWords(result: ReviewResult): string {
  const { length } = notJudged(result);
  if (length === 0) return "";
  return length === 1 ? "1 rule match was not judged" : `${thousands(length)} rule matches were not judged`;
}

function unlookedWords(result: ReviewResult): string {
  const files = unreadFiles(result);
  const masks = result.masked.length;
  // What is in brackets is about one file, not its kind: "too large (20,345 changed lines)". Only our own words are shown here.
  const kindOf = ({ reason }: { reason: string }) =>
    /^[a-z][a-z -]{1,60}(?=$| \()/i.exec(reason)?.[0] ?? "other reasons";
  const kinds = [...new Set(files.map(kindOf))].toSorted().slice(0, MOST_KINDS);
  const parts = [
    files.length > 0
      ? `${count(files.length, "file")} ${files.length === 1 ? "was" : "were"} not read (${kinds.join(", ")})`
      : "",
    masks > 0
      ? `${count(masks, "value")} that may be secret ${masks === 1 ? "was" : "were"} hidden from the model`
      : "",
    result.unanalyzed.length > 0
      ? `${ANALYZERS} did not finish on ${count(result.unanalyzed.length, "file")}`
      : "",
    result.merge_bases > 1
      ? `the branches have ${result.merge_bases} merge bases, and only the change since one of them was read (to have all of it reviewed, merge the base branch into this one)`
      : "",
  ];
  return parts.filter((part) => part !== "").join("; ");
}

/** Whether something was not done besides what never makes a check red. */
export function isPartialBesidesNeutral(result: ReviewResult): boolean {
  const { coverage } = result;
  const files_skipped = coverage.files_skipped.filter(({ account }) => account !== "neutral");
  return outcomeOf({ ...result, coverage: { ...coverage, files_skipped } }) === "partial";
}

/** The places in the change that were not read, and how much of each. Offline no hunk was read, which the sentence above says. */
export function unreadPlaces(result: ReviewResult): { path: string; what: string }[] {
  const unserved = result.mode === "model" ? result.coverage.unserved : [];
  return [
    ...unserved.map(({ path, hunks }) => ({ path, what: count(hunks, "hunk") })),
    ...unreadFiles(result).map(({ path, reason }) => ({ path, what: reason })),
    ...result.masked.map(({ path, line }) => ({
      path: `${path}:${line}`,
      what: "looks like a secret, so the model saw a mask",
    })),
  ];
}

const mostWithoutRules = 8;

/** What an offline review cannot judge: "; no rules for: main.tf, f.rb and 3 more", or empty. `show` renders an untrusted path. */
export function rulesGap({ coverage }: ReviewResult, show: (path: string) => string): string {
  const paths = coverage.without_rules ?? [];
  const more = paths.length - mostWithoutRules;
  const named = paths.slice(0, mostWithoutRules).map(show).join(", ");
  return paths.length === 0
    ? ""
    : `; no rules for: ${named}${more > 0 ? ` and ${thousands(more)} more` : ""}`;
}

/** The text for a complete review without findings. It praises only what was read. */
export function nothingFound({ coverage }: ReviewResult): string {
  return coverage.hunks_total === 0 ? "nothing to review" : "no problems found";
}

/** The reviewer's text about the change; empty if no model read it, which the sentence above says. */
export function summaryOf(result: ReviewResult): string {
  return result.mode === "offline" || isUnanswered(result) ? "" : result.summary.trim();
}

/** "1 critical, 2 high"; empty without findings. */
export function countBySeverity(found: readonly { severity: Severity }[]): string {
  return severities
    .map((severity) => ({ severity, count: found.filter((one) => one.severity === severity).length }))
    .filter(({ count }) => count > 0)
    .map(({ severity, count }) => `${count} ${severity}`)
    .join(", ");
}

/** "3 applied to this change, 2 had no file in it" */
export function ruleCount({ applied, without_files }: RuleReport): string {
  const others = without_files === 0 ? "" : `, ${thousands(without_files)} had no file in it`;
  return `${thousands(applied.length)} applied to this change${others}`;
}

/** What became of a named rule: "2 findings", "no findings", or why that is not known. Only what was read in full has none. */
export function ruleWords({ findings, files, unchecked, reason }: RuleOutcome): string {
  const why = reason === null ? "" : `: ${reason}`;
  const found = findings === 0 ? "" : count(findings, "finding");
  if (unchecked === 0) return found || "no findings";
  if (unchecked >= files) return [found, `not checked${why}`].filter((part) => part !== "").join("; ");
  return `${found || "no findings so far"}; not checked in ${unchecked} of ${count(files, "file")}${why}`;
}

/** "$0.0312"; prices below a cent keep their digits. */
export function dollars(cost: number): string {
  return `$${cost.toFixed(cost < 0.1 ? 4 : 2)}`;
}

/** "8.2 s", "3 min 20 s". */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** The cost of a review, an answer or a fix, or that nothing was spent. */
export function usageSentence({ usage }: Pick<ReviewResult, "usage">): string {
  if (usage.requests === 0) return "no requests to a model";
  const cached = usage.cached_tokens > 0 ? ` (${thousands(usage.cached_tokens)} of them cached)` : "";
  const cost = usage.cost_usd === null ? "price unknown" : dollars(usage.cost_usd);
  return [
    count(usage.requests, "request"),
    `${thousands(usage.prompt_tokens)} prompt tokens${cached}`,
    `${thousands(usage.completion_tokens)} completion tokens`,
    cost,
  ].join(", ");
}

/** The prediction and the actual use: "41,000 tokens, $0.12; took 38,500 tokens, $0.11"; empty without a prediction. */
export function predictionSentence({ predicted, usage }: ReviewResult): string {
  if (predicted === null) return "";
  return `${tokensAndCost(predicted)}; actual: ${tokensAndCost(usage)}`;
}

type Spent = Pick<ReviewResult["usage"], "prompt_tokens" | "completion_tokens" | "cost_usd">;

function tokensAndCost({ prompt_tokens, completion_tokens, cost_usd }: Spent): string {
  const cost = cost_usd === null ? "" : `, ${dollars(cost_usd)}`;
  return `${count(prompt_tokens + completion_tokens, "token")}${cost}`;
}

const mostMasked = 20;

/**
 * The masked values on changed lines, without a final full stop; empty if there are none. `show` renders a place; its path is untrusted.
 */
export function maskedSentence(
  { masked, findings, usage }: Pick<ReviewResult, "masked" | "findings" | "usage">,
  show: (place: MaskedLine) => string,
): string {
  // Without a request, there is no model to hide anything from.
  if (masked.length === 0 || !wasAnswered({ usage })) return "";
  const [look, were] = masked.length === 1 ? ["looks like a secret", "was"] : ["look like secrets", "were"];
  const places = masked.slice(0, mostMasked).map(show);
  const more = masked.length > mostMasked ? ` and ${thousands(masked.length - mostMasked)} more` : "";
  const where = masked.length === 1 ? "a changed line" : "changed lines";
  const isReported = findings.some(({ finding }) => holdsSecret(finding));
  const others = isReported ? "; so were the reported secrets" : "";
  return `${count(masked.length, "value")} on ${where} ${look} and ${were} hidden from the model: ${places.join(", ")}${more}${others}`;
}

/** Why a repair is not applied although there is one. */
export function whyNotApplied({ rounds, repairs }: Pick<FixResult, "rounds" | "repairs">): string {
  const isTested = repairs.some(({ test }) => test?.state === "fails");
  const why = isTested ? "the test of a finding still fails" : "a second look still finds the fault";
  return rounds > 1 ? `${why}, even after a second attempt` : why;
}

/** Most commands to name, and most characters of each: the arguments are a model's. */
const most = { commands: 8, characters: 300 };

const limits = {
  timeout: "it took too long",
  memory: "it used too much memory",
  files: "it created too many files",
  output: "it printed too much",
};

/** How a repair was tried out, in one sentence. `code` renders the text of a model or a repository for its place. */
export function triedWords({ commands, why_none }: TriedOut, code: (text: string) => string): string {
  const shown = (text: string) =>
    code(text.length > most.characters ? `${text.slice(0, most.characters).toWellFormed()}…` : text);
  const ends = commands.slice(0, most.commands).map(({ command, folder, exit_code, ended }) => {
    const where = folder === "." ? "" : ` in ${shown(folder)}`;
    const why = ended === null ? "" : ` (${limits[ended]})`;
    return `${shown(command)}${where} ended with exit code ${exit_code}${why}`;
  });
  if (commands.length > ends.length) ends.push(`and ${commands.length - ends.length} more`);
  if (ends.length > 0) return `Commands run on exactly these files: ${ends.join("; ")}.`;
  return `No command was run to test the repair: ${why_none ?? "no reason given"}.`;
}
