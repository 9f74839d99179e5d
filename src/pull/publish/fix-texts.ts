import { formatMarker, stripMarkers } from "../../core/ledger/marker.ts";
import { count } from "../../core/text/count.ts";
import { byteLength, cutAtLine } from "../../core/text/cut.ts";
import { fence } from "../../core/text/fence.ts";
import { inertMessage, withoutCommands } from "../../core/text/inert-text.ts";
import { triedWords, whyNotApplied } from "../../report/outcome.ts";
import { untrustedCode, untrustedFence, untrustedLine } from "../../report/safe-markdown.ts";
import type { Refusal } from "../../tasks/fix/check-edits.ts";
import type { FixResult, Repair } from "../../tasks/fix/fix-input.ts";
import type { LineSuggestion } from "../../tasks/fix/suggestions.ts";
import type { InlineComment } from "../github/pull-request-api.ts";
import { details, section } from "./markdown-parts.ts";
import { publicPlain, publicText } from "./public-text.ts";

const MAX_SUBJECT = 72;
const NO_SUBJECT = "Repair what a review found";

/**
 * One line that mentions nobody, closes no issue and skips no check, whatever the model wrote.
 * https://docs.github.com/en/actions/managing-workflow-runs/skipping-workflow-runs
 */
export function commitMessage(summary: string): string {
  const written = (summary.split("\n", 1)[0] ?? "")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")
    .replace(/\S*:\/\/\S*/g, "")
    .replace(/\*{3}[^*]*\*{3}/g, "")
    .replace(/\s+/g, " ")
    // Prefixes that make git squash a commit, and comment characters of its editor.
    .replace(/^(?:(?:fixup|squash|amend)!|[#;\s])+/i, "")
    .trim();
  // Before it is cut or broken up: a partial or interrupted secret would not be detected.
  const line = publicPlain(written);
  const short = line.length > MAX_SUBJECT ? `${line.slice(0, MAX_SUBJECT - 1).toWellFormed()}…` : line;
  const plain = inertMessage(short);
  return /[\p{L}\p{N}]/u.test(plain) ? plain : NO_SUBJECT;
}

export interface FixReport {
  fix: FixResult;
  /** By finding id. */
  titles: ReadonlyMap<string, string>;
  head: string;
  end:
    | { kind: "none" }
    | { kind: "refused"; refusals: readonly Refusal[] }
    | { kind: "pushed"; commit: string }
    /** `mayHaveStood`: an earlier attempt may have pushed it, and someone removed it again. */
    | { kind: "moved"; mayHaveStood: boolean }
    | { kind: "settled" }
    | { kind: "closed" }
    | { kind: "suggested"; why: string }
    | { kind: "patch"; why: string; patch: string };
}

const mostLineBytes = 600;
const mostRefusedBytes = 5_000;

/** What was done, how it was checked, and what people must still do. */
export function renderFix(report: FixReport): (maxBytes: number) => string {
  return (maxBytes) => {
    const { fix, head } = report;
    const footer = `<sub>Repaired by ${untrustedCode(fix.model)} from the code at ${head.slice(0, 12)}.</sub>`;
    const lines = fix.repairs.map((repair) => repairLine(repair, report));
    const tried = isDone(report) && fix.edits.length > 0 ? triedLine(fix) : "";
    const before = [heading(report), lines.join("\n"), keptFrom(fix), tried].filter((part) => part !== "");
    const room = maxBytes - [...before, footer].reduce((sum, part) => sum + byteLength(part) + 2, 0);
    return [...before, patchBlock(report, room), footer].filter((part) => part !== "").join("\n\n");
  };
}

const refusalLine = ({ path, reason }: Refusal) =>
  `- ${path === null ? "" : `${untrustedCode(path)}: `}${untrustedLine(reason, mostLineBytes)}.`;

/** Changes that a model tried and was refused, whatever it says about them. */
const keptFrom = ({ refused }: FixResult) =>
  section("I was not allowed to make these changes:", refused, refusalLine, mostRefusedBytes).join("");

const triedLine = ({ tried_out: { commands, why_none } }: FixResult) =>
  triedWords({ commands, why_none: why_none && untrustedLine(why_none, mostLineBytes) }, untrustedCode);

/** Whether the repair was judged and reported. */
const isDone = ({ end }: FixReport) => !["refused", "moved", "settled", "closed"].includes(end.kind);

function heading({ end, fix }: FixReport): string {
  switch (end.kind) {
    case "none":
      if (fix.edits.length === 0) return "Nothing was changed.";
      return `I made a repair and **did not push it**: ${whyNotApplied(fix)}.`;
    case "refused":
      return section(
        "I made a repair and **did not push it**, because a fix may not make these changes:",
        end.refusals,
        refusalLine,
        mostRefusedBytes,
      ).join("");
    case "pushed":
      return `Pushed ${end.commit}.`;
    case "moved": {
      const what = end.mayHaveStood ? "and it **does not contain the repair**" : "so **nothing was pushed**";
      return `The branch changed while I worked, ${what}. If you ask again, I start from its current state.`;
    }
    case "settled":
      return "These findings were settled while I worked, so **nothing was pushed**.";
    case "closed":
      return "The pull request was closed while I worked, so **nothing was pushed**.";
    case "suggested":
      return `I could not push the repair: ${untrustedLine(end.why, mostLineBytes)}. I posted it as suggestions on the lines that it changes. Apply them together.`;
    case "patch":
      return `I could not push the repair: ${untrustedLine(end.why, mostLineBytes)}. Here it is as a patch for \`git apply\`.`;
  }
}

function repairLine({ id, repaired, note, check, test }: Repair, report: FixReport): string {
  const { titles } = report;
  const title = `**${untrustedLine(titles.get(id) || id, 200)}**`;
  const noteText = untrustedLine(note, mostLineBytes);
  if (!isDone(report)) return `- ${title}${noteText === "" ? "" : `: ${noteText}`}`;
  if (!repaired)
    return `- ${title}: not fixed; a person must fix it. ${noteText === "" ? "I did not finish." : noteText}`;
  return [`- ${title}: ${noteText}`, ...testWords(test, check), checkWords(check, test)].join("\n  ");
}

/** A test that fails is in the words of the second look, which nobody else took then. */
function testWords(test: Repair["test"], check: Repair["check"]): string[] {
  if (!test || test.state === "fails") return [];
  if (test.state === "passes" && check?.state === "present") return ["_Its test passes, and is not added._"];
  if (test.state === "passes") return ["_Its test failed before, passes now, and is a part of the repair._"];
  return [`_Its test **was not added**:_ ${untrustedLine(test.reason, mostLineBytes)}.`];
}

function checkWords(check: Repair["check"], test: Repair["test"]): string {
  if (check === null) return "_There was no second look at this repair._";
  const reason = untrustedLine(check.reason, mostLineBytes);
  if (test?.state === "fails") return `_The repair **is not confirmed**:_ ${reason}`;
  switch (check.state) {
    case "fixed":
      return `_A second look confirms the repair:_ ${reason}`;
    case "present":
      return `_A second look **still finds the fault**:_ ${reason}`;
    case "unsure":
      return `_A second look could not decide:_ ${reason}`;
  }
}

function patchBlock({ end }: FixReport, room: number): string {
  if (end.kind !== "patch") return "";
  const { text, omittedLines } = cutAtLine(end.patch, Math.max(0, room - 400));
  const more =
    omittedLines > 0
      ? `\n\nThe patch is too long to be shown in full: ${count(omittedLines, "more line")}.`
      : "";
  return details("The patch", untrustedFence(text, "diff") + more);
}

/** Suggestions as comments on the lines that they replace; null if one of them could not be shown exactly. */
export function suggestionComments(
  suggestions: readonly LineSuggestion[],
  comment: number,
): InlineComment[] | null {
  const made = suggestions.map(({ path, start, end, lines }, at): InlineComment | null => {
    const marker = formatMarker({ kind: "suggested", comment, part: at + 1 });
    const text = lines.join("\n");
    const block = fence(text, "suggestion");
    const body = publicText(`A part of the requested repair.\n\n${block}\n\n${marker}`);
    const isWhole = stripMarkers(text) === text && withoutCommands(text) === text && body.includes(block);
    return isWhole ? { path, side: "RIGHT", line: end, startLine: start < end ? start : null, body } : null;
  });
  return made.every((one) => one !== null) ? made : null;
}

export const suggestionsBody = (comment: number) =>
  publicText(
    `The requested repair, as suggestions that belong together.\n\n${formatMarker({ kind: "suggested", comment, part: 0 })}`,
  );
