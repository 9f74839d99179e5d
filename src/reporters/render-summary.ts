import type { ReviewResult } from "../review/review-result.ts";
import { byteLength } from "../text/cut.ts";
import { formatMarker } from "../ledger/marker.ts";
import {
  countBySeverity,
  duration,
  nothingFound,
  outcomeOf,
  outcomeSentence,
  plural,
  summaryOf,
} from "./outcome.ts";
import type { ListedFinding, Places } from "./publication.ts";
import { type CommentContext, mostBodyBytes, renderFinding } from "./render-comment.ts";
import { droppedSection, figures, reviewableFiles, skippedSection, unreadSection } from "./render-figures.ts";
import { details, fitting, section } from "./render-parts.ts";
import { findingLine, type LinkBase, severityBadge } from "./render-places.ts";
import { untrustedBlock, untrustedCode, untrustedLine } from "./render-untrusted.ts";
import type { EarlierComment } from "./said-earlier.ts";

export interface SummaryInput extends Places {
  result: ReviewResult;
  /** Version of Hunkwise. */
  version: string;
  /** Comments of earlier reviews that this one does not repeat and nobody has settled. */
  open: readonly EarlierComment[];
  /** Page of the check run; undefined where there is none. */
  checkUrl: string | undefined;
  /** What the maintainer should know: a permission that is missing, a channel that failed. */
  notices: readonly string[];
}

/** Bytes for each part; what they leave of a comment is for the findings that have no other place. */
const room = { summary: 5_000, index: 4_000, annotated: 6_000, standing: 4_000, list: 3_000, marker: 1_000 };

/** Comments on lines are seen on their lines; more titles than these would only make people scroll. */
const mostTitles = 12;

/** The sticky summary comment of a pull request, marker included. */
export function renderSummaryComment(input: SummaryInput, context: CommentContext): string {
  const marker = formatMarker({ kind: "summary", head: context.headSha, trigger: context.trigger });
  return `${renderSummary(input, context)}\n\n${marker}`;
}

/** The summary without a marker, for wherever it is shown; under 60,000 bytes. */
export function renderSummary(input: SummaryInput, base: LinkBase): string {
  const { result } = input;
  if (isQuiet(input)) return quietLine(input);
  const before = [
    `### Hunkwise: ${headline(input)}`,
    outcomeSentence(result) && `**${outcomeSentence(result)}.**`,
    ...input.notices.slice(0, 5).map((notice) => `⚠️ ${untrustedLine(notice, 600)}`),
    untrustedBlock(summaryOf(result), room.summary),
    ...postedSection(input, base),
    ...annotatedSection(input, base),
  ];
  const after = [
    ...section(
      "**Already reported, and still there**",
      input.standing.map((finding) => findingLine(finding, base)),
      room.standing,
    ),
    ...openSection(input),
    ...unreadSection("**Not read**", result),
    ...section(
      "**Warnings**",
      result.warnings.map((warning) => `- ${untrustedLine(warning)}`),
      room.list,
    ),
    aboutBlock(input),
  ];
  const taken = [...before, ...after].reduce((sum, block) => sum + byteLength(block) + 2, room.marker);
  const blocks = [...before, ...listedSection(input.listed, base, mostBodyBytes - taken), ...after];
  return blocks.filter((block) => block !== "").join("\n\n");
}

/** All was read, nothing was found, and there is nothing else to say. */
function isQuiet({ result, notices, open }: SummaryInput): boolean {
  const silent = [result.findings, result.warnings, notices, open].every((list) => list.length === 0);
  return silent && outcomeOf(result) === "complete";
}

function quietLine(input: SummaryInput): string {
  const { coverage } = input.result;
  const { hunks_total, files_skipped } = coverage;
  if (hunks_total === 0) return details("Hunkwise: no hunk of this change is to be reviewed", footer(input));
  const extent = `${plural(hunks_total, "hunk")} in ${plural(reviewableFiles(coverage), "file")}`;
  const skipped = files_skipped.length > 0 ? `, ${plural(files_skipped.length, "file")} skipped` : "";
  return details(`✅ Hunkwise found no problems: ${extent} read${skipped}`, footer(input));
}

function headline({ result, open }: SummaryInput): string {
  const found = countBySeverity(result.findings.map(({ finding }) => finding));
  if (found !== "") return found;
  return {
    complete: open.length > 0 ? "nothing new" : nothingFound(result),
    offline: "analyzers only, nothing found",
    partial: "incomplete review",
  }[outcomeOf(result)];
}

/** An index of the comments on lines and files. */
function postedSection({ posted }: SummaryInput, base: LinkBase): string[] {
  const titles = fitting(
    posted.slice(0, mostTitles).map((finding) => findingLine(finding, base)),
    room.index,
  );
  const rest = posted.length - titles.length;
  const lines = rest === 0 ? titles : [...titles, `- and ${rest} more on their lines`];
  return lines.length === 0 ? [] : [lines.join("\n")];
}

/** Whether the fault is still there nobody has said: neither this review, which does not mention it, nor a person. */
function openSection({ open }: SummaryInput): string[] {
  const lines = open.map(
    ({ severity, comment }) =>
      `- ${severityBadge(severity)}: [our comment](${comment.url}) in ${untrustedCode(comment.path)}`,
  );
  return section("**Reported earlier, not found again, and not resolved**", lines, room.standing);
}

function annotatedSection({ annotated, checkUrl }: SummaryInput, base: LinkBase): string[] {
  const stand = annotated.length === 1 ? "1 finding stands" : `${annotated.length} findings stand`;
  const run = checkUrl === undefined ? "check run" : `[check run](${checkUrl})`;
  const lines = annotated.map((finding) => findingLine(finding, base));
  return section(
    `**${stand} as annotations of the ${run} and among the changed files**`,
    lines,
    room.annotated,
  );
}

/** In full while there is room, then by title, then by number: what is left out is said to be. */
function listedSection(listed: readonly ListedFinding[], base: LinkBase, maxBytes: number): string[] {
  if (listed.length === 0) return [];
  const titlesRoom = Math.min(6_000, maxBytes / 4);
  const whole = fitting(inFull(listed, base), maxBytes - 100);
  const full = whole.length === listed.length ? whole : fitting(whole, maxBytes - titlesRoom - 100);
  const titles = listed.slice(full.length).map(({ finding }) => findingLine(finding, base));
  return [full.join("\n\n---\n\n"), ...section("**And, in short**", titles, titlesRoom)];
}

/** One by one, because of hundreds only the first have room. */
function* inFull(listed: readonly ListedFinding[], base: LinkBase): Generator<string> {
  for (const { finding, reason } of listed) {
    yield renderFinding(finding, { kind: "list", reason }, base, 6_000);
  }
}

function aboutBlock(input: SummaryInput): string {
  const { coverage } = input.result;
  const skipped = coverage.files_skipped.length;
  const told = skipped === 0 ? "" : `, ${plural(skipped, "file")} skipped`;
  const isModel = input.result.mode === "model" && coverage.hunks_total > 0;
  const read = isModel
    ? `: ${coverage.hunks_served} of ${plural(coverage.hunks_total, "hunk")} read${told}`
    : "";
  return details(`About this review${read}`, footer(input));
}

function footer({ result, version }: SummaryInput): string {
  const { mode, model } = result;
  const reader =
    mode === "offline" ? "analyzers only, no model" : `model ${untrustedCode(model ?? "unknown")}`;
  return [
    `- reviewed \`${result.merge_base_sha.slice(0, 12)}..${result.head_sha.slice(0, 12)}\` with ${reader}`,
    ...figures(result).map(([name, words]) => `- ${name}: ${words}`),
    `- took ${duration(result.duration_ms)}, ended with \`${result.stop_reason}\``,
    `- Hunkwise ${untrustedLine(version, 60)}`,
    ...droppedSection("\nFound, checked again and left out:", result),
    ...skippedSection("\nFiles skipped, and why:", result.coverage),
  ].join("\n");
}
