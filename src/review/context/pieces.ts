import { shownBytes } from "../../diff/file-diff.ts";
import { numbered, type Range, type TextFile } from "./text-file.ts";

/** What a piece of code is to the change, in the order in which a reader meets them. */
export const kinds = [
  "body",
  "before",
  "callee",
  "member",
  "caller",
  "producer",
  "consumer",
  "key",
  "sibling",
  "test",
  "document",
] as const;
export type Kind = (typeof kinds)[number];

/** Lines that help to judge the change, and why. */
export interface Piece {
  kind: Kind;
  file: TextFile;
  /** Ascending, without overlaps. */
  ranges: readonly Range[];
  /** The whole definition that the lines are of; null for lines that are not the beginning of one. */
  extent: Range | null;
  /** The line that names it where it has no room. */
  line: number;
  /** The name it is shown for. */
  subject: string;
  /** What it is and why it is shown, in a few words. */
  title: string;
  /** The more, the sooner it is shown. */
  score: number;
  /** Whether its beginning alone is of use. */
  mayBeCut: boolean;
}

/** Lines that stand in front of the model already, by file and revision. */
export class ShownLines {
  readonly #lines = new Map<string, Set<number>>();

  add(file: Pick<TextFile, "path" | "ref">, line: number): void {
    this.#of(file).add(line);
  }

  addAll(file: Pick<TextFile, "path" | "ref">, ranges: readonly Range[]): void {
    const lines = this.#of(file);
    for (const { start, end } of ranges) for (let line = start; line <= end; line++) lines.add(line);
  }

  has(file: Pick<TextFile, "path" | "ref">, line: number): boolean {
    return this.#of(file).has(line);
  }

  /** What of the ranges is not shown yet. */
  missing(file: Pick<TextFile, "path" | "ref">, ranges: readonly Range[]): Range[] {
    const lines = this.#of(file);
    const left: Range[] = [];
    for (const { start, end } of ranges) {
      for (let line = start; line <= end; line++) {
        if (lines.has(line)) continue;
        const last = left.at(-1);
        if (last && last.end === line - 1) last.end = line;
        else left.push({ start: line, end: line });
      }
    }
    return left;
  }

  #of({ path, ref }: Pick<TextFile, "path" | "ref">): Set<number> {
    const key = `${ref} ${path}`;
    const lines = this.#lines.get(key) ?? new Set();
    this.#lines.set(key, lines);
    return lines;
  }
}

/** A piece and what of it is shown. */
export interface TakenPiece extends Piece {
  shown: Range[];
  /** Whether its definition goes on behind what is shown here and elsewhere. */
  isCut: boolean;
}

export interface Selection {
  taken: TakenPiece[];
  /** What had no room or is worth none, best first. */
  left: Piece[];
}

/** What scores less is named only: every line that says little hides one that says much. */
const LEAST_SCORE = 0.15;
/** Fewer lines of a body say nothing. */
const LEAST_LINES = 5;

/**
 * Takes the best pieces that fit, each without the lines that are shown already; a body that does not fit is cut behind a line.
 *
 * @param headingBytes what a piece takes beside its lines
 */
export function selectPieces(
  pieces: readonly Piece[],
  shown: ShownLines,
  maxBytes: number,
  headingBytes: (piece: Piece) => number,
): Selection {
  const selection: Selection = { taken: [], left: [] };
  let room = maxBytes;
  for (const piece of inOrder(pieces)) {
    const missing = shown.missing(piece.file, piece.ranges);
    if (!saysSomething(piece, missing)) continue;
    const space = room - headingBytes(piece);
    const fitting = piece.score < LEAST_SCORE ? null : takeFitting(piece, missing, space);
    if (fitting === null) {
      selection.left.push(piece);
      continue;
    }
    room = space - fitting.bytes;
    shown.addAll(piece.file, fitting.ranges);
    const last = fitting.ranges.at(-1)?.end ?? 0;
    const behind = { start: last + 1, end: piece.extent?.end ?? last };
    const isCut = saysSomething(piece, shown.missing(piece.file, [behind]));
    selection.taken.push({ ...piece, shown: fitting.ranges, isCut });
  }
  return selection;
}

/** Equal scores are told apart by place, so that the same commit gives the same text. */
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
function saysSomething({ file }: Piece, missing: readonly Range[]): boolean {
  return missing.some(({ start, end }) => {
    for (let line = start; line <= end; line++)
      if (/[\p{L}\p{N}]/u.test(file.lines[line - 1] ?? "")) return true;
    return false;
  });
}

function takeFitting(
  piece: Piece,
  ranges: readonly Range[],
  room: number,
): { ranges: Range[]; bytes: number } | null {
  const fitting: Range[] = [];
  let [bytes, lines] = [0, 0];
  for (const { start, end } of ranges) {
    bytes += GAP_BYTES;
    for (let line = start; line <= end; line++) {
      const more = shownBytes(numbered(piece.file, line)) + MARK_BYTES;
      if (bytes + more > room)
        return piece.mayBeCut && lines >= LEAST_LINES ? { ranges: fitting, bytes } : null;
      bytes += more;
      lines += 1;
      const last = fitting.at(-1);
      if (last && last.end === line - 1) last.end = line;
      else fitting.push({ start: line, end: line });
    }
  }
  return { ranges: fitting, bytes };
}

/** A line's end, and what marks an added one. */
const MARK_BYTES = 2;

/** What stands where lines are left out. */
export const GAP = "...";
const GAP_BYTES = GAP.length + 1;
