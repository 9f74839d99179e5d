import { cutLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import { grammarOf } from "../../../repo/code/languages.ts";
import { isCommonName } from "../../../repo/code/names.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type DiffLine, type FileDiff, type Hunk, hunkOf, shownBytes } from "../../../repo/diff/file-diff.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import type { Workspace } from "../../../repo/git/workspace.ts";
import type { OpenedGraph } from "../../loop/review-run.ts";
import { alikePieces } from "./alike.ts";
import { calleePieces } from "./callees.ts";
import { callerFiles, knownCalls, namesOf, unusedLines, usePieces } from "./callers.ts";
import { type Changed, changedDefinitions, shareOf } from "./changed.ts";
import { memberPieces, namedPieces, valuePieces } from "./declarations.ts";
import { keyPieces, keyWords } from "./keys.ts";
import {
  createRepositoryFiles,
  type LineSpan,
  lookUp,
  MAX_WORDS,
  type RepositoryFiles,
  searchWords,
  type Wanted,
  type WordHits,
} from "./lookup.ts";
import {
  type IsAdded,
  listedLines,
  type Piece,
  renderSelection,
  roomOf,
  type Selection,
  ShownLines,
  selectPieces,
} from "./pieces.ts";
import { baseTypes, bodyPieces, siblingPieces, surroundings } from "./surroundings.ts";

/** Time limit for all lookups. A resumed review begins with the same text only if it was not reached. */
const MILLISECONDS = 15_000;
const LEAST_BYTES = 1_000;

const heading = "# Code around the change";
const explained =
  'Code of the repository outside of the diff, found by name: it may miss code that uses another name. Lines are numbered as in read_file_part ("12|text"; "12+|text" if the change added the line), at head unless a heading says otherwise. The diff below, which holds the changed functions as far as there is room, is not repeated.';

/** The code that shows whether the change is right, as much as fits. */
export interface CodeContext {
  /** The code beyond the changed definitions; empty if there is none. */
  text: string;
  /** Adds the lines of the changed definitions to a file's diff. */
  widen(diff: FileDiff): FileDiff;
}

export interface ContextParts {
  allFiles: readonly ChangedFile[];
  workspace: Workspace;
  diffs: DiffSource;
  isPrivate(path: string): boolean;
  /** Null if the repository has no graph. */
  graph: OpenedGraph | null;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  contextBytes: number;
}

const nothing: CodeContext = { text: "", widen: (diff) => diff };

/** The lines that widen the diffs and the text take at most `contextBytes` together. */
export async function codeContext(
  parts: ContextParts,
  shownDiffs: readonly FileDiff[],
): Promise<CodeContext> {
  const around = shownBytes(`${heading}\n${explained}\n${wrapUntrusted("code", "")}`);
  if (parts.contextBytes < around + LEAST_BYTES) return nothing;
  const { pieces, named } = roomOf(parts.contextBytes - around);
  const shown = linesOf(shownDiffs);
  const { pieces: all, unused, isLarge } = await findPieces(parts, shownDiffs, shown);
  const facts = unused.length === 0 ? "" : `## What nothing uses\n${unused.join("\n")}\n`;
  const selection = selectPieces(all, shown, pieces - shownBytes(facts), isLarge);
  const text = facts + renderSelection(selection, named, await addedLines(parts, shownDiffs, selection));
  return {
    text: text === "" ? "" : `${heading}\n${explained}\n${wrapUntrusted("code", text)}`,
    widen: await widening(parts, selection),
  };
}

async function widening(
  { allFiles, diffs }: ContextParts,
  selection: Selection,
): Promise<CodeContext["widen"]> {
  const listed = new Map<string, (diff: FileDiff) => FileDiff>();
  for (const [path, ranges] of listedLines(selection)) {
    const file = allFiles.find(({ change }) => change.path === path);
    const lines = selection.taken.find((piece) => piece.file.path === path)?.file.lines;
    if (file === undefined || lines === undefined) continue;
    const { hunks } = await diffs.fileDiff(file.change, 3);
    listed.set(path, (diff) => widened(diff, { hunks, lines }, ranges));
  }
  return (diff) => listed.get(diff.path)?.(diff) ?? diff;
}

function linesOf(diffs: readonly FileDiff[]): ShownLines {
  const shown = new ShownLines();
  for (const { path, hunks } of diffs) {
    for (const line of hunks.flatMap((hunk) => hunk.lines))
      if (line.kind !== "removed") shown.add({ path, ref: "head" }, line.newLine);
  }
  return shown;
}

/** The lines of the selection that the change added: their files' diffs are not shown here. */
async function addedLines(
  { allFiles, diffs }: ContextParts,
  shownDiffs: readonly FileDiff[],
  { taken }: Selection,
): Promise<IsAdded> {
  const paths = new Set(taken.map(({ file }) => file.path));
  const unread = allFiles.filter(
    ({ change, reviewable, totalHunks }) =>
      reviewable &&
      totalHunks > 0 &&
      paths.has(change.path) &&
      !shownDiffs.some(({ path }) => path === change.path),
  );
  const all = [...shownDiffs];
  for (const { change } of unread) all.push(await diffs.fileDiff(change, 3));
  const added = new Map(
    all.map(({ path, hunks }) => {
      const lines = hunks.flatMap((hunk) => hunk.lines);
      return [path, new Set(lines.flatMap((line) => (line.kind === "added" ? [line.newLine] : [])))];
    }),
  );
  return ({ path, ref }, line) => ref === "head" && added.get(path)?.has(line) === true;
}

async function findPieces(parts: ContextParts, diffs: readonly FileDiff[], shown: ShownLines) {
  const end = parts.now() + MILLISECONDS;
  const timeLeft = () => end - parts.now();
  const files = createRepositoryFiles(parts.workspace, parts.isPrivate);
  // Tests are read for what they test: what they call and name counts only if nothing else changed.
  const isOfTests = diffs.every(({ path }) => isTestFile(path) || grammarOf(path) === null);
  const changed = await changedDefinitions(diffs, files, isOfTests, timeLeft);
  const code = isOfTests ? changed : changed.filter(({ path }) => !isTestFile(path));
  const names = namesToLookUp(code);
  const hits = await search(parts, names, code, files, timeLeft);
  const paths = [...new Set(code.map(({ path }) => path))];
  const calls = knownCalls(code, parts.graph, files.isReadable);
  const known = callerFiles(code, calls);
  const wanted = { names, mentioned: namesToFollow(code, hits), changedPaths: paths, known };
  const lookup = await lookUp(wanted, hits, files, timeLeft);
  const pieces: Piece[] = [
    ...bodyPieces(changed),
    ...calleePieces(code, lookup),
    ...namedPieces(code, lookup),
    ...memberPieces(code, lookup, shown),
    ...usePieces(code, lookup, shown, calls),
    ...valuePieces(code, lookup),
    ...(await keyPieces(code, hits, files, shown)),
    ...siblingPieces(code, lookup),
    ...(await alikePieces(code, lookup, shown)),
    ...surroundings(code, lookup),
  ];
  return { pieces, unused: unusedLines(code, lookup, hits), isLarge: shareOf(code) < 1 };
}

function search(
  { workspace, signal }: ContextParts,
  names: ReadonlyMap<string, number>,
  changed: readonly Changed[],
  files: RepositoryFiles,
  timeLeft: () => number,
): Promise<WordHits> {
  const keys = [...new Set(changed.flatMap(keyWords))].slice(0, MAX_KEYS);
  const all = [...names.keys()];
  const first = MAX_WORDS - keys.length;
  const words = [...all.slice(0, first), ...keys, ...all.slice(first)];
  // Text that is no code is not searched.
  const wants = (path: string) => files.isReadable(path) && !notSearched.test(path);
  return searchWords(workspace, words, { wants, signal, timeLeft });
}

/** Maximum keys that are searched. In a large change they would all come after hundreds of names. */
const MAX_KEYS = 60;

/** Pages of HTML in a folder of documentation are generated: some projects keep those of every version. */
const notSearched =
  /\.(?:md|mdx|markdown|rst|adoc|txt|csv|tsv|jsonl|svg|lock|map|po|snap|patch|diff)$|(?:^|\/)(?:docs?|javadoc|apidocs|site)\/.*\.html?$/i;

const USED = 3;
const CALLED_ON_CHANGED = 2;
const CALLED = 1;
const LEAST_LETTERS = 3;

function namesToLookUp(changed: readonly Changed[]): Map<string, number> {
  const names = new Map<string, number>();
  // A name that many changed functions call is worth more than a single function.
  const addAll = (some: readonly string[], worth: number) => {
    for (const name of some) names.set(name, worth + (names.get(name) ?? 0));
  };
  const isLong = (name: string) => name.length >= LEAST_LETTERS;
  for (const one of changed) {
    const container = one.after?.definition.container;
    const bases =
      one.after && container ? baseTypes(one.after.file, container, one.after.definition.start) : [];
    addAll(namesOf(one), USED * one.risk);
    addAll([...one.newNames, ...one.newTypes, ...one.setNames].filter(isLong), CALLED_ON_CHANGED * one.risk);
    for (const { name, line } of one.calls)
      addAll([name], (one.added.includes(line) ? CALLED_ON_CHANGED : CALLED) * one.risk);
    addAll(
      one.droppedCalls.map(({ name }) => name),
      CALLED_ON_CHANGED * one.risk,
    );
    addAll(bases.filter(isLong), CALLED * one.risk);
  }
  return new Map([...names].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}

/** Names whose every place is needed, not only their definition: those that the change defines, sets or reads, and those that it no longer calls. */
function namesToFollow(changed: readonly Changed[], hits: WordHits): Wanted["mentioned"] {
  const [anywhere, inCode] = [new Set<string>(), new Set<string>()];
  for (const one of changed) {
    for (const name of namesOf(one)) anywhere.add(name);
    for (const { name } of one.droppedCalls) anywhere.add(name);
    for (const name of [...one.newNames, ...one.setNames]) inCode.add(name);
    for (const { name, line } of one.calls)
      if (one.added.includes(line) && !isCommonName(name) && !hits.isCommon(name)) inCode.add(name);
  }
  return { anywhere, inCode };
}

/** A file of the change, as far as it must be known to show more of it than its hunks. */
interface ListedFile {
  /** All hunks of its `-U3` diff. */
  hunks: readonly Hunk[];
  lines: readonly string[];
}

const SMALL_GAP = 2;
/** Longer lines are data: only their beginning is shown. */
const MAX_LINE_BYTES = 400;

/** Adds the lines of the ranges (line numbers at head) to a diff of all or some hunks of the file, as git would show them. */
export function widened(diff: FileDiff, file: ListedFile, ranges: readonly LineSpan[]): FileDiff {
  if (ranges.length === 0) return diff;
  const rows = rowsOf(file);
  const own = new Set(diff.hunks.flatMap(({ lines }) => lines));
  const kept = keptRows(rows, own, ranges);
  const sections = new Map(file.hunks.map(({ lines, section }) => [lines[0], section]));
  const hunks: Hunk[] = [];
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    if (!row || !kept[at]) continue;
    let end = at + 1;
    while (end < rows.length && kept[end]) end += 1;
    const lines = rows.slice(at, end).map(({ line }) => line);
    // git names the function before a hunk, and that is known only for a beginning that is git's.
    hunks.push(hunkOf(lines, sections.get(row.line) ?? "", { old: row.old, new: row.new }));
    at = end;
  }
  return { ...diff, hunks };
}

interface Row {
  line: DiffLine;
  old: number;
  new: number;
}

function rowsOf({ hunks, lines }: ListedFile): Row[] {
  const rows: Row[] = [];
  const next = { old: 1, new: 1 };
  const fill = (end: number) => {
    while (next.new < end) {
      const text = cutLine(lines[next.new - 1] ?? "", MAX_LINE_BYTES);
      rows.push({ line: { kind: "context", text, oldLine: next.old, newLine: next.new }, ...next });
      next.old += 1;
      next.new += 1;
    }
  };
  for (const hunk of hunks) {
    fill(hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart);
    for (const line of hunk.lines) {
      rows.push({ line, ...next });
      if (line.kind !== "added") next.old += 1;
      if (line.kind !== "removed") next.new += 1;
    }
  }
  fill(lines.length + 1);
  return rows;
}

/** The lines of the diff and of the ranges, what was removed between them, and small gaps. */
function keptRows(rows: readonly Row[], own: ReadonlySet<DiffLine>, ranges: readonly LineSpan[]): boolean[] {
  let range = 0;
  const kept = rows.map(({ line, new: number }) => {
    while ((ranges[range]?.end ?? Number.POSITIVE_INFINITY) < number) range += 1;
    const { start = Number.POSITIVE_INFINITY } = ranges[range] ?? {};
    return own.has(line) || (line.kind !== "removed" && number >= start);
  });
  let last = -1;
  for (let at = 0; at < rows.length; at++) {
    if (!kept[at]) continue;
    const gap = rows.slice(last + 1, at);
    // What an earlier review has read, or what does not fit, is shown between lines that are shown.
    const isWhole = last >= 0 && gap.every(({ line }) => line.kind === "removed");
    const isSmall = last >= 0 && gap.length <= SMALL_GAP && gap.every(({ line }) => line.kind === "context");
    if (isWhole || isSmall) kept.fill(true, last + 1, at);
    last = at;
  }
  return kept;
}
