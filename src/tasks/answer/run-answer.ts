import { type Message, withoutThinking } from "../../agent/llm/model.ts";
import type { AgentResult } from "../../agent/loop/run-agent.ts";
import { answeringTools } from "../../agent/tools/index.ts";
import { byteLength, cutAtLine } from "../../core/text/cut.ts";
import { wrapUntrusted } from "../../core/text/fence.ts";
import { type Hunk, renderHunk, renderHunks, shorten, shownBytes } from "../../repo/diff/file-diff.ts";
import { count, showPath } from "../../repo/show.ts";
import type { AnchorFile } from "../anchor/anchor.ts";
import { type PlaceRun, startPlaceRun, type WorkDependencies } from "../loop/review-run.ts";
import { openingMessages, roomFor, runLoop, workResult } from "../loop/run-loop.ts";
import { answerPrompt, describePrompt } from "../prompts/prompts.ts";
import type { AnswerInput, AnswerResult, AskedThread, ThreadMessage } from "./answer-input.ts";

const most = { body: 8_000, question: 8_000, finding: 6_000, said: 2_000, conversation: 16_000 };
const MAX_LIST_BYTES = 8_000;
const MAX_DIFF_BYTES = 40_000;
const MAX_CODE_BYTES = 12_000;
/** Maximum shares of the window for each short text, and for the diff. */
const SHORT_SHARE = 0.05;
const DIFF_SHARE = 0.25;
/** Lines shown before and after a finding. */
const AROUND = 40;

const WITHHELD =
  "# The thread\nIt is about a file that the configuration withholds: neither the file nor what was said of it is shown.";

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
    `# Pull request ${pull.number}\n${wrapUntrusted("title and description", `${pull.title}\n\n${cut(run, pull.body, most.body)}`)}`,
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
    : `Where the question's own language is in doubt, answer in ${language}.`;
}

function asked(run: AskedRun): string {
  const { question, thread } = run.input;
  const where = thread === null ? "in the conversation of the pull request" : "in this thread";
  const text = wrapUntrusted("question", said(run, question, most.question));
  return `# The question, asked ${where}\n${text}`;
}

function changedFiles({ change: { files }, deps }: AskedRun): string {
  const shown = files.filter(({ change }) => !deps.isPrivate(change.path));
  const lines = shown.map(({ change, skipReason }) => {
    const size = `+${change.additions ?? "?"} -${change.deletions ?? "?"}`;
    return `${showPath(change.path)}  ${size}${skipReason === null ? "" : `  not reviewed: ${skipReason}`}`;
  });
  const { text, omittedLines } = cutAtLine(
    lines.join("\n"),
    roomFor(deps.models.review, MAX_LIST_BYTES, SHORT_SHARE),
  );
  const more = omittedLines > 0 ? `\n${count(omittedLines, "more file")}: see changed_files.` : "";
  return `# Changed files (${shown.length})\n${wrapUntrusted("changed files", text)}${more}`;
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

/** Diffs of as many whole files as fit, in the order of the change. */
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
    ...(rest > 0 ? [`Not shown here, to be read with diff_file: ${count(rest, "file")}.`] : []),
  ].join("\n");
}

async function threadSections(run: AskedRun, thread: AskedThread): Promise<string[]> {
  const { path, side, line, original_line, finding, conversation } = thread;
  const file = await run.change.anchorFile(path);
  // Both paths of a renamed file must be public; the conversation quotes its lines.
  if ([path, ...(file?.paths ?? [])].some(run.deps.isPrivate)) return [WITHHELD];
  const place = line ?? original_line;
  const where = `${showPath(path)}${place === null ? "" : `:${place}${side === "LEFT" ? " (removed)" : ""}`}`;
  return [
    ...(file === undefined ? [] : [diffNear(run, file, thread), codeAround(run, file, thread)]),
    `# Our finding\n${fateOf(thread, file)}\n${wrapUntrusted("our finding", `${where}\n${cut(run, finding, most.finding)}`)}`,
    conversation.length === 0
      ? ""
      : `# What was said in the thread since
${wrapUntrusted("conversation", latest(run, conversation))}`,
  ];
}

function fateOf({ line, original_line }: AskedThread, file: AnchorFile | undefined): string {
  if (file === undefined)
    return "Posted on a file that is not among those at head any more; it may go by another name.";
  if (original_line === null && line === null) return "Posted on the file as a whole.";
  return line === null
    ? "Posted on code that has changed since; its line is that of then."
    : "Posted on code that stands as it was.";
}

/** As many of the file's hunks near the location as fit, in file order. */
function diffNear({ deps: { models } }: AskedRun, { hunks }: AnchorFile, thread: AskedThread): string {
  const at = thread.line ?? thread.original_line ?? 1;
  const distance = ({ newStart, oldStart }: Hunk) =>
    Math.abs((thread.side === "RIGHT" ? newStart : oldStart) - at);
  const nearFirst = hunks.toSorted((a, b) => distance(a) - distance(b));
  const room = roomFor(models.review, MAX_CODE_BYTES, 0.1);
  const near = fitting(hunks, nearFirst, (hunk) => shownBytes(renderHunk(hunk)), room);
  if (near.length === 0) return "";
  const some = near.length < hunks.length ? ` (${near.length} of ${hunks.length} hunks)` : "";
  return `# What the change does to this file${some}\n${wrapUntrusted("diff", near.map(renderHunk).join("\n"))}`;
}

function codeAround({ deps: { models } }: AskedRun, file: AnchorFile, thread: AskedThread): string {
  const place = thread.line ?? thread.original_line;
  const lines = file.lines[thread.side];
  if (place === null || lines === null) return "";
  const start = Math.max(1, Math.min(place, lines.length) - AROUND);
  const code = lines
    .slice(start - 1, place + AROUND)
    .map((text, at) => `${start + at}|${shorten(text)}`)
    .join("\n");
  const { text } = cutAtLine(code, roomFor(models.review, MAX_CODE_BYTES, 0.1));
  return `# ${aroundWhat(thread, place)}\n${wrapUntrusted(`code of ${showPath(file.path)}`, text)}`;
}

function aroundWhat({ side, line }: AskedThread, place: number): string {
  if (side === "LEFT") return "The code around it before the change, at the merge base";
  if (line !== null) return "The code around it now, at head";
  return `The code around line ${place} now, at head; what the finding is about may stand elsewhere`;
}

const said = (run: AskedRun, { by, body }: ThreadMessage, maxBytes: number) =>
  `${by} wrote:\n${cut(run, body, maxBytes)}`;

function cut({ deps: { models } }: AskedRun, text: string, maxBytes: number): string {
  const unix = text.replaceAll("\r\n", "\n");
  const { text: kept, omittedLines } = cutAtLine(unix, roomFor(models.review, maxBytes, SHORT_SHARE));
  return omittedLines > 0 ? `${kept}\n[${count(omittedLines, "more line")}]` : kept;
}

/** The end of a conversation, as much as fits. */
function latest(run: AskedRun, conversation: readonly ThreadMessage[]): string {
  const room = roomFor(run.deps.models.review, most.conversation, SHORT_SHARE * 2);
  // Indented, so that a comment cannot forge another one.
  const texts = conversation.map((one) => ({ text: said(run, one, most.said).replaceAll("\n", "\n  ") }));
  const kept = fitting(texts, texts.toReversed(), ({ text }) => byteLength(text), room);
  const left = conversation.length - kept.length;
  return [...(left > 0 ? [`[${count(left, "comment")} before]`] : []), ...kept.map(({ text }) => text)].join(
    "\n\n",
  );
}

/** Names its loop in a trajectory. */
const LOOP = "answer";

/** Lets a model answer one question, or describe the change, with the reading tools. It can do nothing else. Model errors are values. */
export async function runAnswer(input: AnswerInput, deps: WorkDependencies): Promise<AnswerResult> {
  const { limits } = input;
  const run: AskedRun = await startPlaceRun(input, deps);
  let given: string | null = null;
  const loop = await runLoop(run, {
    loop: LOOP,
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
