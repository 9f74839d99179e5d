import type { Message } from "../../agent/llm/model.ts";
import { intentTools } from "../../agent/tools/index.ts";
import type { Intent } from "../../agent/tools/tool.ts";
import { cutAtLine } from "../../core/text/cut.ts";
import { inlineCode, wrapUntrusted } from "../../core/text/fence.ts";
import { familyOf } from "../../repo/code/imports.ts";
import { isExample, isTestFile } from "../../repo/code/test-file.ts";
import { renderHunks } from "../../repo/diff/file-diff.ts";
import { showPath } from "../../repo/show.ts";
import type { PlaceRun } from "../loop/review-run.ts";
import { cut, openingMessages, pullSection, roomFor, runLoop } from "../loop/run-loop.ts";
import { intentPrompt, provePrompt } from "../prompts/prompts.ts";
import { codeNow } from "../review/followup/recheck.ts";
import { changeAround } from "../review/verify/claim.ts";
import type { ProveInput, ProveTarget } from "./prove-input.ts";

const MAX_FINDING_BYTES = 6_000;
const MAX_TESTS_BYTES = 3_000;
const SHORT_SHARE = 0.05;
const NAMED_TESTS = 12;

export interface ProveRun extends PlaceRun {
  input: ProveInput;
}

/** The first messages of a proof: the finding, its code as it is now, the diff around it, and how tests are run here. */
export async function proveMessages(run: ProveRun, target: ProveTarget): Promise<Message[]> {
  const { pull, targetBranch, config } = run.input;
  const { path, side, line, symbol } = target;
  const place = line === null ? null : { start: target.start_line ?? line, end: line };
  const file = await run.change.anchorFile(path);
  const at = line === null ? "" : `:${line}${side === "LEFT" ? " (removed)" : ""}`;
  const sections = [
    pullSection(run, pull),
    `# The finding, at ${showPath(path)}${at}\n${wrapUntrusted("finding", cut(run, `${target.title}\n\n${target.text}`, MAX_FINDING_BYTES))}`,
    ...(await codeNow(run, { path, side, symbol, place, line }, file)),
    await changeAround(run, [{ path, side, line: line ?? 1 }]),
    suggestionSection(target),
    commandsSection(config.prove.run),
    await testsSection(run, path),
    `The change is to be merged into \`${targetBranch.replaceAll("`", "'")}\`. Write the test of this finding.`,
  ];
  return openingMessages(provePrompt, sections);
}

function suggestionSection({ suggestion }: ProveTarget): string {
  if (suggestion === null) return "There is no suggestion: `repaired` cannot be run.";
  return `# The suggestion, which \`repaired\` has in place of the lines of the finding\n${wrapUntrusted("suggestion", suggestion)}`;
}

/** The commands come from the configuration of the base branch. */
function commandsSection(commands: ProveInput["config"]["prove"]["run"]): string {
  const lines = commands.map(({ files, command }) => `- ${inlineCode(files)}: ${inlineCode(command)}`);
  const others = lines.length > 0 ? "Other files" : "Test files";
  return [
    "# How a test file is run, from the root folder",
    ...lines,
    `${others} in JavaScript and TypeScript are run by Node 24 directly: write \`node:assert\` or \`node:test\`, no \`describe\` and \`expect\` of another runner. Types are removed, and imports of the repository's own sources are found. In Python they are run by pytest or, without it, by a runner that calls \`test_\` functions and unittest cases; in Go by \`go test\`. Only packages of the repository's prepared environment and of the machine can be imported. The environment has only variables like PATH and HOME.`,
  ].join("\n");
}

async function testsSection(run: ProveRun, path: string): Promise<string> {
  const tree = await run.deps.workspace.tree("head");
  const [folders, name] = partsOf(path);
  const likeness = (one: string) => {
    const [others, other] = partsOf(one);
    const alike = (a: readonly string[], b: readonly string[]) => a.filter((word) => b.includes(word)).length;
    return 3 * alike(name, other) + alike(folders, others);
  };
  const isAlike = (one: string) =>
    isTestFile(one) && familyOf(one) === familyOf(path) && !besideTests.test(one) && !run.deps.isPrivate(one);
  const tests = [...tree.keys()].filter(isAlike);
  const near = tests.toSorted((a, b) => likeness(b) - likeness(a)).slice(0, NAMED_TESTS);
  if (near.length === 0) return "";
  const { text } = cutAtLine(
    near.map(showPath).join("\n"),
    roomFor(run.deps.models.review, MAX_TESTS_BYTES, SHORT_SHARE),
  );
  return `# Tests that exist nearby\n${wrapUntrusted("paths", text)}`;
}

const besideTests =
  /(?:^|\/)(?:fixtures?|__fixtures__|snapshots?|__snapshots__|examples?[\w-]*|example_\w+|testdata|wpt)\//i;

function partsOf(path: string): [folders: string[], name: string[]] {
  const words = (text: string) =>
    text
      .toLowerCase()
      .split(/[/._-]+/)
      .filter((word) => word !== "" && word !== "test" && word !== "tests");
  const slash = path.lastIndexOf("/");
  return [words(path.slice(0, slash + 1)), words(path.slice(slash + 1).replace(/\.\w+$/, ""))];
}

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
  const stated = await statedIntent(run);
  const near = await changeAround(run, [{ ...shown.target, line: shown.target.line ?? 1 }]);
  const words = normal([stated, near].join("\n"));
  let intent: Intent | null = null;
  await runLoop(run, {
    loop: `intent:${shown.target.id}`,
    role: "verify",
    messages: openingMessages(intentPrompt, [
      stated,
      near,
      `# The claim\n${wrapUntrusted("claim", shown.target.title)}`,
      `# What a test shows\n${wrapUntrusted("test", shown.test.text)}`,
      `Otherwise (the merge base, or a proposed repair): ${wrapUntrusted("before", shown.before)}`,
      `At the head of the change: ${wrapUntrusted("now", shown.now)}`,
    ]),
    outputTools: intentTools,
    readingTools: [],
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
    turns: TURNS,
    tokens: TOKENS,
    milliseconds: run.limits.timeLeft() * TIME_SHARE,
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

async function statedIntent(run: ProveRun): Promise<string> {
  const { pull } = run.input;
  const commits = await run.deps.workspace.commits(COMMITS);
  const messages = commits.map(({ message }) => message.trim()).join("\n\n");
  return [
    pull === null
      ? ""
      : `# Title and description\n${wrapUntrusted("title and description", cut(run, `${pull.title}\n\n${pull.body}`, MAX_TEXT_BYTES))}`,
    messages === "" ? "" : `# Commits\n${wrapUntrusted("commits", cut(run, messages, MAX_TEXT_BYTES))}`,
    ...(await intentDiffs(run)),
  ]
    .filter((section) => section !== "")
    .join("\n\n");
}

const statesIntent = (path: string) => isTestFile(path) || isExample(path);

async function intentDiffs({ change: { files }, deps }: ProveRun): Promise<string[]> {
  const sections: string[] = [];
  let left = MAX_DIFFS_BYTES;
  for (const { change, reviewable } of files) {
    if (!statesIntent(change.path) || !reviewable || deps.isPrivate(change.path) || left <= 0) continue;
    const { hunks } = await deps.diffs.fileDiff(change, 3);
    const text = renderHunks(hunks).slice(0, left);
    left -= text.length;
    sections.push(`# Change of ${showPath(change.path)}\n${wrapUntrusted("diff", text)}`);
  }
  return sections;
}
