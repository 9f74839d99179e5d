import { type Message, withoutThinking } from "../../agent/llm/model.ts";
import type { AgentResult } from "../../agent/loop/run-agent.ts";
import { answeringTools } from "../../agent/tools/index.ts";
import { count } from "../../core/text/count.ts";
import { byteLength } from "../../core/text/cut.ts";
import { wrapUntrusted } from "../../core/text/fence.ts";
import { renderHunks } from "../../repo/diff/file-diff.ts";
import { showPath } from "../../repo/show.ts";
import type { AnchorFile } from "../anchor/anchor.ts";
import { type PlaceRun, startPlaceRun, type WorkDependencies } from "../loop/review-run.ts";
import {
  cut,
  filesSection,
  openingMessages,
  pullSection,
  roomFor,
  runLoop,
  workResult,
} from "../loop/run-loop.ts";
import { answerPrompt, describePrompt } from "../prompts/prompts.ts";
import { codeNow } from "../review/followup/recheck.ts";
import { changeAround } from "../review/verify/claim.ts";
import type { AnswerInput, AnswerResult, AskedThread, ThreadMessage } from "./answer-input.ts";

const most = { question: 8_000, finding: 6_000, message: 2_000, conversation: 16_000 };
const MAX_LIST_BYTES = 8_000;
const MAX_DIFF_BYTES = 40_000;
/** Maximum shares of the window for each short text, and for the diff. */
const SHORT_SHARE = 0.05;
const DIFF_SHARE = 0.25;

const WITHHELD =
  "# The thread\nIt is about a file that the configuration withholds: neither the file nor the comments about it are shown.";

interface AskedRun extends PlaceRun {
  input: AnswerInput;
}

/** The first messages of an answer. The question comes last: questions about one pull request then share a prefix for the cache. */
async function questionMessages(run: AskedRun): Promise<Message[]> {
  const { pull, thread, targetBranch, wants } = run.input;
  const { head, mergeBase } = run.deps.workspace.shas;
  const sections = [
    `The change goes from merge base ${mergeBase.slice(0, 12)} to head ${head.slice(0, 12)}, to be merged into \`${targetBranch.replaceAll("`", "'")}\`.`,
    languageLine(run.input),
    pullSection(run, pull),
    changedFiles(run),
    ...(thread === null ? [await wholeDiff(run)] : await threadSections(run, thread)),
    wants === "description" ? "" : asked(run),
  ];
  return openingMessages(wants === "description" ? describePrompt : answerPrompt, sections);
}

function languageLine({ config: { language }, wants }: AnswerInput): string {
  if (language === null) return "";
  return wants === "description"
    ? `Write in ${language}.`
    : `If the language of the question is unclear, answer in ${language}.`;
}

function asked(run: AskedRun): string {
  const { question, thread } = run.input;
  const where = thread === null ? "in the conversation of the pull request" : "in this thread";
  const text = wrapUntrusted("question", quoted(run, question, most.question));
  return `# The question, asked ${where}\n${text}`;
}

function changedFiles({ change: { files }, deps }: AskedRun): string {
  const shown = files.filter(({ change }) => !deps.isPrivate(change.path));
  const lines = shown.map(({ change, skipReason }) => {
    const size = `+${change.additions ?? "?"} -${change.deletions ?? "?"}`;
    return `${showPath(change.path)}  ${size}${skipReason === null ? "" : `  not reviewed: ${skipReason}`}`;
  });
  const room = roomFor(deps.models.review, MAX_LIST_BYTES, SHORT_SHARE);
  return filesSection(`Changed files (${shown.length})`, lines, room);
}

/** As many as fit into `room`, the first in `order` before the others; in their own order. */
function fitting<T>(all: readonly T[], order: readonly T[], sizeOf: (one: T) => number, room: number): T[] {
  let left = room;
  const taken = new Set<T>();
  for (const one of order) {
    left -= sizeOf(one);
    if (left < 0) break;
    taken.add(one);
  }
  return all.filter((one) => taken.has(one));
}

async function wholeDiff({ change: { files }, deps }: AskedRun): Promise<string> {
  const room = roomFor(deps.models.review, MAX_DIFF_BYTES, DIFF_SHARE);
  const readable = files.filter(({ reviewable, totalHunks }) => reviewable && totalHunks > 0);
  const smallFirst = readable.toSorted((a, b) => a.diffBytes - b.diffBytes);
  const texts: string[] = [];
  for (const { change } of fitting(readable, smallFirst, ({ diffBytes }) => diffBytes, room)) {
    const { hunks } = await deps.diffs.fileDiff(change, 3);
    texts.push(`## ${showPath(change.path)}\n${renderHunks(hunks)}`);
  }
  const rest = readable.length - texts.length;
  return [
    "# Diff",
    ...(texts.length > 0 ? [wrapUntrusted("diff", texts.join("\n"))] : []),
    ...(rest > 0 ? [`Not shown here; read with diff_file: ${count(rest, "file")}.`] : []),
  ].join("\n");
}

async function threadSections(run: AskedRun, thread: AskedThread): Promise<string[]> {
  const { path, side, line, original_line, finding, conversation } = thread;
  const file = await run.change.anchorFile(path);
  // Both paths of a renamed file must be public; the conversation quotes its lines.
  if ([path, ...(file?.paths ?? [])].some(run.deps.isPrivate)) return [WITHHELD];
  const place = line ?? original_line;
  const where = `${showPath(path)}${place === null ? "" : `:${place}${side === "LEFT" ? " (removed)" : ""}`}`;
  const now = line === null ? null : { start: line, end: line };
  const code = file && {
    diff: await changeAround(run, [{ path: file.path, side, line: place ?? 1 }]),
    now: await codeNow(run, { path, side, symbol: null, line: place, place: now }, file),
  };
  return [
    ...(code ? [code.diff, ...code.now] : []),
    `# Our finding\n${fateOf(thread, file)}\n${wrapUntrusted("our finding", `${where}\n${cut(run, finding, most.finding)}`)}`,
    conversation.length === 0
      ? ""
      : `# The thread since then
${wrapUntrusted("conversation", latest(run, conversation))}`,
  ];
}

function fateOf({ line, original_line }: AskedThread, file: AnchorFile | undefined): string {
  if (file === undefined)
    return "Posted on a file that does not exist at head any more; it may have another name now.";
  if (original_line === null && line === null) return "Posted on the file as a whole.";
  return line === null
    ? "Posted on code that has changed since then; its line number is the old one."
    : "Posted on code that has not changed.";
}

const quoted = (run: AskedRun, { by, body }: ThreadMessage, maxBytes: number) =>
  `${by} wrote:\n${cut(run, body, maxBytes)}`;

function latest(run: AskedRun, conversation: readonly ThreadMessage[]): string {
  const room = roomFor(run.deps.models.review, most.conversation, SHORT_SHARE * 2);
  // Indented, so that a comment cannot forge another one.
  const texts = conversation.map((one) => ({
    text: quoted(run, one, most.message).replaceAll("\n", "\n  "),
  }));
  const kept = fitting(texts, texts.toReversed(), ({ text }) => byteLength(text), room);
  const left = conversation.length - kept.length;
  return [...(left > 0 ? [`[${count(left, "comment")} before]`] : []), ...kept.map(({ text }) => text)].join(
    "\n\n",
  );
}

/** Lets a model answer one question, or describe the change, with the reading tools. It can do nothing else. Model errors are values. */
export async function runAnswer(input: AnswerInput, deps: WorkDependencies): Promise<AnswerResult> {
  const { limits } = input;
  const run: AskedRun = await startPlaceRun(input, deps);
  let given: string | null = null;
  const loop = await runLoop(run, {
    loop: "answer",
    role: "review",
    messages: await questionMessages(run),
    outputTools: answeringTools,
    ports: {
      converse: {
        reply(text) {
          given = text;
        },
      },
    },
    turns: limits.turns,
    tokens: limits.tokens,
    milliseconds: run.limits.timeLeft(),
  });
  return {
    text: given ?? plainAnswer(loop),
    ...workResult(run, "review", loop.stopReason),
  };
}

/** Some models answer in plain text instead of calling the tool: the last text after the last tool call is the answer. */
function plainAnswer({ messages }: AgentResult): string | null {
  const read = messages.findLastIndex((one) => one.role === "assistant" && one.toolCalls.length > 0);
  const texts = messages
    .slice(read + 1)
    .flatMap((message) => (message.role === "assistant" ? [withoutThinking(message.content)] : []));
  return texts.findLast((text) => text !== "") ?? null;
}
