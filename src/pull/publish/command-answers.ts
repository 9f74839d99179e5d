import { bySeverity, type Proof } from "../../core/finding.ts";
import { formatMarker } from "../../core/ledger/marker.ts";
import { count } from "../../core/text/count.ts";
import { byteLength, cutAtLine } from "../../core/text/cut.ts";
import { fence } from "../../core/text/fence.ts";
import type { PublicText } from "../../core/text/inert-text.ts";
import { testSentence } from "../../report/finding-words.ts";
import { renderMarkdown } from "../../report/markdown.ts";
import { markLine, testFold } from "../../report/proof-markdown.ts";
import { untrustedBlock, untrustedCode, untrustedLine } from "../../report/safe-markdown.ts";
import type { AnswerResult } from "../../tasks/answer/answer-input.ts";
import type { ProveResult } from "../../tasks/prove/prove-input.ts";
import type { ReviewResult } from "../../tasks/shapes/review-result.ts";
import { mostBodyBytes, publicText } from "./public-text.ts";

interface AnsweredComment {
  id: number;
  /** Its page if the answer is not right below it; else null. */
  url: string | null;
}

/**
 * Our answer to a comment, with its marker: each comment gets one at most.
 *
 * @param text Markdown without live text of others, given the number of bytes for it
 */
export function renderAnswer(text: (maxBytes: number) => string, { id, url }: AnsweredComment): PublicText {
  const marker = formatMarker({ kind: "answer", comment: id });
  const before = url === null ? [] : [`In answer to [this comment](${url}):`];
  const taken = [...before, marker].reduce((sum, part) => sum + byteLength(part) + 2, 0);
  return publicText([...before, text(mostBodyBytes - taken), marker].join("\n\n"));
}

export function modelAnswer({ model }: Pick<AnswerResult, "model">, text: string, head: string) {
  const footer = `<sub>Answered by ${untrustedCode(model)} from the code at ${head.slice(0, 12)}. An answer changes nothing; people decide.</sub>`;
  return (maxBytes: number) => `${untrustedBlock(text, maxBytes - byteLength(footer) - 2)}\n\n${footer}`;
}

/** What fits on one screen of 40 usual lines, with the end of a block of code and what says that it was cut. */
const screen = { lines: 36, bytes: 3_900 };

export function modelDescription({ model }: Pick<AnswerResult, "model">, text: string, head: string) {
  const footer = `<sub>Described by ${untrustedCode(model)} from the code at ${head.slice(0, 12)}. A model may be wrong; the code decides.</sub>`;
  return (maxBytes: number) => `${oneScreen(text, maxBytes - byteLength(footer) - 2)}\n\n${footer}`;
}

function oneScreen(text: string, maxBytes: number): string {
  // As they are rendered: a carriage return ends a line, too.
  const lines = text.trim().split(/\r\n?|\n/);
  const shown = untrustedBlock(lines.slice(0, screen.lines).join("\n"), Math.min(maxBytes, screen.bytes));
  return lines.length > screen.lines ? `${shown}\n\n… (cut to one screen)` : shown;
}

const mostSentenceBytes = 1_000;

export function provedAnswer({ model }: Pick<ProveResult, "model">, proof: Proof, head: string) {
  const footer = `<sub>The test is by ${untrustedCode(model)}, and ran on the code at ${head.slice(0, 12)}. Its runs decide what it shows; people decide what follows.</sub>`;
  // Certain findings are not proved.
  const proved = { proof, source: "model" };
  const sentence = markLine(proved) || untrustedLine(testSentence(proved), mostSentenceBytes);
  return (maxBytes: number) => {
    const fold = testFold(proved, maxBytes - byteLength(sentence) - byteLength(footer) - 4);
    return [sentence, fold, footer].filter((part) => part !== "").join("\n\n");
  };
}

const intro =
  "A dry run: this is what a review of the whole change would post. Nothing was posted, and nothing is remembered.";

/** What a review would post, in at most `maxBytes`. If not everything fits: the worst findings, and the number of the others. */
export function renderDryRun(result: ReviewResult, maxBytes: number): string {
  const known = new Set(result.ledger?.repeats.map(({ finding }) => finding));
  const findings = bySeverity(result.findings.filter(({ finding }) => !known.has(finding.id)));
  const repeated = result.findings.length - findings.length;
  for (let taken = findings.length; ; taken = Math.floor(taken * 0.7)) {
    const report = renderMarkdown({ ...result, findings: findings.slice(0, taken) }, () => null).trim();
    const left = findings.length - taken;
    const text = [
      intro,
      report,
      left > 0 &&
        `${count(left, "more finding")} would be posted, and ${left === 1 ? "is" : "are"} not shown here.`,
      repeated > 0 &&
        `${count(repeated, "more finding")} ${repeated === 1 ? "has" : "have"} a comment already, and would not be posted again.`,
    ]
      .filter((part) => part !== false)
      .join("\n\n");
    if (byteLength(text) <= maxBytes) return text;
    // The file lists can be endless: as code, because nothing may stay open at the cut.
    if (taken === 0) return `${intro}\n\n${fence(cutAtLine(report, maxBytes / 2).text)}`;
  }
}

interface CommandHelp {
  /** In its form after the slash. */
  usage: string;
  does: string;
  /** What the configuration switches on for it; without this, it is always on. */
  switch?: "describe" | "prove";
}

export const commandTable: readonly CommandHelp[] = [
  { usage: "review", does: "reviews what is new since the last review" },
  { usage: "review full", does: "reviews the whole change again" },
  { usage: "review --dry-run", does: "shows in one comment what a review of the whole change would post" },
  {
    usage: "ask QUESTION",
    does: "answers a question about the change; in the thread of a finding, about the finding",
  },
  {
    usage: "describe",
    does: "describes the change on one screen: what it does, where to start reading, its files in groups, its risks",
    switch: "describe",
  },
  {
    usage: "fix",
    does: "in the thread of a finding: fixes it and pushes the fix to the branch; `/fix all` fixes all open findings; `/fix with test` and `/fix all with tests` also add the tests that show them",
  },
  {
    usage: "prove",
    does: "in the thread of a finding: writes a test for it, and shows the result before the change and now",
    switch: "prove",
  },
  {
    usage: "resolve",
    does: "in the thread of a finding: dismisses it; in the conversation: dismisses all open findings that have a thread",
  },
  {
    usage: "resolve NUMBER ...",
    does: "dismisses findings and reports without a thread, by the numbers in the summary",
  },
  { usage: "pause", does: "pauses reviews of pushes; commands still work" },
  { usage: "resume", does: "resumes them, and reviews what was pushed meanwhile" },
  {
    usage: "remember RULE",
    does: "opens a pull request that adds a rule for later reviews to the configuration",
  },
  { usage: "help", does: "shows this list" },
];

/** The table in Markdown, for `/help` and the documentation. `on`: the optional commands that are switched on. */
export function renderCommandTable(on: Record<NonNullable<CommandHelp["switch"]>, boolean>): string {
  const listed = commandTable.filter((command) => command.switch === undefined || on[command.switch]);
  const rows = listed.map(({ usage, does }) => `| \`/${usage}\` | ${does} |`);
  return ["| Command | What it does |", "| --- | --- |", ...rows].join("\n");
}

export const commandRules =
  "Write a command in the first line of a comment, in the conversation or in a review thread. You need write access to the repository. You can use the App's name instead of `/`: `@name review`.";
