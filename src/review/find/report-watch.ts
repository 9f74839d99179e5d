import type { AgentEvent } from "../../agent/trajectory.ts";
import { atLeast } from "../../finding.ts";
import type { ToolCall } from "../../llm/model.ts";
import { cutSentence } from "../../text/cut.ts";
import { type Claim, claimIn, reportFinding } from "../../tools/report-finding.ts";
import { NO_SUCH_TOOL } from "../../tools/run-tool.ts";

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

/** Follows the reports of one loop. */
export interface ReportWatch {
  /** Takes a call that has its answer. */
  saw(call: FinishedCall): void;
  /** The reports that were refused and not repeated so far. */
  lost(): LostReport[];
}

/**
 * A refused report counts as repeated if a later turn has an accepted one of at least the same severity that names the same file within ten
 * lines and shares half of the title's words, or quotes the same code. One report repeats at most one with another title.
 */
export function createReportWatch(): ReportWatch {
  const refused: RefusedReport[] = [];
  return {
    saw({ turn, call, result, isWithheld }) {
      if (result.status === "success") {
        if (call.name === reportFinding.name) repeat(refused, turn, claimIn(call.arguments));
        return;
      }
      if (isWithheld || !mayReport(call, result.error)) return;
      const claim = claimIn(call.arguments);
      const isClaim = claim.title !== "" && claim.path !== null;
      if (isClaim || call.name === reportFinding.name)
        refused.push({ turn, claim, text: textOf(claim, call), isRepeated: false });
    },
    lost: () =>
      refused.filter(({ isRepeated }) => !isRepeated).map(({ claim: { path }, text }) => ({ path, text })),
  };
}

/** Some models report through a tool that there is not. */
const mayReport = ({ name }: ToolCall, error: string) =>
  name === reportFinding.name || error.startsWith(NO_SUCH_TOOL);

function repeat(refused: readonly RefusedReport[], turn: number, accepted: Claim): void {
  const open = refused.filter(
    ({ turn: before, claim: { severity }, isRepeated }) =>
      !isRepeated && before < turn && (severity === null || atLeast(accepted.severity ?? "low", severity)),
  );
  const alike = open.filter(({ claim }) => isSamePlace(claim, accepted) && isSameTitle(claim, accepted));
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

function isSameTitle({ title }: Claim, other: Claim): boolean {
  const [words, others] = [wordsOf(title), wordsOf(other.title)];
  return [...words].filter((word) => others.has(word)).length >= words.size * SHARED_WORDS;
}

const wordsOf = (title: string) => new Set(title.toLowerCase().match(/[\p{L}\p{N}_]+/gu));

function textOf({ path, line, title, body, severity }: Claim, { arguments: json }: ToolCall): string {
  const place = path === null ? "" : `${path}${line === null ? "" : `:${line}`}: `;
  const said = [title, body].filter((part) => part !== "").join(". ");
  const text = `${severity === null ? "" : `${severity}, `}${place}${said || `a report that cannot be read: ${json}`}`;
  return cutSentence(text.slice(0, 10 * MAX_TEXT).replaceAll(/\s+/g, " "), MAX_TEXT);
}
