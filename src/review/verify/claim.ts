import type { FileDiff, Hunk } from "../../diff/file-diff.ts";
import { renderHunk } from "../../diff/render.ts";
import type { Finding } from "../../finding.ts";
import type { Message } from "../../llm/model.ts";
import { byteLength, cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import { codeContext } from "../context/code-context.ts";
import { verifyPrompt } from "../prompts/prompts.ts";
import type { ReviewRun } from "../review-run.ts";
import type { AddedLine } from "./siblings.ts";

const MAX_QUOTE_BYTES = 4_000;
const MAX_HUNKS_BYTES = 16_000;
const MAX_CONTEXT_BYTES = 20_000;
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
  const { text, shown } = await changeAround(run, finding);
  const sections = [
    claim(run, finding),
    text,
    await codeAround(run, finding, shown),
    places(finding),
    alike(siblings),
  ];
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

interface ChangeAround {
  text: string;
  /** The file's diff where all of it is shown. */
  shown: readonly FileDiff[];
}

/** Hunks of the file, those nearest to the place first, as far as there is room; shown in their order. */
async function changeAround({ files, deps }: ReviewRun, finding: Finding): Promise<ChangeAround> {
  const file = files.find(({ change }) => change.path === finding.path);
  if (!file?.reviewable) return { text: "", shown: [] };
  const diff = await deps.diffs.fileDiff(file.change, 3);
  const { hunks } = diff;
  const distance = (hunk: Hunk) => {
    const start = finding.side === "RIGHT" ? hunk.newStart : hunk.oldStart;
    return Math.abs(start - finding.line);
  };
  const near = new Set<Hunk>();
  let room = MAX_HUNKS_BYTES;
  for (const hunk of hunks.toSorted((a, b) => distance(a) - distance(b))) {
    room -= byteLength(renderHunk(hunk));
    if (room < 0) break;
    near.add(hunk);
  }
  if (near.size === 0) return { text: "", shown: [] };
  const rendered = hunks.filter((hunk) => near.has(hunk)).map(renderHunk);
  const part = near.size < hunks.length ? ` (${near.size} of ${hunks.length} hunks)` : "";
  const text = `# What the change does to this file${part}\n${wrapUntrusted("diff", rendered.join("\n"))}`;
  return { text, shown: near.size === hunks.length ? [diff] : [] };
}

/** What the reviewer was shown around the change, for this file alone. */
function codeAround(run: ReviewRun, { path }: Finding, shown: readonly FileDiff[]): Promise<string> {
  const { workspace, diffs, isPrivate, signal, now } = run.deps;
  return codeContext(
    {
      ...{ workspace, diffs, isPrivate, signal, now },
      input: run.input,
      shas: workspace.shas,
      allFiles: run.files,
      files: run.files.filter(({ change }) => change.path === path),
      commits: [],
      candidates: [],
      coverage: { serve: () => {} },
      diffBytes: MAX_HUNKS_BYTES,
      contextBytes: MAX_CONTEXT_BYTES,
      focus: null,
    },
    shown,
  );
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
