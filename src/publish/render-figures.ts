import { isOrigin } from "../diff/origin.ts";
import { effortSentence, whyDropped } from "../reporters/finding-words.ts";
import {
  maskedSentence,
  plural,
  predictionSentence,
  thousands,
  unreadPlaces,
  usageSentence,
} from "../reporters/outcome.ts";
import { untrustedCode, untrustedLine } from "../reporters/safe-markdown.ts";
import type { Coverage, DroppedFinding, ReviewResult } from "../review/review-result.ts";
import { placeLabel, section } from "./markdown-parts.ts";

/*
 * How much of a change was read, how, and at what price, in the words that the summary and the check run share.
 */

/** Bytes for each list of files or findings, or less if there is less room. */
const mostListBytes = 3_000;

/** "118 of 121 hunks in 8 files; 4 hunks new, 114 read before; 3 files skipped: lock file (2), generated (1)" */
function coverageWords(result: ReviewResult): string {
  const parts = [extentOf(result), roundWords(result), skippedWords(result.coverage)];
  return parts.filter((part) => part !== "").join("; ");
}

/** "4 hunks new, 114 read before"; empty without an earlier review. */
export function roundWords({ coverage, ledger }: ReviewResult): string {
  const known = ledger?.known_hunks ?? 0;
  if (known === 0) return "";
  return `${plural(coverage.hunks_total - known, "hunk")} new, ${thousands(known)} read earlier`;
}

function extentOf({ mode, coverage }: ReviewResult): string {
  const { hunks_served, hunks_total } = coverage;
  if (hunks_total === 0) return "no hunks to review";
  const place = `${plural(hunks_total, "hunk")} in ${plural(reviewableFiles(coverage), "file")}`;
  return mode === "offline" ? `analyzers only (${place})` : `${hunks_served} of ${place}`;
}

/** Number of changed files that were not skipped. */
export function reviewableFiles({ files_total, files_skipped }: Coverage): number {
  return files_total - files_skipped.length;
}

/** "3 files skipped: lock file (2), generated (1)", the most frequent reason first; empty if none was skipped. */
function skippedWords({ files_skipped }: Coverage): string {
  if (files_skipped.length === 0) return "";
  // Text in brackets is about one file, not its kind: "too large (20,345 changed lines)".
  const kinds = Map.groupBy(files_skipped, ({ reason }) => reason.replace(/ \(.*\)$/s, ""));
  const counts = [...kinds].map(([reason, { length }]) => ({ reason, length }));
  const told = counts
    .toSorted((a, b) => b.length - a.length)
    .map(({ reason, length }) => `${untrustedLine(reason, 60)} (${thousands(length)})`);
  const rest = told.length > mostKinds ? ", and others" : "";
  return `${plural(files_skipped.length, "file")} skipped: ${told.slice(0, mostKinds).join(", ")}${rest}`;
}

const mostKinds = 10;

/** The skipped files with their reasons, as a list under a title. */
export function skippedSection(
  title: string,
  { files_skipped }: Coverage,
  maxBytes = mostListBytes,
): string[] {
  const line = ({ path, reason }: Coverage["files_skipped"][number]) => placeLine(path, reason);
  return section(title, files_skipped, line, maxBytes);
}

/** The places that should have been read and were not, as a list under a title. */
export function unreadSection(title: string, result: ReviewResult, maxBytes = mostListBytes): string[] {
  return section(title, unreadPlaces(result), ({ path, what }) => placeLine(path, what), maxBytes);
}

/** Most paths of that configuration. */
const mostAccepted = 6;

/** How the base branch accepts files that were not read because their names or headers call them generated; empty if there are none. */
export function howToAccept({ coverage }: ReviewResult): string {
  const named = coverage.files_skipped.filter(
    ({ reason, account }) => account === "unread" && isOrigin(reason),
  );
  if (named.length === 0) return "";
  const patterns = named
    .slice(0, mostAccepted)
    .map(({ path }) => JSON.stringify(`/${path.replaceAll(/[*?[\]\\!]/g, "\\$&")}`));
  const line = untrustedCode(`paths: { ignore: [${patterns.join(", ")}] }`);
  const more = named.length > mostAccepted ? `, and so on for ${named.length - mostAccepted} more` : "";
  return `Some files look generated or vendored, and have too many changed lines to be read. If they need no review, the base branch can say so with ${line} in \`.github/hunkwise.yml\`${more}.`;
}

const placeLine = (path: string, what: string) => `- ${untrustedCode(path)}: ${untrustedLine(what)}`;

/** Coverage, effort and spending, each with its name and without a final full stop. */
export function figures(result: ReviewResult): [string, string][] {
  const lines: [string, string][] = [
    ["coverage", coverageWords(result)],
    ["effort", effortSentence(result)],
    ["masked", maskedSentence(result, ({ path, line }) => placeLabel(path, line, line))],
    ["usage", usageSentence(result)],
    ["predicted", predictionSentence(result)],
  ];
  return lines.filter(([, words]) => words !== "");
}

/** Findings that are not reported after all, each with the reason, as lists with titles. */
export function droppedSections(
  { dropped }: ReviewResult,
  maxBytes = mostListBytes,
): { title: string; list: string }[] {
  const by = (...verdicts: DroppedFinding["verdict"][]) =>
    dropped.filter(({ verdict }) => verdicts.includes(verdict));
  const groups: [string, DroppedFinding[]][] = [
    ["Left out after a second look", by("refuted", "uncertain")],
    ["Matched by a rule and rejected by the model", by("rejected")],
    ["Left out because the code was read earlier", by("read_before")],
  ];
  return groups.flatMap(([title, ones]) =>
    section("", ones, droppedLine, maxBytes).map((list) => ({ title, list })),
  );
}

export function droppedLine(one: DroppedFinding): string {
  const place = placeLabel(one.path, one.line, one.line);
  const rule = one.rule === null ? "" : ` (${untrustedCode(one.rule)})`;
  return `- ${place} ${untrustedLine(one.title, 200)}${rule}. ${untrustedLine(whyDropped(one), 300)}`;
}
