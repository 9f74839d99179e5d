import {
  type DiffLine,
  divideHunk,
  type FileDiff,
  type Hunk,
  renderHunk,
  renderLine,
  shorten,
  shownBytes,
} from "../../diff/file-diff.ts";
import type { Finding } from "../../finding.ts";
import type { Message } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import { codeContext } from "../context/code-context.ts";
import { verifyPrompt } from "../prompts/prompts.ts";
import type { ReviewRun } from "../review-run.ts";
import type { PlaceRun } from "../run-loop.ts";
import { roomFor } from "../window.ts";
import type { AddedLine } from "./siblings.ts";

const MAX_QUOTE_BYTES = 4_000;
const MAX_HUNKS_BYTES = 16_000;
const MAX_CONTEXT_BYTES = 20_000;
const MAX_LIST_BYTES = 6_000;
const MAX_EVIDENCE_LINES = 40;
/** Hunks farther away belong to something else most of the time. */
const NEAR_LINES = 60;
/** Each of the short sections may take this part of a small window. */
const SHORT_SHARE = 0.04;

/**
 * What a second look begins with: the claim in one sentence, its place, and the change around it. Of what the reviewer wrote
 * only the title is in it: reasons that sound good make others agree.
 */
export async function claimMessages(
  run: ReviewRun,
  finding: Finding,
  siblings: readonly AddedLine[],
): Promise<Message[]> {
  const { text, near } = await changeAround(run, finding);
  const listBytes = roomFor(run.models.verify, MAX_LIST_BYTES, SHORT_SHARE);
  // The claim stands last: claims about one place begin alike, and a provider's cache holds what they share.
  const sections = [
    await codeAround(run, finding, near),
    text,
    await evidenceCode(run, finding, listBytes),
    alike(siblings, listBytes),
    claim(run, finding),
    places(finding, listBytes),
  ];
  return [
    { role: "system", content: verifyPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

function claim(
  { input, deps, models }: ReviewRun,
  { title, category, path, side, line, start_line, quote }: Finding,
): string {
  const { mergeBase, head } = deps.workspace.shas;
  const lines = start_line === null ? `line ${line}` : `lines ${start_line} to ${line}`;
  const where = side === "RIGHT" ? "at head" : "of the merge base, removed by the change";
  const code = cutAtLine(quote, roomFor(models.verify, MAX_QUOTE_BYTES, SHORT_SHARE)).text;
  return [
    `# The claim`,
    `It is about the change from merge base ${mergeBase.slice(0, 12)} to head ${head.slice(0, 12)}, to be merged into \`${input.targetBranch.replaceAll("`", "'")}\`.`,
    wrapUntrusted("claim", `${title} (${category})`),
    `Place: ${showPath(path)}, ${lines} ${where}:`,
    wrapUntrusted("code", code),
  ].join("\n");
}

export interface ChangeAround {
  text: string;
  /** The file's diff as far as it is near the place. */
  near: readonly FileDiff[];
}

/** A line of a changed file, by its path at head. */
type Spot = Pick<Finding, "path" | "side" | "line">;

/** Hunks of the file, or parts of long ones, those nearest to the place first, as far as there is room; shown in their order. */
export async function changeAround(run: PlaceRun, finding: Spot): Promise<ChangeAround> {
  const { files, deps, models } = run;
  const file = files.find(({ change }) => change.path === finding.path);
  if (!file?.reviewable) return { text: "", near: [] };
  const diff = await deps.diffs.fileDiff(file.change, 3);
  let room = roomFor(models.verify, MAX_HUNKS_BYTES, 0.15);
  const parts = diff.hunks.flatMap((hunk) => divideHunk(hunk, room / 2, lineBytes));
  const near = new Set<Hunk>();
  for (const part of parts.toSorted((a, b) => distance(a, finding) - distance(b, finding))) {
    room -= shownBytes(renderHunk(part));
    if (room < 0) break;
    near.add(part);
  }
  if (near.size === 0) return { text: "", near: [] };
  const rendered = parts.filter((part) => near.has(part)).map(renderHunk);
  const some = near.size < parts.length ? ` (${near.size} of ${parts.length} parts)` : "";
  const text = `# What the change does to this file${some}\n${wrapUntrusted("diff", rendered.join("\n"))}`;
  const hunks = parts.filter((part) => near.has(part) && distance(part, finding) <= NEAR_LINES);
  return { text, near: [{ ...diff, hunks }] };
}

const lineBytes = (line: DiffLine) => shownBytes(renderLine(line)) + 1;

/** Lines between a hunk and a finding; 0 where the finding stands in it. */
function distance(hunk: Hunk, { side, line }: Spot): number {
  const [start, lines] = side === "RIGHT" ? [hunk.newStart, hunk.newLines] : [hunk.oldStart, hunk.oldLines];
  return Math.max(0, start - line, line - (start + lines - 1));
}

/** The code around what the change does near the place, as the reviewer was shown it around the whole. */
function codeAround(run: ReviewRun, { path }: Finding, near: readonly FileDiff[]): Promise<string> {
  const { workspace, diffs, isPrivate, signal, now } = run.deps;
  return codeContext(
    {
      ...{ workspace, diffs, isPrivate, signal, now },
      input: run.input,
      shas: workspace.shas,
      allFiles: run.files,
      files: run.files.filter(({ change }) => change.path === path),
      graph: run.graph,
      commits: [],
      coverage: { serve: () => {} },
      diffBytes: MAX_HUNKS_BYTES,
      contextBytes: roomFor(run.models.verify, MAX_CONTEXT_BYTES, 0.15),
    },
    near,
  );
}

/** The code that was named as evidence, without what was said of it. */
async function evidenceCode(run: ReviewRun, finding: Finding, maxBytes: number): Promise<string> {
  const blocks: string[] = [];
  for (const { path, start_line, end_line } of finding.evidence) {
    const file = run.deps.isPrivate(path) ? undefined : await run.anchorFile(path);
    const lines = file?.paths.some(run.deps.isPrivate) ? undefined : file?.lines.RIGHT;
    if (!lines) continue;
    const end = Math.min(end_line, start_line + MAX_EVIDENCE_LINES - 1, lines.length);
    const code = lines.slice(start_line - 1, end).map((text, at) => `${start_line + at}|${shorten(text)}`);
    if (code.length > 0) blocks.push(`### ${showPath(path)}:${start_line}-${end}\n${code.join("\n")}`);
  }
  if (blocks.length === 0) return "";
  const { text } = cutAtLine([...new Set(blocks)].join("\n"), maxBytes);
  return `# Code that was pointed to\n${wrapUntrusted("code", text)}`;
}

function places({ places: also }: Finding, maxBytes: number): string {
  if (also.length === 0) return "";
  const lines = also.map(({ path, line, quote }) => `${showPath(path)}:${line} ${firstLine(quote)}`);
  return `# Where else it is said to be\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), maxBytes).text)}`;
}

function alike(siblings: readonly AddedLine[], maxBytes: number): string {
  if (siblings.length === 0) return "";
  const lines = siblings.map(({ path, line, text }) => `${showPath(path)}:${line} ${text.trim()}`);
  return `# Lines that this change adds and that are built alike\nIf you confirm, look whether they have the same fault.\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), maxBytes).text)}`;
}

const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";
