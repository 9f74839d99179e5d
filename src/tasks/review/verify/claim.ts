import type { Message } from "../../../agent/llm/model.ts";
import type { Finding } from "../../../core/finding.ts";
import { cutAtLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import {
  type DiffLine,
  divideHunk,
  type Hunk,
  renderHunk,
  renderHunks,
  renderLine,
  shorten,
  shownBytes,
} from "../../../repo/diff/file-diff.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import { showPath } from "../../../repo/show.ts";
import type { AnchorFile } from "../../anchor/anchor.ts";
import type { PlaceRun, ReviewRun } from "../../loop/review-run.ts";
import { roomFor } from "../../loop/run-loop.ts";
import { systemPrompt, verifyPrompt } from "../../prompts/prompts.ts";
import { ruleOfClaim } from "../../rules/named-rules.ts";
import type { UnitStart } from "../find/review-units.ts";

/** A line that the change adds. */
interface AddedLine {
  path: string;
  line: number;
  text: string;
}

/** Searches the change for lines with the same structure as a finding's. */
export type SiblingSearch = (
  finding: Pick<Finding, "path" | "side" | "line" | "start_line" | "quote">,
) => Promise<AddedLine[]>;

const MAX_FILES = 500;
const MAX_LINES = 60_000;
const MAX_SIBLINGS = 8;
/** Shorter lines look alike by accident. */
const MIN_PARTS = 6;
const MAX_LINE_LENGTH = 400;

/** Indexes the added lines of the change at the first call. */
export function createSiblingSearch(
  files: readonly ChangedFile[],
  diffs: Pick<DiffSource, "fileDiff">,
): SiblingSearch {
  let index: ReturnType<typeof addedLines> | undefined;
  return async (finding) => {
    const shapes = new Set(finding.quote.split("\n").flatMap((line) => shapeOf(line) ?? []));
    if (shapes.size === 0) return [];
    index ??= addedLines(files, diffs);
    const known = await index;
    const found = [...shapes].flatMap((shape) => known.get(shape) ?? []);
    return found.filter((one) => !isWithin(one, finding)).slice(0, MAX_SIBLINGS);
  };
}

function isWithin(
  one: AddedLine,
  { path, line, start_line, side }: Pick<Finding, "path" | "side" | "line" | "start_line">,
): boolean {
  return side === "RIGHT" && one.path === path && one.line >= (start_line ?? line) && one.line <= line;
}

async function addedLines(
  files: readonly ChangedFile[],
  diffs: Pick<DiffSource, "fileDiff">,
): Promise<Map<string | null, AddedLine[]>> {
  const added: AddedLine[] = [];
  let left = MAX_LINES;
  for (const { change } of files.filter((file) => file.reviewable).slice(0, MAX_FILES)) {
    if (left <= 0) break;
    const { hunks } = await diffs.fileDiff(change, 3);
    const lines = hunks
      .flatMap((hunk) => hunk.lines)
      .filter(isAdded)
      .slice(0, left);
    left -= lines.length;
    for (const { newLine, text } of lines) added.push({ path: change.path, line: newLine, text });
  }
  return Map.groupBy(added, ({ text }) => shapeOf(text));
}

type Added = Extract<DiffLine, { kind: "added" }>;
const isAdded = (line: DiffLine): line is Added => line.kind === "added";

/** The structure of a line: called names and punctuation stay, other names and literals are replaced. Null for short lines. */
export function shapeOf(line: string): string | null {
  if (line.length > MAX_LINE_LENGTH) return null;
  const parts = line.match(/"[^"]*"|'[^']*'|`[^`]*`|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|[^\s\w]/gu) ?? [];
  if (parts.length < MIN_PARTS) return null;
  return parts.map((part, at) => shapeOfPart(part, parts[at + 1])).join(" ");
}

const words = new Set(
  "if else for while return await new not and or in is null None nil true false throw raise".split(" "),
);

function shapeOfPart(part: string, next: string | undefined): string {
  if (/^["'`\d]/.test(part)) return "0";
  if (!/^[\p{L}_$]/u.test(part)) return part;
  return next === "(" || words.has(part) ? part : "x";
}

const MAX_QUOTE_BYTES = 4_000;
const MAX_HUNKS_BYTES = 16_000;
const MAX_LIST_BYTES = 6_000;
const MAX_PURPOSE_BYTES = 4_000;
const MAX_EVIDENCE_LINES = 40;
/** Maximum share of the window for each short section. */
const SHORT_SHARE = 0.04;

/** A finding to verify. */
export interface Claim {
  finding: Finding;
  /** Lines of the change with the same structure. */
  siblings: readonly AddedLine[];
}

/** Bytes of a review's first messages that a verification may begin with: more costs more than it tells. */
const MAX_SHARED_BYTES = 80_000;
const SHARED_SHARE = 0.5;

/**
 * The first messages of the review that reported a finding, for verifications to begin with; null if they are too long for the verifier's
 * window, or for what they tell.
 */
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
  claims: readonly Claim[],
): Promise<Message[]> {
  const findings = claims.map(({ finding }) => finding);
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
    `# ${claims.length === 1 ? "The claim" : `The ${claims.length} claims`}`,
    ...claims.map((claim, at) => claimSection(run, claim, at + 1, listBytes)),
  ];
  return [
    ...before.slice(0, -1),
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

/** The hunks near the findings whose own are not among the shown ones. */
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
          `# What the change says of itself\n${wrapUntrusted("title and description", cut(`${pull.title}\n\n${pull.body}`.trim(), room))}`,
        ]
      : []),
    ...(subjects.length > 0
      ? [`# Its commits\n${wrapUntrusted("commit subjects", cut(subjects.join("\n"), room / 2))}`]
      : []),
  ];
}

function claimSection(
  run: ReviewRun,
  { finding, siblings }: Claim,
  number: number,
  listBytes: number,
): string {
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
    alike(siblings, listBytes),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

/** A line of a changed file, by its path at head. */
type Spot = Pick<Finding, "path" | "side" | "line">;

/**
 * A section with the hunks of a file that are nearest to one of the lines, or parts of long ones, as many as fit, in file order; empty if
 * there are none.
 */
export async function changeAround(run: PlaceRun, spots: readonly Spot[]): Promise<string> {
  const { change, deps } = run;
  const file = change.files.find((one) => one.change.path === spots[0]?.path);
  if (!file?.reviewable) return "";
  const { hunks } = await deps.diffs.fileDiff(file.change, 3);
  let room = roomFor(deps.models.verify, spots.length > 1 ? 2 * MAX_HUNKS_BYTES : MAX_HUNKS_BYTES, 0.15);
  const parts = hunks.flatMap((hunk) => divideHunk(hunk, room / 2, lineBytes));
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

const lineBytes = (line: DiffLine) => shownBytes(renderLine(line)) + 1;

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
  return `# Code that was pointed to\n${wrapUntrusted("code", text)}`;
}

function places({ places: also }: Finding, maxBytes: number): string {
  if (also.length === 0) return "";
  const lines = also.map(({ path, line, quote }) => `${showPath(path)}:${line} ${firstLine(quote)}`);
  return `Where else it is said to be:\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), maxBytes).text)}`;
}

function alike(siblings: readonly AddedLine[], maxBytes: number): string {
  if (siblings.length === 0) return "";
  const lines = siblings.map(({ path, line, text }) => `${showPath(path)}:${line} ${text.trim()}`);
  return `Lines that this change adds and that are built alike; if you confirm, look whether they have the same fault:\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), maxBytes).text)}`;
}

const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";
