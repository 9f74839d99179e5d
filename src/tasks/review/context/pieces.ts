import { type DefinitionSite, fullName, type TextFile } from "../../../repo/code/code-file.ts";
import { shownBytes } from "../../../repo/diff/file-diff.ts";
import { showPath } from "../../../repo/show.ts";
import { joined, type LineSpan, linesIn, numbered, rangesOf } from "./lookup.ts";

/** In the order in which they are shown. */
export const kinds = [
  "body",
  "contract",
  "callee",
  "named",
  "member",
  "producer",
  "caller",
  "consumer",
  "key",
  "sibling",
  "type",
  "test",
] as const;
type Kind = (typeof kinds)[number];
/** The lines of a changed definition are not shown as a piece of their own: they widen the diff. */
type ShownKind = Exclude<Kind, "body">;
const isShownKind = (kind: Kind): kind is ShownKind => kind !== "body";

/** Lines that help to judge the change, and why. */
export interface Piece {
  kind: Kind;
  file: TextFile;
  /** Ascending, without overlaps. */
  ranges: readonly LineSpan[];
  /** The whole definition of the lines; null if the lines are not the beginning of one. */
  extent: LineSpan | null;
  /** The line that is named if the piece does not fit. */
  line: number;
  subject: string;
  title: string;
  score: number;
  /** Whether its beginning is useful without the rest. */
  mayBeCut: boolean;
}

/** Lines of a definition. Its kind and name are the title, followed by `why`. */
export function definitionPiece(
  kind: Kind,
  { file, definition }: DefinitionSite,
  ranges: readonly LineSpan[],
  score: number,
  why = "",
): Piece {
  return {
    kind,
    file,
    ranges,
    extent: { start: definition.start, end: definition.end },
    line: definition.start,
    subject: definition.name,
    title: `${definition.kind} ${fullName(definition)}${why}`,
    score,
    mayBeCut: true,
  };
}

export function beginning({ definition }: DefinitionSite, maxLines: number, maxDocLines: number): LineSpan[] {
  const { docStart, start, end } = definition;
  return [{ start: Math.max(docStart, start - maxDocLines), end: Math.min(end, start + maxLines - 1) }];
}

export function placePiece(
  kind: Kind,
  { file, line }: Pick<Piece, "file" | "line">,
  ranges: readonly LineSpan[],
  words: Pick<Piece, "subject" | "title" | "score">,
): Piece {
  return {
    kind,
    file,
    line,
    ranges: joined(ranges, file.lines.length),
    extent: null,
    mayBeCut: false,
    ...words,
  };
}

export class ShownLines {
  readonly #lines = new Map<string, Set<number>>();

  add(file: Pick<TextFile, "path" | "ref">, line: number): void {
    this.#of(file).add(line);
  }

  addAll(file: Pick<TextFile, "path" | "ref">, ranges: readonly LineSpan[]): void {
    const lines = this.#of(file);
    for (const line of linesIn(ranges)) lines.add(line);
  }

  has(file: Pick<TextFile, "path" | "ref">, line: number): boolean {
    return this.#of(file).has(line);
  }

  missing(file: Pick<TextFile, "path" | "ref">, ranges: readonly LineSpan[]): LineSpan[] {
    const lines = this.#of(file);
    return rangesOf(linesIn(ranges).filter((line) => !lines.has(line)));
  }

  #of({ path, ref }: Pick<TextFile, "path" | "ref">): Set<number> {
    const key = `${ref} ${path}`;
    const lines = this.#lines.get(key) ?? new Set();
    this.#lines.set(key, lines);
    return lines;
  }
}

interface TakenPiece extends Piece {
  shown: LineSpan[];
  /** Whether its definition continues after the parts shown here and elsewhere. */
  isCut: boolean;
}

export interface Selection {
  taken: TakenPiece[];
  /** Pieces that do not fit or score too low, best first. */
  left: Piece[];
}

/** Pieces with a lower score are only named: unimportant lines hide the important ones. */
const LEAST_SCORE = 0.15;
/** The least score as long as little is shown: a small change costs little, and what decides may be anywhere near it. */
const LEAST_OF_LITTLE = 0.1;
const LITTLE_BYTES = 14_000;
/** The same for a large change, as a share of the room. */
const LITTLE_SHARE = 0.7;
/** Fewer lines of a body are useless. */
const LEAST_LINES = 5;

/**
 * Shares of the room that the pieces of each group may take before those of others: of a large change, the bodies alone would fill it. The
 * best of the rest takes what they leave.
 */
const groups: readonly { kinds: ReadonlySet<Kind>; share: number }[] = [
  { kinds: new Set<Kind>(["body"]), share: 0.2 },
  { kinds: new Set<Kind>(["contract", "sibling", "type"]), share: 0.43 },
  { kinds: new Set<Kind>(["callee", "named", "member", "key"]), share: 0.22 },
];
const REST_SHARE = 0.15;

/** Takes the best pieces that fit, each without lines that are shown already. A body that does not fit is cut after a line. */
export function selectPieces(
  pieces: readonly Piece[],
  shown: ShownLines,
  maxBytes: number,
  isLarge = false,
): Selection {
  const little = isLarge ? LITTLE_SHARE * maxBytes : LITTLE_BYTES;
  const selection: Selection = { taken: [], left: [] };
  const built = new Set<string>();
  let room = maxBytes;
  const take = (piece: Piece, most: number, isLast: boolean): boolean => {
    const missing = shown.missing(piece.file, piece.ranges);
    // A listing is whole only with its last bracket.
    if (missing.length === 0 || !(piece.kind === "body" || saysSomething(piece, missing))) return true;
    const space = Math.min(room, most) - headingBytes(piece);
    const shape = shapeOf(piece);
    const least = isLast && maxBytes - room < little ? LEAST_OF_LITTLE : LEAST_SCORE;
    const isShown = piece.score >= least && !(shape !== null && built.has(shape));
    const fitting = isShown
      ? takeFitting({ ...piece, mayBeCut: isLast && piece.mayBeCut }, missing, space)
      : null;
    if (fitting === null) return false;
    if (shape !== null) built.add(shape);
    room -= headingBytes(piece) + fitting.bytes;
    shown.addAll(piece.file, fitting.ranges);
    const last = fitting.ranges.at(-1)?.end ?? 0;
    const behind = { start: last + 1, end: piece.extent?.end ?? last };
    const isCut = saysSomething(piece, shown.missing(piece.file, [behind]));
    selection.taken.push({ ...piece, shown: fitting.ranges, isCut });
    return true;
  };
  const rooms = [...groups.map(({ share }) => share), REST_SHARE].map((share) => share * maxBytes);
  const left = inOrder(pieces).filter((piece) => {
    const at = groups.findIndex(({ kinds }) => kinds.has(piece.kind));
    const group = at < 0 ? groups.length : at;
    const before = room;
    const isDone = take(piece, rooms[group] ?? 0, false);
    rooms[group] = (rooms[group] ?? 0) - (before - room);
    return !isDone;
  });
  selection.left = left.filter((piece) => !take(piece, room, true));
  return selection;
}

const MAX_ALIKE_LINES = 12;
/** These differ in what matters even if they are built alike. */
const unlike: ReadonlySet<Kind> = new Set(["body", "contract", "sibling", "type", "named", "member"]);

/** What short pieces of one kind and file have in common that differs in names and numbers only: of five setters, one is shown. */
function shapeOf({ kind, file, ranges }: Piece): string | null {
  const count = ranges.reduce((sum, { start, end }) => sum + end - start + 1, 0);
  if (unlike.has(kind) || count < 2 || count > MAX_ALIKE_LINES) return null;
  const lines = ranges.flatMap(({ start, end }) => file.lines.slice(start - 1, end));
  const text = lines.map((line) => line.slice(0, 400).trim()).join("\n");
  const shape = text.replace(/"[^"\n]*"|'[^'\n]*'|[\p{L}\p{N}_$]+/gu, (word) =>
    /^["']/.test(word) || keywords.has(word) ? word : "x",
  );
  return [kind, file.ref, file.path, shape].join("\n");
}

const keywords = new Set(
  "if else for while return await throw raise not null None nil true false new".split(" "),
);

function inOrder(pieces: readonly Piece[]): Piece[] {
  return pieces.toSorted(
    (a, b) =>
      b.score - a.score ||
      (a.file.path === b.file.path ? 0 : a.file.path < b.file.path ? -1 : 1) ||
      a.line - b.line ||
      kinds.indexOf(a.kind) - kinds.indexOf(b.kind),
  );
}

/** Whether more than blank lines and closing brackets is missing. */
const saysSomething = ({ file }: Piece, missing: readonly LineSpan[]): boolean =>
  linesIn(missing).some((line) => /[\p{L}\p{N}]/u.test(file.lines[line - 1] ?? ""));

function takeFitting(
  piece: Piece,
  ranges: readonly LineSpan[],
  room: number,
): { ranges: LineSpan[]; bytes: number } | null {
  const fitting: number[] = [];
  let bytes = 0;
  for (const { start, end } of ranges) {
    bytes += piece.kind === "body" ? HUNK_BYTES : GAP_BYTES;
    for (let line = start; line <= end; line++) {
      const more = shownBytes(numbered(piece.file, line)) + MARK_BYTES;
      if (bytes + more > room)
        return piece.mayBeCut && fitting.length >= LEAST_LINES ? { ranges: rangesOf(fitting), bytes } : null;
      bytes += more;
      fitting.push(line);
    }
  }
  return { ranges: rangesOf(fitting), bytes };
}

/** The line feed, and the mark of an added line. */
const MARK_BYTES = 2;

const GAP = "...";
const GAP_BYTES = GAP.length + 1;
/** The header of a hunk, with numbers of up to seven digits. */
const HUNK_BYTES = "@@ -1000000,1000000 +1000000,1000000 @@\n".length;

const NAMED = "## Not shown";

/** One line for the omitted pieces of each kind and name, best first, as many as fit. */
function namedLines({ taken, left }: Selection, maxBytes: number): string[] {
  const known = new Set<string>();
  const unseen = left.filter((piece) => {
    const { kind, subject, file, line } = piece;
    const key = [kind, subject, file.ref, file.path, line].join(" ");
    if (known.has(key)) return false;
    known.add(key);
    return !taken.some((one) => isShownIn(one, piece));
  });
  const groups = Map.groupBy(unseen, ({ kind, subject }) =>
    kind === "callee" ? kind : `${kind} ${subject}`,
  );
  const lines: string[] = [];
  let room = maxBytes - NAMED.length - 1;
  for (const pieces of groups.values()) {
    const line = fitting(pieces, room);
    if (line === null) continue;
    lines.push(line);
    room -= shownBytes(line) + 1;
  }
  return lines.length > 0 ? [NAMED, ...lines] : [];
}

function isShownIn({ file, shown }: Selection["taken"][number], left: Piece): boolean {
  return (
    file.path === left.file.path &&
    file.ref === left.file.ref &&
    shown.some(({ start, end }) => left.line >= start && left.line <= end)
  );
}

function fitting(pieces: readonly Piece[], room: number): string | null {
  let text: string | null = null;
  for (let count = 1; count <= pieces.length; count++) {
    const longer = lineOf(pieces.slice(0, count));
    if (shownBytes(longer) + 1 > room) break;
    text = longer;
  }
  return text;
}

/** `caller of next: a.go:10, 22; b.go:4`, and `also calls: next (a.go:10), open (b.go:4)`. */
function lineOf(pieces: readonly Piece[]): string {
  const [first] = pieces;
  if (first?.kind !== "callee") return `${first?.kind} of ${first?.subject}: ${placesOf(pieces)}`;
  const byName = Map.groupBy(pieces, ({ subject }) => subject);
  return `also calls: ${[...byName].map(([name, same]) => `${name} (${placesOf(same)})`).join(", ")}`;
}

function placesOf(pieces: readonly Piece[]): string {
  const byFile = Map.groupBy(pieces, ({ file }) => `${file.ref} ${file.path}`);
  return [...byFile.values()]
    .map((same) => {
      const lines = same.map(({ line }) => line).sort((a, b) => a - b);
      const file = same[0]?.file;
      const at = file?.ref === "merge_base" ? " at merge_base" : "";
      return `${showPath(file?.path ?? "")}:${lines.join(", ")}${at}`;
    })
    .join("; ");
}

const titles: Record<ShownKind, string> = {
  contract: "What the changed code must keep: interfaces and base classes",
  callee: "What the changed code calls",
  named: "What added lines name for the first time",
  member: "What declares the members that the change reads and sets",
  caller: "What uses the changed code",
  producer: "Where the values that the change reads come from",
  consumer: "What reads the values that the change sets",
  key: "Where else the keys of the changed lines occur",
  sibling: "Siblings: other implementations, twins and counterparts",
  type: "The types around the changed code",
  test: "Tests of it",
};

/** Bytes of all headings of sections together. */
const SECTION_BYTES = Object.values(titles).reduce((sum, title) => sum + title.length + 6, 0);
/** Share of the room for names of omitted pieces, and its maximum bytes: the model can search for more. */
const NAMED_SHARE = 0.08;
const MAX_NAMED_BYTES = 300;

export function roomOf(maxBytes: number): { pieces: number; named: number } {
  const named = Math.min(MAX_NAMED_BYTES, Math.floor(maxBytes * NAMED_SHARE));
  return { named, pieces: maxBytes - named - SECTION_BYTES };
}

/** The location of a definition, even if little of it is shown, and where it is cut. */
function headingOf(piece: Piece, shown: LineSpan, isCut: boolean): string {
  const start = Math.min(shown.start, piece.extent?.start ?? shown.start);
  const end = Math.max(shown.end, piece.extent?.end ?? shown.end);
  const lines = start === end ? `${start}` : `${start}-${end}`;
  const at = piece.file.ref === "merge_base" ? " at merge_base" : "";
  const cut = isCut ? `, shown to line ${shown.end}` : "";
  return `### ${showPath(piece.file.path)}:${lines}${at} ${piece.title}${cut}`;
}

/** Maximum bytes of a piece's heading and its cut mark, for any shown part. */
function headingBytes(piece: Piece): number {
  if (piece.kind === "body") return 0;
  const last = piece.file.lines.length;
  return shownBytes(headingOf(piece, { start: last, end: last + 1 }, true)) + GAP.length + 2;
}

export type IsAdded = (file: TextFile, line: number) => boolean;

/** The lines of changed definitions that were taken, by the path of their file. */
export function listedLines({ taken }: Selection): Map<string, LineSpan[]> {
  const lines = new Map<string, LineSpan[]>();
  for (const { kind, file, shown } of taken)
    if (kind === "body")
      lines.set(file.path, joined([...(lines.get(file.path) ?? []), ...shown], Number.POSITIVE_INFINITY));
  return lines;
}

/** The other pieces by kind, then by file and line, and the names of omitted ones. */
export function renderSelection(selection: Selection, namedBytes: number, isAdded: IsAdded): string {
  const taken = selection.taken.filter(({ kind }) => isShownKind(kind));
  const fileOrder = [...new Set(taken.map(({ file }) => file.path))];
  const sections = kinds.filter(isShownKind).flatMap((kind) => {
    const pieces = taken.filter((piece) => piece.kind === kind);
    if (pieces.length === 0) return [];
    pieces.sort(
      (a, b) =>
        fileOrder.indexOf(a.file.path) - fileOrder.indexOf(b.file.path) ||
        (a.shown[0]?.start ?? 0) - (b.shown[0]?.start ?? 0),
    );
    return [`## ${titles[kind]}`, ...pieces.map((piece) => renderPiece(piece, isAdded))];
  });
  return [...sections, ...namedLines(selection, namedBytes)].join("\n");
}

function renderPiece(piece: TakenPiece, isAdded: IsAdded): string {
  const { file, shown, isCut } = piece;
  const lines: string[] = [];
  for (const { start, end } of shown) {
    if (lines.length > 0) lines.push(GAP);
    for (let line = start; line <= end; line++) lines.push(numbered(file, line, isAdded(file, line)));
  }
  if (isCut) lines.push(GAP);
  const all = { start: shown[0]?.start ?? 0, end: shown.at(-1)?.end ?? 0 };
  return [headingOf(piece, all, isCut), ...lines].join("\n");
}
