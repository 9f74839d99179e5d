import type { Hunk } from "../../diff/file-diff.ts";
import { renderHunk } from "../../diff/render.ts";
import type { Finding } from "../../finding.ts";
import type { Message } from "../../llm/model.ts";
import { byteLength, cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import { verifyPrompt } from "../prompts/prompts.ts";
import type { ReviewRun } from "../review-run.ts";
import type { AddedLine } from "./siblings.ts";

const MAX_QUOTE_BYTES = 4_000;
const MAX_HUNKS_BYTES = 16_000;
const MAX_LIST_BYTES = 6_000;

/**
 * What a second look begins with: the claim in one sentence, its place, and the change around it. Of what the reviewer wrote
 * only the title is in it: reasons that sound good make others agree.
 */
export async function claimMessages(
  run: ReviewRun,
  finding: Finding,
  siblings: readonly AddedLine[],
): Promise<Message[]> {
  const sections = [claim(run, finding), await changeAround(run, finding), places(finding), alike(siblings)];
  return [
    { role: "system", content: verifyPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

function claim(
  { input, deps }: ReviewRun,
  { title, category, path, side, line, start_line, quote }: Finding,
): string {
  const { mergeBase, head } = deps.workspace.shas;
  const lines = start_line === null ? `line ${line}` : `lines ${start_line} to ${line}`;
  const where = side === "RIGHT" ? "at head" : "of the merge base, removed by the change";
  const code = cutAtLine(quote, MAX_QUOTE_BYTES).text;
  return [
    `# The claim`,
    `It is about the change from merge base ${mergeBase.slice(0, 12)} to head ${head.slice(0, 12)}, to be merged into \`${input.targetBranch.replaceAll("`", "'")}\`.`,
    wrapUntrusted("claim", `${title} (${category})`),
    `Place: ${showPath(path)}, ${lines} ${where}:`,
    wrapUntrusted("code", code),
  ].join("\n");
}

/** Hunks of the file, those nearest to the place first, as far as there is room; shown in their order. */
async function changeAround({ files, deps }: ReviewRun, finding: Finding): Promise<string> {
  const file = files.find(({ change }) => change.path === finding.path);
  if (!file?.reviewable) return "";
  const { hunks } = await deps.diffs.fileDiff(file.change, 3);
  const distance = (hunk: Hunk) => {
    const start = finding.side === "RIGHT" ? hunk.newStart : hunk.oldStart;
    return Math.abs(start - finding.line);
  };
  const shown = new Set<Hunk>();
  let room = MAX_HUNKS_BYTES;
  for (const hunk of hunks.toSorted((a, b) => distance(a) - distance(b))) {
    room -= byteLength(renderHunk(hunk));
    if (room < 0) break;
    shown.add(hunk);
  }
  if (shown.size === 0) return "";
  const text = hunks
    .filter((hunk) => shown.has(hunk))
    .map(renderHunk)
    .join("\n");
  const part = shown.size < hunks.length ? ` (${shown.size} of ${hunks.length} hunks)` : "";
  return `# What the change does to this file${part}\n${wrapUntrusted("diff", text)}`;
}

function places({ places: also }: Finding): string {
  if (also.length === 0) return "";
  const lines = also.map(({ path, line, quote }) => `${showPath(path)}:${line} ${firstLine(quote)}`);
  return `# Where else it is said to be\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), MAX_LIST_BYTES).text)}`;
}

function alike(siblings: readonly AddedLine[]): string {
  if (siblings.length === 0) return "";
  const lines = siblings.map(({ path, line, text }) => `${showPath(path)}:${line} ${text.trim()}`);
  return `# Lines that this change adds and that are built alike\nIf you confirm, look whether they have the same fault.\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), MAX_LIST_BYTES).text)}`;
}

const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";
