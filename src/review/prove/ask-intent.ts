import { isExample, isTestFile } from "../../code/test-file.ts";
import { renderHunks } from "../../diff/file-diff.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { intentTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { Intent } from "../../tools/tool.ts";
import { cut } from "../fix/fix-messages.ts";
import { intentPrompt } from "../prompts/prompts.ts";
import { runLoop } from "../run-loop.ts";
import { changeAround } from "../verify/claim.ts";
import type { ProveRun } from "./messages.ts";
import type { ProveTarget } from "./prove-input.ts";

/** What a test has shown. */
export interface Shown {
  target: ProveTarget;
  test: { path: string; text: string };
  before: string;
  now: string;
}

const TURNS = 8;
const TOKENS = 150_000;
const TIME_SHARE = 0.5;
const COMMITS = 30;
const MAX_TEXT_BYTES = 12_000;
const MAX_DIFFS_BYTES = 48_000;

/**
 * Asks a model that does not know the finding's reasons whether the change means to do what a test shows, and whether the test is about the
 * finding. It sees what people and tests of the change say, and must quote it. So it can withhold a mark, and never give one. Null if there
 * is no answer.
 */
export async function askIntent(run: ProveRun, shown: Shown): Promise<Intent | null> {
  const said = await whatIsSaid(run);
  const near = await changeAround(run, [{ ...shown.target, line: shown.target.line ?? 1 }]);
  const words = normal([said, near].join("\n"));
  let intent: Intent | null = null;
  await runLoop(run, {
    loop: `intent:${shown.target.id}`,
    role: "verify",
    messages: [
      { role: "system", content: intentPrompt },
      {
        role: "user",
        content: [
          said,
          near,
          `# The claim\n${wrapUntrusted("claim", shown.target.title)}`,
          `# What a test shows\n${wrapUntrusted("test", shown.test.text)}`,
          `Otherwise (the merge base, or a proposed repair): ${wrapUntrusted("before", shown.before)}`,
          `At the head of the change: ${wrapUntrusted("now", shown.now)}`,
        ]
          .filter((section) => section !== "")
          .join("\n\n"),
      },
    ],
    outputTools: intentTools,
    hasNoReadingTools: true,
    ports: {
      intent: {
        answer(given) {
          if (given.asks !== "silent" && !isQuoted(given.quote, words))
            return {
              ok: false,
              reason: "`quote` is not among what is shown: copy the words exactly, or answer silent",
            };
          intent = given;
          return { ok: true };
        },
      },
    },
    budget: run.budget,
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: TOKENS,
    milliseconds: run.timeLeft() * TIME_SHARE,
  });
  return intent;
}

/** Without marks of a diff and white space, which a quote may leave out. */
const normal = (text: string) => text.replaceAll(/^[+\- ]?\s*\d*\|?/gm, "").replaceAll(/\s+/g, " ");

/** Shorter quotes are in every text. */
const MIN_QUOTE = 8;

function isQuoted(quote: string, words: string): boolean {
  const wanted = normal(quote).trim();
  return wanted.length >= MIN_QUOTE && words.includes(wanted);
}

/** Title, description, commits, and the diffs of tests and documentation. */
async function whatIsSaid(run: ProveRun): Promise<string> {
  const { pull } = run.input;
  const commits = await run.deps.workspace.commits(COMMITS);
  const messages = commits.map(({ message }) => message.trim()).join("\n\n");
  return [
    pull === null
      ? ""
      : `# Title and description\n${wrapUntrusted("title and description", cut(run, `${pull.title}\n\n${pull.body}`, MAX_TEXT_BYTES))}`,
    messages === "" ? "" : `# Commits\n${wrapUntrusted("commits", cut(run, messages, MAX_TEXT_BYTES))}`,
    ...(await tellingDiffs(run)),
  ]
    .filter((section) => section !== "")
    .join("\n\n");
}

const isTelling = (path: string) => isTestFile(path) || isExample(path);

async function tellingDiffs({ files, deps }: ProveRun): Promise<string[]> {
  const sections: string[] = [];
  let left = MAX_DIFFS_BYTES;
  for (const { change, reviewable } of files) {
    if (!isTelling(change.path) || !reviewable || deps.isPrivate(change.path) || left <= 0) continue;
    const { hunks } = await deps.diffs.fileDiff(change, 3);
    const text = renderHunks(hunks).slice(0, left);
    left -= text.length;
    sections.push(`# Change of ${showPath(change.path)}\n${wrapUntrusted("diff", text)}`);
  }
  return sections;
}
