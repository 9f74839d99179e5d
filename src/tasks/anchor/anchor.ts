import { LRUCache } from "lru-cache";
import type { ReportedFinding } from "../../agent/tools/tool.ts";
import { AppError } from "../../core/errors.ts";
import type { Side } from "../../core/finding.ts";
import { cutBytes, splitLines } from "../../core/text/cut.ts";
import {
  createLineIndex,
  type FileDiff,
  type Hunk,
  isHiddenForSize,
  lineAtHead,
} from "../../repo/diff/file-diff.ts";
import type { DiffSource } from "../../repo/diff-source.ts";
import type { Change, FileText, Ref, Workspace } from "../../repo/git/workspace.ts";
import { showPath } from "../../repo/show.ts";
import {
  confirms,
  findQuote,
  findShownQuote,
  type LineRange,
  quoteLines,
  showNearLines,
  undecorated,
  within,
} from "./quote.ts";

/** A file with both sides of the change. */
export interface AnchorFile {
  path: string;
  /** Every path of `lines`: a renamed file has two. */
  paths: readonly string[];
  /** False for an unchanged file: it cannot have a comment. */
  inChange: boolean;
  /** Why no line of a changed file can have a comment; null if the lines of its hunks can. */
  hidden: string | null;
  lines: Record<Side, readonly string[] | null>;
  /** Its `-U3` hunks; empty if they could not be read. */
  hunks: readonly Hunk[];
  /** Number of the hunk that shows a line; undefined outside of hunks, and if GitHub shows no diff. */
  hunkAt(side: Side, line: number): number | undefined;
  isRemoved(oldLine: number): boolean;
}

/** Size of the cache, in lines of files. */
const KEPT_LINES = 400_000;
/** Longer lines count as several. */
const CHARACTERS_A_LINE = 100;

const TOO_LARGE = "GitHub shows no diff of this file, because it is too large";
const UNREADABLE = "the diff of this file could not be read";

/** Reads files for anchoring, by their path at the head or at the merge base. Recent ones are cached, failures are not. */
export function createAnchorFiles(
  workspace: Pick<Workspace, "changes" | "tree" | "readBlob">,
  diffs: Pick<DiffSource, "fileDiff">,
  keptLines = KEPT_LINES,
): (path: string) => Promise<AnchorFile | undefined> {
  const kept = new LRUCache<string, AnchorFile>({ maxSize: keptLines });
  const reading = new Map<string, Promise<AnchorFile | undefined>>();

  async function load(path: string): Promise<AnchorFile | undefined> {
    const changes = await workspace.changes();
    const change = changes.find((one) => one.path === path) ?? changes.find((one) => one.oldPath === path);
    const file = await (change ? changedFile(change) : unchangedFile(path));
    if (file && file.hidden !== UNREADABLE) kept.set(path, file, { size: sizeOf(file) });
    return file;
  }

  async function changedFile(change: Change): Promise<AnchorFile> {
    const { path, oldPath } = change;
    const [right, left, diff] = await Promise.all([
      textAt("head", path),
      textAt("merge_base", oldPath ?? path),
      diffs.fileDiff(change, 3).catch(reasonOf),
    ]);
    const encoding = [right, left].some((file) => file?.encoding === "latin1") ? "latin1" : "utf8";
    const paths = oldPath === null ? [path] : [path, oldPath];
    const lines = { RIGHT: linesOf(right), LEFT: linesOf(left) };
    return { path, paths, inChange: true, lines, ...placesIn(diff, encoding) };
  }

  async function unchangedFile(path: string): Promise<AnchorFile | undefined> {
    const RIGHT = linesOf(await textAt("head", path));
    if (!RIGHT) return undefined;
    return { path, paths: [path], inChange: false, lines: { RIGHT, LEFT: null }, ...nowhere };
  }

  async function textAt(ref: Ref, path: string): Promise<FileText | null> {
    const entry = (await workspace.tree(ref)).get(path);
    if (!entry || entry.mode === "160000") return null;
    const file = await workspace.readBlob(entry.oid).catch(() => null);
    return file?.binary ? null : file;
  }

  return async (path) => {
    const known = kept.get(path) ?? reading.get(path);
    if (known !== undefined) return known;
    const file = load(path).finally(() => reading.delete(path));
    reading.set(path, file);
    return file;
  };
}

const linesOf = (file: FileText | null) => file && splitLines(file.text);

/** Size in lines: both sides and the diff. */
function sizeOf({ lines, hunks }: AnchorFile): number {
  const cost = (all: readonly string[]) =>
    Math.max(all.length, all.reduce((sum, line) => sum + line.length, 0) / CHARACTERS_A_LINE);
  const shown = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  return Math.ceil(cost(lines.RIGHT ?? []) + cost(lines.LEFT ?? [])) + shown + 1;
}

const reasonOf = (error: unknown) =>
  error instanceof AppError && error.code === "too_large" ? TOO_LARGE : UNREADABLE;

type Places = Pick<AnchorFile, "hidden" | "hunks" | "hunkAt" | "isRemoved">;

const nowhere: Places = { hidden: null, hunks: [], hunkAt: () => undefined, isRemoved: () => false };

function placesIn(diff: FileDiff | string, encoding: FileText["encoding"]): Places {
  // Without the diff the removed lines are unknown: a quote may mean any line of the merge base.
  if (typeof diff === "string") return { ...nowhere, hidden: diff, isRemoved: () => true };
  const index = createLineIndex(diff);
  const hidden = isHiddenForSize(diff, encoding) ? TOO_LARGE : null;
  return {
    hidden,
    hunks: diff.hunks,
    hunkAt: (side, line) => (hidden === null ? index.at(side, line)?.hunk : undefined),
    isRemoved: (line) => index.at("LEFT", line)?.line.kind === "removed",
  };
}

/** The place of a quote, and the stated lines by their numbers on that side. */
interface QuoteMatch {
  side: Side;
  place: LineRange;
  stated: LineRange;
}

const otherSide = (side: Side): Side => (side === "RIGHT" ? "LEFT" : "RIGHT");

/** Finds a quote as given, without decoration, or across both sides as the diff shows them; on the given side first. */
function locateQuote(
  file: AnchorFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): QuoteMatch | undefined {
  const plain = undecorated(quote);
  return (
    onEitherSide(file, quote, side, stated) ??
    onEitherSide(file, plain.lines, plain.side ?? side, stated) ??
    amongShown(file, quote, side, stated) ??
    amongShown(file, plain.lines, side, stated) ??
    betweenAdded(file, quote, stated) ??
    betweenAdded(file, plain.lines, stated)
  );
}

function onEitherSide(
  file: AnchorFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): QuoteMatch | undefined {
  const place = findPlace(file, side, quote, stated);
  if (place) return { side, place, stated };
  const there = side === "LEFT" ? atHead(file, quote, stated) : stated;
  const elsewhere = findPlace(file, otherSide(side), quote, there);
  return elsewhere && { side: otherSide(side), place: elsewhere, stated: there };
}

function findPlace(
  file: AnchorFile,
  side: Side,
  quote: readonly string[],
  stated: LineRange,
): LineRange | undefined {
  return findQuote(file.lines[side] ?? [], quote, {
    stated,
    // An unchanged line belongs on RIGHT, where people read; LEFT is for removed lines.
    ...(side === "LEFT" ? { allowed: createRemovalCheck(file) } : {}),
    preferred: (place) => file.hunkAt(side, place.end) !== undefined,
  });
}

/** Whether a range holds a removed line. Ranges come in file order, so each line is checked once. */
function createRemovalCheck(file: AnchorFile): (place: LineRange) => boolean {
  let next = 1;
  return ({ start, end }) => {
    next = Math.max(next, start);
    while (next <= end && !file.isRemoved(next)) next++;
    return next <= end;
  };
}

function atHead(file: AnchorFile, quote: readonly string[], stated: LineRange): LineRange {
  const allowed = (place: LineRange) => confirms(place, stated);
  const { end } = findQuote(file.lines.LEFT ?? [], quote, { stated, allowed }) ?? stated;
  const shift = lineAtHead(file.hunks, end) - end;
  return { start: Math.max(1, stated.start + shift), end: Math.max(1, stated.end + shift) };
}

function amongShown(
  file: AnchorFile,
  quote: readonly string[],
  side: Side,
  stated: LineRange,
): QuoteMatch | undefined {
  for (const one of [side, otherSide(side)]) {
    const place = findShownQuote(file.hunks, quote, one, stated);
    if (place) return { side: one, place, stated };
  }
  return undefined;
}

/** Finds unchanged lines that the change has separated by added ones: they are adjacent only at the merge base. */
function betweenAdded(file: AnchorFile, quote: readonly string[], stated: LineRange): QuoteMatch | undefined {
  const place = findQuote(file.lines.LEFT ?? [], quote, { stated });
  return place && { side: "LEFT", place, stated };
}

export interface Anchor {
  side: Side;
  line: number;
  start_line: number | null;
  /** The anchored lines as they are in the file, cut if very long. */
  quote: string;
  /** How the anchor differs from the stated lines; null if it does not. */
  note: string | null;
  /** False if a suggestion may be meant for other lines than the anchored ones: it must not replace these. */
  asStated: boolean;
}

type Wanted = Pick<ReportedFinding, "side" | "line" | "start_line" | "quote">;

/** A longer range is not a useful anchor; its quote is. */
const MAX_RANGE_LINES = 500;
/** Findings are sent between processes, and a file may be a single line. */
const MAX_QUOTE_BYTES = 32 * 1024;

/**
 * Finds the lines a finding means. The quote decides; the stated lines choose among several matches, and are kept if the quote
 * agrees with them. If the quote is not on the given side, the other side is searched. A range must be in one hunk, or outside of
 * all: it is clipped to the part with the quote. A refusal helps the model to correct the call.
 */
export function resolveAnchor(
  file: AnchorFile,
  wanted: Wanted,
): { ok: true; anchor: Anchor } | { ok: false; reason: string } {
  const quote = quoteLines(wanted.quote);
  if (quote.length === 0)
    return { ok: false, reason: "`quote` is empty: give the exact code of the line the finding is about" };
  const found = locateQuote(file, quote, wanted.side, statedRange(wanted));
  if (found) return { ok: true, anchor: anchorAt(file, found, wanted) };
  const plain = quoteLines(withoutEscapes(wanted.quote));
  const unescaped =
    plain.join() !== quote.join() && locateQuote(file, plain, wanted.side, statedRange(wanted));
  if (!unescaped) return { ok: false, reason: notFound(file, wanted, quote) };
  // A suggestion has the same escapes.
  return { ok: true, anchor: { ...anchorAt(file, unescaped, wanted), asStated: false } };
}

const entities: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  apos: "'",
  amp: "&",
};

/** Code as it is, without the escapes of HTML and Markdown and the quotation marks of prose that some models write. */
const withoutEscapes = (quote: string) =>
  quote
    .replaceAll(/&(lt|gt|quot|#39|apos|amp);/g, (_, name: string) => entities[name] ?? "")
    .replaceAll(/\\(?=[_*`<>[\]#])/g, "")
    .replaceAll(/[\u201c\u201d]/g, '"')
    .replaceAll(/[\u2018\u2019]/g, "'");

const statedRange = ({ start_line, line }: Wanted): LineRange => ({ start: start_line ?? line, end: line });

function anchorAt(file: AnchorFile, { side, place, stated }: QuoteMatch, wanted: Wanted): Anchor {
  const lines = file.lines[side] ?? [];
  const anchored = withinOneHunk(file, side, shortened(wantedRange(place, stated, lines), place), place);
  const asked = statedRange(wanted);
  const unmoved = side === wanted.side && within(anchored, asked) && within(asked, anchored);
  return {
    side,
    line: anchored.end,
    start_line: anchored.start < anchored.end ? anchored.start : null,
    quote: cutBytes(lines.slice(anchored.start - 1, anchored.end).join("\n"), MAX_QUOTE_BYTES),
    note: unmoved ? null : difference(anchored, { side, place, stated }, wanted, lines),
    // A single line moves with its quote, which is then exactly what the suggestion replaces.
    asStated: stated.start === stated.end ? within(place, anchored) : unmoved,
  };
}

/** The stated lines if the quote agrees with them, else the same number of lines, ending with the quote. */
function wantedRange(place: LineRange, stated: LineRange, lines: readonly string[]): LineRange {
  if (confirms(place, stated) && !isBlank(stated, lines))
    return { start: stated.start, end: Math.min(stated.end, lines.length) };
  return { start: Math.max(1, place.end - (stated.end - stated.start)), end: place.end };
}

/** A blank line cannot be meant; another line of the quote is. */
const isBlank = ({ start, end }: LineRange, lines: readonly string[]) =>
  lines.slice(start - 1, end).every((line) => line.trim() === "");

const overlap = (one: LineRange, two: LineRange): LineRange => ({
  start: Math.max(one.start, two.start),
  end: Math.min(one.end, two.end),
});

function shortened(range: LineRange, place: LineRange): LineRange {
  return range.end - range.start < MAX_RANGE_LINES ? range : overlap(range, place);
}

/** The part of a range around the quote that is in one hunk, or outside of all hunks if no line of the quote is in one. */
function withinOneHunk(file: AnchorFile, side: Side, range: LineRange, place: LineRange): LineRange {
  const lines = file.lines[side] ?? [];
  const { start: first, end: last } = overlap(range, place);
  const quoted = Array.from({ length: last - first + 1 }, (_, index) => last - index);
  const hasText = (line: number) => !isBlank({ start: line, end: line }, lines);
  const isShown = (line: number) => file.hunkAt(side, line) !== undefined;
  const kept = quoted.find((line) => hasText(line) && isShown(line)) ?? quoted.find(hasText) ?? last;
  const hunk = file.hunkAt(side, kept);
  let [start, end] = [kept, kept];
  while (start > range.start && file.hunkAt(side, start - 1) === hunk) start--;
  while (end < range.end && file.hunkAt(side, end + 1) === hunk) end++;
  return { start, end };
}

function difference(
  anchored: LineRange,
  { side, place, stated }: QuoteMatch,
  wanted: Wanted,
  lines: readonly string[],
): string {
  const there = `anchored at ${inWords(anchored)}`;
  if (side !== wanted.side) return `the quote is on side ${side}, ${inWords(place)}; ${there}`;
  if (!confirms(place, stated))
    return `the quote is on ${inWords(place)}, not on ${inWords(stated)}; ${there}`;
  if (isBlank(stated, lines)) return `line ${stated.end} is blank; ${there}`;
  if (anchored.start === stated.start && anchored.end === lines.length)
    return `the file ends at line ${anchored.end}; ${there}`;
  return `a range must be in one hunk and have at most ${MAX_RANGE_LINES} lines; ${there}`;
}

const inWords = ({ start, end }: LineRange) => (start < end ? `lines ${start}-${end}` : `line ${end}`);

function notFound(file: AnchorFile, wanted: Wanted, quote: readonly string[]): string {
  const path = showPath(file.path);
  const side = file.lines[wanted.side] ? wanted.side : otherSide(wanted.side);
  const lines = file.lines[side];
  if (!lines) return `${path} is binary or too large: no line of it can be quoted`;
  if (lines.length === 0 && !file.lines[otherSide(side)]?.length)
    return `${path} is empty: no line of it can be quoted`;
  return `${path} does not hold the quote on either side of the change. Quote one line exactly. ${showNearLines(file, side, wanted.line, quote)}`;
}
