import type { Message } from "../../../agent/llm/model.ts";
import type { Finding } from "../../../core/finding.ts";
import { cutAtLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import {
  divideHunk,
  type Hunk,
  renderHunk,
  renderHunks,
  renderLine,
  shorten,
  shownBytes,
} from "../../../repo/diff/file-diff.ts";
import { showPath } from "../../../repo/show.ts";
import type { AnchorFile } from "../../anchor/anchor.ts";
import type { PlaceRun, ReviewRun } from "../../loop/review-run.ts";
import { roomFor } from "../../loop/run-loop.ts";
import { systemPrompt, verifyPrompt } from "../../prompts/prompts.ts";
import { ruleOfClaim } from "../../rules/named-rules.ts";
import type { UnitStart } from "../find/review-units.ts";

const MAX_QUOTE_BYTES = 4_000;
const MAX_HUNKS_BYTES = 16_000;
const MAX_LIST_BYTES = 6_000;
const MAX_PURPOSE_BYTES = 4_000;
const MAX_EVIDENCE_LINES = 40;
const SHORT_SHARE = 0.04;

/** Bytes of a review's first messages that a verification may begin with: more costs more than it tells. */
const MAX_SHARED_BYTES = 80_000;
const SHARED_SHARE = 0.5;

/** Null if a review's first messages are too long for verifications to begin with. */
export function sharedStart({ deps: { models } }: ReviewRun, start: UnitStart): UnitStart | null {
  const bytes = start.messages.reduce((sum, { content }) => sum + shownBytes(content), 0);
  return bytes <= roomFor(models.verify, MAX_SHARED_BYTES, SHARED_SHARE) ? start : null;
}

/**
 * The first messages of a verification. They begin exactly as the review that reported the findings, so that the provider has them cached,
 * and end with the claims, each in one sentence with its location. Of the reviewer's text only the title is shown, because a convincing
 * explanation would bias the verifier.
 *
 * @param start the messages of that review; null to show only the purpose of the change, and the hunks near the claims
 */
export async function claimMessages(
  run: ReviewRun,
  start: UnitStart | null,
  findings: readonly Finding[],
): Promise<Message[]> {
  const listBytes = roomFor(run.deps.models.verify, MAX_LIST_BYTES, SHORT_SHARE);
  const before: readonly Message[] = start?.messages ?? [
    { role: "system", content: systemPrompt },
    { role: "user", content: [task(run), ...purpose(run)].join("\n\n") },
  ];
  const hunks = await unshownHunks(run, start?.shown ?? [], findings);
  const shown = [...before.map(({ content }) => content), ...hunks].join("\n");
  const sections = [
    before.at(-1)?.content ?? "",
    verifyPrompt,
    ...hunks,
    await evidenceCode(run, findings, shown, listBytes),
    `# ${findings.length === 1 ? "The claim" : `The ${findings.length} claims`}`,
    ...findings.map((finding, at) => claimSection(run, finding, at + 1, listBytes)),
  ];
  return [
    ...before.slice(0, -1),
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

async function unshownHunks(
  run: ReviewRun,
  shown: UnitStart["shown"],
  findings: readonly Finding[],
): Promise<string[]> {
  const sections: string[] = [];
  for (const [path, ofFile] of Map.groupBy(findings, (finding) => finding.path)) {
    const known = new Set(shown.filter((one) => one.path === path).map(({ hunk }) => hunk));
    const unknown: Finding[] = [];
    for (const finding of ofFile) if (!known.has(await hunkNearest(run, finding))) unknown.push(finding);
    if (unknown.length > 0) sections.push(await changeAround(run, unknown));
  }
  return sections.filter((section) => section !== "");
}

/** The number of the hunk nearest to a line, from 1; 0 if the file has none. */
async function hunkNearest({ change, deps }: PlaceRun, spot: Spot): Promise<number> {
  const file = change.files.find((one) => one.change.path === spot.path);
  if (!file?.reviewable) return 0;
  const { hunks } = await deps.diffs.fileDiff(file.change, 3);
  const distances = hunks.map((hunk) => distanceTo(hunk, spot));
  return distances.indexOf(Math.min(...distances)) + 1;
}

function task({ input, deps }: ReviewRun): string {
  const { mergeBase, head } = deps.workspace.shas;
  return `Check claims about the change from merge base ${mergeBase.slice(0, 12)} to head ${head.slice(0, 12)}, to be merged into \`${input.targetBranch.replaceAll("`", "'")}\`.`;
}

/** What the change says of itself: whether something is on purpose is otherwise the first question. */
function purpose({ input: { pull }, change, deps }: ReviewRun): string[] {
  const room = roomFor(deps.models.verify, MAX_PURPOSE_BYTES, SHORT_SHARE);
  const cut = (text: string, maxBytes: number) => cutAtLine(text.replaceAll("\r\n", "\n"), maxBytes).text;
  const subjects = change.commits
    .map(({ message }) => firstLine(message))
    .filter((subject) => subject !== "");
  return [
    ...(pull
      ? [
          `# What the change says about itself\n${wrapUntrusted("title and description", cut(`${pull.title}\n\n${pull.body}`.trim(), room))}`,
        ]
      : []),
    ...(subjects.length > 0
      ? [`# Its commits\n${wrapUntrusted("commit subjects", cut(subjects.join("\n"), room / 2))}`]
      : []),
  ];
}

function claimSection(run: ReviewRun, finding: Finding, number: number, listBytes: number): string {
  const { title, category, path, side, line, start_line, quote } = finding;
  const lines = start_line === null ? `line ${line}` : `lines ${start_line} to ${line}`;
  const where = side === "RIGHT" ? "at head" : "of the merge base, removed by the change";
  const code = cutAtLine(quote, roomFor(run.deps.models.verify, MAX_QUOTE_BYTES, SHORT_SHARE)).text;
  return [
    `## Claim ${number}`,
    wrapUntrusted("claim", `${title} (${category})`),
    ruleOfClaim(run.change.rules, finding.rule),
    wrapUntrusted("code", `Place: ${showPath(path)}, ${lines} ${where}:\n${code}`),
    places(finding, listBytes),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

type Spot = Pick<Finding, "path" | "side" | "line">;

/** The hunks of a file that are nearest to one of the lines, or parts of long ones, as many as fit, in file order. */
export async function changeAround(run: PlaceRun, spots: readonly Spot[]): Promise<string> {
  const { change, deps } = run;
  const file = change.files.find((one) => one.change.path === spots[0]?.path);
  if (!file?.reviewable) return "";
  const { hunks } = await deps.diffs.fileDiff(file.change, 3);
  let room = roomFor(deps.models.verify, spots.length > 1 ? 2 * MAX_HUNKS_BYTES : MAX_HUNKS_BYTES, 0.15);
  const parts = hunks.flatMap((hunk) =>
    divideHunk(hunk, room / 2, (line) => shownBytes(renderLine(line)) + 1),
  );
  const near = new Set<Hunk>();
  const distance = (part: Hunk) => Math.min(...spots.map((spot) => distanceTo(part, spot)));
  for (const part of parts.toSorted((a, b) => distance(a) - distance(b))) {
    room -= shownBytes(renderHunk(part));
    if (room < 0) break;
    near.add(part);
  }
  if (near.size === 0) return "";
  const some = near.size < parts.length ? ` (${near.size} of ${parts.length} parts)` : "";
  const diff = renderHunks(parts.filter((part) => near.has(part)));
  const text = wrapUntrusted("diff", `## ${showPath(file.change.path)}\n${diff}`);
  return `# What the change does there${some}\n${text}`;
}

/** Lines between a hunk and a line; 0 inside of the hunk. */
function distanceTo(hunk: Hunk, { side, line }: Spot): number {
  const [start, lines] = side === "RIGHT" ? [hunk.newStart, hunk.newLines] : [hunk.oldStart, hunk.oldLines];
  return Math.max(0, start - line, line - (start + lines - 1));
}

/** A file that a model may see. Either path of a renamed file withholds the lines of both. */
export async function publicFile(
  { change: { anchorFile }, deps: { isPrivate } }: PlaceRun,
  path: string,
): Promise<AnchorFile | undefined> {
  const file = isPrivate(path) ? undefined : await anchorFile(path);
  return file?.paths.some(isPrivate) ? undefined : file;
}

/** The code that the evidence names and that is not shown before, without the reviewer's notes. */
async function evidenceCode(
  run: ReviewRun,
  findings: readonly Finding[],
  shown: string,
  maxBytes: number,
): Promise<string> {
  const blocks: string[] = [];
  for (const { path, start_line, end_line } of findings.flatMap(({ evidence }) => evidence)) {
    const lines = (await publicFile(run, path))?.lines.RIGHT;
    if (!lines) continue;
    const end = Math.min(end_line, start_line + MAX_EVIDENCE_LINES - 1, lines.length);
    const code = lines.slice(start_line - 1, end).map((text, at) => `${start_line + at}|${shorten(text)}`);
    const isShown = lines.slice(start_line - 1, end).every((text) => shown.includes(text.trim()));
    if (!isShown) blocks.push(`### ${showPath(path)}:${start_line}-${end}\n${code.join("\n")}`);
  }
  if (blocks.length === 0) return "";
  const { text } = cutAtLine([...new Set(blocks)].join("\n"), maxBytes);
  return `# Code that the claim names\n${wrapUntrusted("code", text)}`;
}

function places({ places: also }: Finding, maxBytes: number): string {
  if (also.length === 0) return "";
  const lines = also.map(({ path, line, quote }) => `${showPath(path)}:${line} ${firstLine(quote)}`);
  return `Other places that the claim names:\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), maxBytes).text)}`;
}

const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";
