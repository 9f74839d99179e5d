import type { Finding } from "../../core/finding.ts";
import type { Dismissal, PostedFinding } from "../../core/ledger/entry.ts";
import { fitState, type LedgerState } from "../../core/ledger/state.ts";
import { count } from "../../core/text/count.ts";
import { byteLength } from "../../core/text/cut.ts";
import type { PublicText } from "../../core/text/inert-text.ts";
import { shownCount } from "../../report/finding-words.ts";
import {
  countBySeverity,
  duration,
  nothingFound,
  outcomeOf,
  outcomeSentence,
  summaryOf,
} from "../../report/outcome.ts";
import { untrustedBlock, untrustedCode, untrustedLine } from "../../report/safe-markdown.ts";
import { graveRejections, type ReviewResult, unplacedTexts } from "../../tasks/shapes/review-result.ts";
import {
  details,
  droppedLine,
  droppedSections,
  figures,
  findingLine,
  fitting,
  howToAccept,
  type LinkBase,
  linked,
  placeLabel,
  reviewableFiles,
  roundWords,
  section,
  settledWords,
  severityBadge,
  skippedSection,
  unreadSection,
} from "./markdown-parts.ts";
import { mostBodyBytes } from "./public-text.ts";
import type { FindingsByState } from "./publication.ts";
import type { PullStatus } from "./pull-status.ts";
import { renderFinding } from "./render-comment.ts";
import { mostStateBytes, renderSticky } from "./sticky-comment.ts";

const mostReasonBytes = 300;

/** Earlier findings that still count: those that this review found again, and those that nobody has settled. Each list has `maxBytes`. */
function earlierSections(
  { postedBefore, open }: Pick<FindingsByState, "postedBefore"> & Pick<PullStatus, "open">,
  base: LinkBase,
  maxBytes: number,
): string[] {
  return [
    ...section(
      "**Reported earlier, and still present**",
      postedBefore,
      ({ finding, entry }) => findingLine(finding, base, entry?.url),
      maxBytes,
    ),
    ...section("**Reported earlier, and still open**", open, openLine, maxBytes),
  ];
}

function settledSections(input: SummaryInput, maxBytes: number): string[] {
  const { fixed, settled, dismissed } = input;
  const fixedLine = (one: (typeof fixed)[number] | (typeof settled)[number]) => {
    const what =
      "entry" in one ? entryLink(one.entry) : `${untrustedLine(one.title)} in ${untrustedCode(one.path)}`;
    return `- ${what}${because(one.reason)}`;
  };
  const allDismissed = [...dismissed.map(dismissedLine), ...dismissedByNumber(input)];
  return [
    ...section("**Fixed**", [...fixed, ...settled], fixedLine, maxBytes),
    ...section("**Dismissed**", allDismissed, (line) => line, maxBytes),
  ];
}

/** Findings and reports without a thread that people have dismissed, each as a line. */
export function dismissedByNumber({ remembered }: Pick<SummaryInput, "remembered">): string[] {
  const findings = remembered?.carried.filter(({ standing }) => standing === "dismissed") ?? [];
  const reports = remembered?.unplaced.reports.filter(({ by }) => by !== undefined) ?? [];
  const line = (what: string, where: string, by = "") =>
    `- ${untrustedLine(what, mostReasonBytes)}${where}: dismissed by ${untrustedCode(by)}, by its number`;
  return [
    ...findings.map(({ finding, by }) => line(finding.title, ` in ${untrustedCode(finding.path)}`, by)),
    ...reports.map(({ text, by }) => line(text, "", by)),
  ];
}

/** Reports of the model that no comment shows. */
function unplacedSection({ result, remembered }: SummaryInput, maxBytes: number): string[] {
  const open = remembered?.unplaced.reports.filter(({ by }) => by === undefined);
  const shown = open ?? unplacedTexts(result).map((text) => ({ text, number: undefined }));
  const line = ({ text, number }: { text: string; number: number | undefined }) =>
    `- ${untrustedLine(text, mostReportBytes)}${howToDismiss(number)}`;
  return section("**Reported by the model, and not placed**", shown, line, maxBytes);
}

const mostReportBytes = 1_000;

/** For what has no thread. Without a state that remembers the number, there is none. */
const howToDismiss = (number: number | undefined) =>
  number === undefined ? "" : ` (to dismiss: \`/resolve ${number}\`)`;

const numberOf = (finding: Finding, { remembered }: Pick<SummaryInput, "remembered">) =>
  remembered?.carried.find((one) => one.finding.id === finding.id)?.number;

function configSection({ config_changes }: ReviewResult, maxBytes: number): string[] {
  return section(
    "⚠️ **This pull request changes the configuration of reviews.** Until it is merged, the configuration of the base branch applies. A merge would have these effects:",
    config_changes,
    (sentence) => `- ${untrustedLine(sentence, 600)}`,
    maxBytes,
  );
}

function openLine(entry: PostedFinding): string {
  const changed = entry.state === "outdated" ? "; its code has changed since" : "";
  const rule = entry.rule === undefined ? "" : ` (rule ${untrustedCode(entry.rule)})`;
  return `- ${severityBadge(entry.severity)}: ${entryLink(entry)}${rule}${changed}`;
}

/** The title as a link to its comment, and the comment's location. */
function entryLink({ title, url, path, line, start_line }: PostedFinding): string {
  const name = untrustedLine(title === "" ? "our comment" : title);
  const place = line === null ? untrustedCode(path) : placeLabel(path, start_line ?? line, line);
  return `${linked(name, url === "" ? undefined : url)} in ${place}`;
}

const because = (reason: string) => (reason === "" ? "" : `: ${untrustedLine(reason, mostReasonBytes)}`);

const dismissedBy: Record<Dismissal["how"], string> = {
  reaction: "with a thumbs down",
  reply: "in a reply",
  resolved: "by resolving its thread",
  command: "with a command",
  page: "on a page of Hunkwise",
  deleted: "by deleting its comment",
};

function dismissedLine(entry: PostedFinding): string {
  const { by = null, at = null, how = "resolved", reason = "" } = entry.dismissal ?? {};
  // A deleted comment leaves only its id.
  const what = entry.comment === null ? "A finding" : entryLink(entry);
  const who = by === null ? "" : ` by ${untrustedCode(by)}`;
  const when = at === null ? "" : ` on ${untrustedLine(at.slice(0, 10))}`;
  return `- ${what}: dismissed${who}${when}, ${dismissedBy[how]}${because(reason)}`;
}

export interface SummaryInput extends FindingsByState, PullStatus {
  result: ReviewResult;
  version: string;
  /** Page of the check run; undefined if there is none. */
  checkUrl: string | undefined;
  /** Notices for the maintainer: a missing permission, a failed channel. */
  notices: readonly string[];
  /** What the next review will know of what has no thread; null if nothing is remembered. */
  remembered: Pick<LedgerState, "carried" | "unplaced"> | null;
}

/** Most bytes for each part. The rest of a comment is for the findings without another place. */
const room = { summary: 5_000, index: 4_000, annotated: 6_000, earlier: 4_000, list: 3_000 };

/** Comments on lines are visible on their lines; more titles than these would only make people scroll. */
const mostTitles = 12;

/** The sticky summary comment of a pull request, with the state for the next review. */
export function renderSummaryComment(
  input: SummaryInput,
  base: LinkBase,
  { trigger, state }: { trigger: string; state: LedgerState },
): PublicText {
  // Findings without room in the state are found again by reading their code again: a state with a gap would hide a finding.
  const memory = { head: base.headSha, trigger, state: fitState(state, mostStateBytes) };
  return renderSticky((maxBytes) => renderSummary(input, base, maxBytes), memory);
}

/** Fractions of the usual room: the less of a comment is left, the shorter its lists are. */
const shares = [1, 1 / 2, 1 / 4, 1 / 8];

/** The summary without a marker, for any place, in at most `maxBytes`, which should be 20,000. */
export function renderSummary(input: SummaryInput, base: LinkBase, maxBytes = mostBodyBytes): string {
  if (isQuiet(input)) return quietLine(input);
  // Findings without another place come before long lists.
  const wanted = input.listed.length === 0 ? 0 : maxBytes / 4;
  for (const share of shares) {
    const [head, tail] = [before(input, base, share), after(input, base, share)];
    const left = [...head, ...tail].reduce((room, block) => room - byteLength(block) - 2, maxBytes);
    if (left < wanted && share !== shares.at(-1)) continue;
    const blocks = [...head, ...listedSection(input, base, left), ...tail];
    return blocks.filter((block) => block !== "").join("\n\n");
  }
  return "";
}

function before(input: SummaryInput, base: LinkBase, share: number): string[] {
  const { result } = input;
  const shown = shownCount(heldFindings(input));
  return [
    `### Hunkwise: ${headline(input)}`,
    outcomeSentence(result) && `**${outcomeSentence(result)}.**`,
    howToAccept(result),
    untrustedBlock(result.refused ?? "", room.list),
    ...input.notices.slice(0, 5).map((notice) => `⚠️ ${untrustedLine(notice, 600)}`),
    ...configSection(result, room.list * share),
    untrustedBlock(summaryOf(result), room.summary * share),
    shown && `🧪 ${shown}.`,
    ...postedSection(input, base, share),
    ...annotatedSection(input, base, share),
  ];
}

function after(input: SummaryInput, base: LinkBase, share: number): string[] {
  const { result } = input;
  const listRoom = room.list * share;
  return [
    ...earlierSections(input, base, room.earlier * share),
    ...settledSections(input, listRoom),
    ...unplacedSection(input, listRoom),
    ...section(
      "**Security rules that matched, and that the model rejected**",
      graveRejections(result),
      droppedLine,
      listRoom,
    ),
    ...unreadSection("**Not read**", result, listRoom),
    ...section("**Warnings**", result.warnings, (warning) => `- ${untrustedLine(warning)}`, listRoom),
    aboutBlock(input, listRoom),
  ];
}

/** Everything was read, nothing counts against the change, and there is nothing else that people should not miss. */
function isQuiet(input: SummaryInput): boolean {
  const { result, notices, open } = input;
  const lists = [heldFindings(input), graveRejections(result), result.warnings, result.config_changes];
  return [...lists, notices, open].every((list) => list.length === 0) && outcomeOf(result) === "complete";
}

/** The findings of this review, except those that people have dismissed. */
export function heldFindings({ result, silent }: Pick<SummaryInput, "result" | "silent">): Finding[] {
  const isSilent = new Set(silent);
  return result.findings.map(({ finding }) => finding).filter((finding) => !isSilent.has(finding));
}

/** One line. It counts the fixed and dismissed findings, which the fold lists. */
function quietLine(input: SummaryInput): string {
  const { coverage } = input.result;
  const { hunks_total, files_skipped } = coverage;
  const about = [...settledSections(input, room.list), footer(input, room.list)].join("\n\n");
  const dismissed = input.dismissed.length + dismissedByNumber(input).length;
  const settled = settledWords({ fixed: input.fixedCount, dismissed })
    .map((words) => `, ${words}`)
    .join("");
  if (hunks_total === 0) {
    return details(`Hunkwise: this change has no hunks to review${settled}`, about);
  }
  const extent = `${count(hunks_total, "hunk")} in ${count(reviewableFiles(coverage), "file")}`;
  const round = roundWords(input.result);
  const read = round === "" ? `${extent} read` : `${extent} read (${round})`;
  const skipped = files_skipped.length > 0 ? `, ${count(files_skipped.length, "file")} skipped` : "";
  return details(`✅ Hunkwise found no problems: ${read}${skipped}${settled}`, about);
}

function headline(input: SummaryInput): string {
  const { result, open } = input;
  const found = countBySeverity(heldFindings(input));
  if (found !== "") return found;
  return {
    complete: open.length > 0 ? "nothing new" : nothingFound(result),
    offline: "analyzers only, nothing found",
    partial: "incomplete review",
  }[outcomeOf(result)];
}

/** An index of the comments on lines and files. */
function postedSection({ posted }: SummaryInput, base: LinkBase, share: number): string[] {
  const titles = fitting(
    posted.slice(0, mostTitles).map((finding) => findingLine(finding, base)),
    room.index * share,
  );
  const rest = posted.length - titles.length;
  const lines = rest === 0 ? titles : [...titles, `- and ${rest} more, on their lines`];
  return lines.length === 0 ? [] : [lines.join("\n")];
}

function annotatedSection(input: SummaryInput, base: LinkBase, share: number): string[] {
  const { annotated, checkUrl } = input;
  const count =
    annotated.length === 1 ? "1 finding is an annotation" : `${annotated.length} findings are annotations`;
  const run = checkUrl === undefined ? "check run" : `[check run](${checkUrl})`;
  return section(
    `**${count} of the ${run} (also visible under "Files changed")**`,
    annotated,
    (finding) => `${findingLine(finding, base)}${howToDismiss(numberOf(finding, input))}`,
    room.annotated * share,
  );
}

/** In full while there is room, then by title, then by number: the text says what is omitted. */
function listedSection(input: SummaryInput, base: LinkBase, maxBytes: number): string[] {
  const { listed } = input;
  if (listed.length === 0) return [];
  const titlesRoom = Math.min(6_000, maxBytes / 4);
  const whole = fitting(inFull(input, base), maxBytes - 100);
  const full = whole.length === listed.length ? whole : fitting(whole, maxBytes - titlesRoom - 100);
  const rest = listed.slice(full.length);
  const titleOf = ({ finding }: FindingsByState["listed"][number]) =>
    `${findingLine(finding, base)}${howToDismiss(numberOf(finding, input))}`;
  return [full.join("\n\n---\n\n"), ...section("**Titles only**", rest, titleOf, titlesRoom)];
}

/** One by one, because only the first of hundreds have room. */
function* inFull(input: SummaryInput, base: LinkBase): Generator<string> {
  for (const { finding, reason } of input.listed) {
    const number = numberOf(finding, input);
    const how = number === undefined ? "" : `\n\n\`/resolve ${number}\` dismisses it.`;
    yield `${renderFinding(finding, { kind: "list", reason }, base, 6_000)}${how}`;
  }
}

function aboutBlock(input: SummaryInput, listRoom: number): string {
  const { coverage, mode } = input.result;
  const skipped = coverage.files_skipped.length;
  const parts = [
    `${coverage.hunks_served} of ${count(coverage.hunks_total, "hunk")} read`,
    roundWords(input.result),
    skipped === 0 ? "" : `${count(skipped, "file")} skipped`,
  ];
  const isModel = mode === "model" && coverage.hunks_total > 0;
  const read = isModel ? `: ${parts.filter((part) => part !== "").join(", ")}` : "";
  return details(`About this review${read}`, footer(input, listRoom));
}

function footer({ result, version }: SummaryInput, listRoom: number): string {
  const { mode, model } = result;
  const reader =
    mode === "offline" ? "analyzers only, no model" : `model ${untrustedCode(model ?? "unknown")}`;
  return [
    `- reviewed \`${result.merge_base_sha.slice(0, 12)}..${result.head_sha.slice(0, 12)}\` with ${reader}`,
    ...figures(result).map(([name, words]) => `- ${name}: ${words}`),
    `- took ${duration(result.duration_ms)}, ended with \`${result.stop_reason}\``,
    `- Hunkwise ${untrustedLine(version, 60)}`,
    ...droppedSections(result, listRoom).map(({ title, list }) => `\n${title}:\n\n${list}`),
    ...skippedSection("\nFiles skipped, and why:", result.coverage, listRoom),
  ].join("\n");
}
