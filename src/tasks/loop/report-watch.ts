import { withoutThinking } from "../../agent/llm/model.ts";
import type { AgentEvent } from "../../agent/record/trajectory.ts";
import { finishReview } from "../../agent/tools/finish-review.ts";
import {
  type Claim,
  claimIn,
  claimsBesideSummary,
  claimsIn,
  reportFinding,
} from "../../agent/tools/report-finding.ts";
import { NO_SUCH_TOOL } from "../../agent/tools/run-tool.ts";
import { atLeast } from "../../core/finding.ts";
import { cutSentence } from "../../core/text/cut.ts";

type FinishedCall = Extract<AgentEvent, { type: "tool_finished" }>;

/** A report of a finding that the model made, that was refused, and that it did not repeat. */
export interface LostReport {
  /** As the model wrote it; null if it cannot be read. */
  path: string | null;
  /** What it says, for people; untrusted text of at most {@link MAX_TEXT} characters. */
  text: string;
}

interface RefusedReport {
  turn: number;
  claim: Claim;
  text: string;
  isRepeated: boolean;
}

const MAX_TEXT = 300;
/** A repeated report may correct its line, but not by more. */
const NEAR_LINES = 10;
/** Share of the words of a refused title that the repeated one has. */
const SHARED_WORDS = 0.5;

export interface ReportWatch {
  saw(call: FinishedCall): void;
  /** Takes the text of an answer: no one else reads a report in it. */
  read(turn: number, text: string): void;
  lost(): LostReport[];
}

/**
 * A refused report counts as repeated if a later turn has an accepted one of at least the same severity that names the same file within ten
 * lines and shares half of the title's words, or quotes the same code. One report repeats at most one with another title.
 */
export function createReportWatch(): ReportWatch {
  const refused: RefusedReport[] = [];
  const accepted: Claim[] = [];
  const refuse = (turn: number, claim: Claim, json: string) =>
    refused.push({ turn, claim, text: textOf(claim, json), isRepeated: false });
  /** Reports that are not in the arguments of a call for one. A repetition of what was accepted is none. */
  const refuseAll = (turn: number, claims: readonly Claim[], from: string) => {
    for (const claim of claims) if (!accepted.some((one) => isSame(claim, one))) refuse(turn, claim, from);
  };
  return {
    saw({ turn, call: { name, arguments: json }, result, isWithheld }) {
      const isReport = name === reportFinding.name;
      if (result.status === "success") {
        if (isReport) {
          const claim = claimIn(json);
          accepted.push(claim);
          repeat(refused, turn, claim);
        } else if (name === finishReview.name) refuseAll(turn, claimsBesideSummary(json), json);
      } else if (isReport && !isWithheld) refuse(turn, claimIn(json), json);
      else if (!isReport) refuseAll(turn, claimsOf(name, json, result.error), json);
    },
    read(turn, text) {
      const own = withoutThinking(text);
      const isCall = /report_?finding/i.test(own);
      if (!isCall && !/severity/i.test(own)) return;
      // Prose may name a file and a body. The calls of the same turn may make the same reports.
      refuseAll(
        turn - 1,
        claimsIn(own).filter(({ title }) => isCall || title !== ""),
        own,
      );
    },
    lost: () =>
      refused.filter(({ isRepeated }) => !isRepeated).map(({ claim: { path }, text }) => ({ path, text })),
  };
}

/** Some models report through a tool that there is not, or that is for something else. */
function claimsOf(name: string, json: string, error: string): Claim[] {
  const [isUnknown, isForReports] = [error.startsWith(NO_SUCH_TOOL), REPORTS.test(name)];
  const claims = claimsIn(json).filter(({ title }) => isForReports || (isUnknown && title !== ""));
  return claims.length === 0 && isUnknown && /report|finding/i.test(name) ? [claimIn(json)] : claims;
}

const REPORTS = /report|finding|review|comment|issue|bug|problem/i;

function repeat(refused: readonly RefusedReport[], turn: number, accepted: Claim): void {
  const open = refused.filter(
    ({ turn: before, claim: { severity }, isRepeated }) =>
      !isRepeated && before < turn && (severity === null || atLeast(accepted.severity ?? "low", severity)),
  );
  const alike = open.filter(({ claim }) => isSame(claim, accepted));
  const quoting = open.filter(
    ({ claim }) => plain(claim.quote) !== "" && plain(claim.quote) === plain(accepted.quote),
  );
  for (const one of alike.length > 0 ? alike : quoting.slice(0, 1)) one.isRepeated = true;
}

const plain = (code: string) => code.replaceAll(/\s+/g, "");

function isSamePlace(one: Claim, other: Claim): boolean {
  const near = one.line === null || other.line === null || Math.abs(one.line - other.line) <= NEAR_LINES;
  return near && (one.path === null || other.path === null || isSameFile(one.path, other.path));
}

/** Also with a prefix, as models write paths: `b/src/a.ts`, `/repo/src/a.ts`. */
export const isSameFile = (one: string, other: string) =>
  `/${one}`.endsWith(`/${other}`) || `/${other}`.endsWith(`/${one}`);

/** A report without a title is told by its body; one that was cut before both, by its place. */
function isSame(claim: Claim, other: Claim): boolean {
  const title = wordsOf(claim.title);
  const words = title.size > 0 ? title : wordsOf(claim.body);
  const others = wordsOf(title.size > 0 ? other.title : `${other.title} ${other.body}`);
  const isAlike = [...words].filter((word) => others.has(word)).length >= words.size * SHARED_WORDS;
  return isAlike && isSamePlace(claim, other);
}

const wordsOf = (title: string) => new Set(title.toLowerCase().match(/[\p{L}\p{N}_]+/gu));

function textOf({ path, line, title, body, severity }: Claim, json: string): string {
  const place = path === null ? "" : `${path}${line === null ? "" : `:${line}`}: `;
  const said = [title, body].filter((part) => part !== "").join(". ");
  const text = `${severity === null ? "" : `${severity}, `}${place}${said || `a report that cannot be read: ${json}`}`;
  return cutSentence(text.slice(0, 10 * MAX_TEXT).replaceAll(/\s+/g, " "), MAX_TEXT);
}
