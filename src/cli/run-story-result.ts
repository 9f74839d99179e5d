import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { plural, thousands, usageSentence } from "../reporters/outcome.ts";
import { plainLine, plainLines, type Style } from "../reporters/terminal-style.ts";
import { wrap } from "../reporters/terminal-wrap.ts";
import { triedWords } from "../reporters/tried-out.ts";
import { AnswerInput, AnswerResult } from "../review/answer/answer-input.ts";
import { FixInput, FixResult, type Repair } from "../review/fix/fix-input.ts";
import { ReviewResult } from "../review/review-result.ts";

/** Of what an answer or a fix began with, what people asked: the rest is another one in each version. */
const Asked = z.object(AnswerInput.pick({ question: true, thread: true }).shape);
const ToRepair = z.object(FixInput.pick({ targets: true }).shape);

/** What people asked of a run in words, and all that it came to: a fix is followed by a review. */
export interface Told {
  asked: string[];
  results: string[][];
}

/**
 * The same of each kind of work, in the lines of a story. A result that another version wrote, or nobody, tells nothing.
 *
 * @param entries all that is on record, in its order
 */
export function toldBy(entries: readonly TrajectoryEntry[], style: Style): Told {
  const start = entries.findLast((entry) => entry.kind === "run" && entry.what !== undefined);
  const input = start?.kind === "run" ? start.input : undefined;
  const { question, thread } = Asked.safeParse(input).data ?? {};
  const { targets = [] } = ToRepair.safeParse(input).data ?? {};
  const titles = new Map(targets.map(({ id, title }) => [id, title]));
  const pages = pagesOf(entries);
  const came = new Map<string, string[]>();
  for (const entry of entries) {
    if (entry.kind !== "result") continue;
    const review = ReviewResult.safeParse(entry.result).data;
    const answer = AnswerResult.safeParse(entry.result).data;
    const fix = FixResult.safeParse(entry.result).data;
    if (review) came.set("review", reviewLines(review, pages, style));
    if (answer) came.set("answer", answerLines(answer, style));
    if (fix) came.set("fix", fixLines(fix, titles, style));
  }
  const asked = question
    ? wrapped(`${question.by}${thread ? ` on ${thread.path}` : ""}: ${question.body}`, style)
    : targets.flatMap(({ path, line, title }) => wrapped(`- ${path}:${line ?? "?"} ${title}`, style));
  return { asked, results: [...came.values()] };
}

const wrapped = (text: string, { width }: Style) => wrap(plainLine(text), width);

/** Titles of all that reviews found, also of what did not stand a second look, by the ids of findings. */
export function titlesIn(entries: readonly TrajectoryEntry[]): ReadonlyMap<string, string> {
  const reviews = entries.flatMap((entry) =>
    entry.kind === "result" ? (ReviewResult.safeParse(entry.result).data ?? []) : [],
  );
  return new Map(
    reviews.flatMap(({ findings, dropped }) =>
      [...findings.map(({ finding }) => finding), ...dropped].map(({ id, title }) => [id, title] as const),
    ),
  );
}

/** Where each finding stands on GitHub. */
function pagesOf(entries: readonly TrajectoryEntry[]): ReadonlyMap<string, string> {
  const posted = entries.flatMap((entry) => (entry.kind === "posted" ? entry.comments : []));
  return new Map(posted.map(({ finding, url }) => [finding, url]));
}

function reviewLines(result: ReviewResult, pages: ReadonlyMap<string, string>, style: Style): string[] {
  const found = result.findings.flatMap(
    ({ finding: { severity, path, line, title, verification, id }, placement }) => {
      const checked = verification === "unverified" ? "" : `, ${verification}`;
      const words = `- ${severity.toUpperCase()} ${path}:${line} ${title} (${id}, ${placement.kind}${checked})`;
      const page = pages.get(id);
      return [...wrapped(words, style), ...(page ? [`  ${plainLine(page)}`] : [])];
    },
  );
  const dropped = result.dropped.map(
    ({ verdict, path, line, title, reason }) =>
      `- ${verdict.replaceAll("_", " ")}: ${path}:${line} ${title}. ${reason}`,
  );
  const earlier = (result.ledger?.resolutions ?? []).map(
    ({ comment, state, reason }) => `- earlier finding of comment ${comment}: ${state}. ${reason}`,
  );
  const { hunks_served, hunks_total } = result.coverage;
  const read = `${thousands(hunks_served)} of ${plural(hunks_total, "hunk")} read`;
  return [
    ...wrapped(
      `${plural(result.findings.length, "finding")}; ${read}; ${endedWith(result)}; ${usageSentence(result)}.`,
      style,
    ),
    ...found,
    ...[...dropped, ...earlier, ...result.warnings.map((warning) => `- warning: ${warning}`)].flatMap(
      (line) => wrapped(line, style),
    ),
  ];
}

const endedWith = ({ stop_reason }: Pick<ReviewResult, "stop_reason">) => stop_reason.replaceAll("_", " ");

function answerLines(answer: AnswerResult, style: Style): string[] {
  const words = answer.text === null ? "No answer" : "Answered";
  return [
    ...wrapped(`${words}; ${endedWith(answer)}; ${usageSentence(answer)}.`, style),
    ...plainLines(answer.text?.trim() ?? "").flatMap((line) => wrap(line, style.width)),
  ].filter((line, index) => index > 0 || line !== "");
}

function fixLines(fix: FixResult, titles: ReadonlyMap<string, string>, style: Style): string[] {
  const repaired = fix.repairs.filter((one) => one.repaired).length;
  const files = fix.edits.map(({ path, after }) => `- ${after === null ? "removed" : "changed"} ${path}`);
  return [
    `${repaired} of ${plural(fix.repairs.length, "finding")} repaired; ${endedWith(fix)}; ${usageSentence(fix)}.`,
    ...fix.repairs.map((one) => repairLine(one, titles)),
    ...files,
    triedWords(fix.tried_out, (text) => text),
  ].flatMap((line) => wrapped(line, style));
}

function repairLine({ id, repaired, note, check }: Repair, titles: ReadonlyMap<string, string>): string {
  const looked = check === null ? "" : ` Second look: ${check.state}. ${check.reason}`;
  return `- ${repaired ? "repaired" : "left"}: ${titles.get(id) ?? id}. ${note}${looked}`;
}
