import { shownBytes } from "../../diff/render.ts";
import { showPath } from "../../tools/show.ts";
import { GAP, type Kind, kinds, type Piece, type Selection, type TakenPiece } from "./pieces.ts";
import { numbered, type TextFile } from "./text-file.ts";

const titles: Record<Kind, string> = {
  body: "What the diff leaves out of the changed functions and types",
  before: "How they stood before the change (numbers of the merge base)",
  callee: "What the changed code calls",
  member: "What declares the members that the change reads and sets",
  caller: "What uses the changed code",
  producer: "Where values come from that the change reads",
  consumer: "What reads the values that the change sets",
  key: "Where else the keys of the changed lines stand",
  sibling: "Other implementations of the same name",
  test: "Tests of it",
  document: "Documentation of it",
};

/** Bytes of all headings of sections together. */
const SECTION_BYTES = Object.values(titles).reduce((sum, title) => sum + title.length + 6, 0);
/** Part of the room that names what is not shown. */
const NAMED_SHARE = 0.08;

/** How the room for the code context is divided. */
export function roomOf(maxBytes: number): { pieces: number; named: number } {
  const named = Math.floor(maxBytes * NAMED_SHARE);
  return { named, pieces: maxBytes - named - SECTION_BYTES };
}

function headingOf(piece: Piece, { start, end }: { start: number; end: number }): string {
  const lines = start === end ? `${start}` : `${start}-${end}`;
  const at = piece.file.ref === "merge_base" ? " at merge_base" : "";
  return `### ${showPath(piece.file.path)}:${lines}${at} ${piece.title}`;
}

/** At most what the heading of a piece takes, whatever of it is shown. */
export function headingBytes(piece: Piece): number {
  const last = piece.file.lines.length;
  return shownBytes(headingOf(piece, { start: last, end: last + 1 })) + 1;
}

/** The pieces by kind, then by file and line, and where there is more. */
export function renderSelection({ taken, left }: Selection, namedBytes: number): string {
  const fileOrder = [...new Set(taken.map(({ file }) => file.path))];
  const sections = kinds.flatMap((kind) => {
    const pieces = taken.filter((piece) => piece.kind === kind);
    if (pieces.length === 0) return [];
    pieces.sort(
      (a, b) =>
        fileOrder.indexOf(a.file.path) - fileOrder.indexOf(b.file.path) ||
        (a.shown[0]?.start ?? 0) - (b.shown[0]?.start ?? 0),
    );
    return [`## ${titles[kind]}`, ...pieces.map(renderPiece)];
  });
  return [...sections, ...namedLines(left, namedBytes)].join("\n");
}

function renderPiece(piece: TakenPiece): string {
  const lines: string[] = [];
  for (const { start, end } of piece.shown) {
    if (lines.length > 0) lines.push(GAP);
    for (let line = start; line <= end; line++) lines.push(numbered(piece.file, line));
  }
  const [first, last] = [piece.shown[0]?.start ?? 0, piece.shown.at(-1)?.end ?? 0];
  return [headingOf(piece, { start: first, end: last }), ...lines].join("\n");
}

const NAMED = "## Not shown";

/** One line for what was left out of each kind and name, as far as they fit. */
function namedLines(left: readonly Piece[], maxBytes: number): string[] {
  const groups = Map.groupBy(left, ({ kind, subject }) => `${kind} ${subject}`);
  const lines: string[] = [];
  let room = maxBytes - NAMED.length - 1;
  for (const pieces of groups.values()) {
    const line = namedLine(pieces, room);
    if (line === null) break;
    lines.push(line);
    room -= shownBytes(line) + 1;
  }
  return lines.length > 0 ? [NAMED, ...lines] : [];
}

function namedLine(pieces: readonly Piece[], room: number): string | null {
  const [first] = pieces;
  if (!first) return null;
  let text = `${first.kind} of ${first.subject}:`;
  let named = 0;
  for (const { file, line } of pieces) {
    const more = `${named > 0 ? "," : ""} ${placeOf(file, line)}`;
    if (shownBytes(text + more) + 1 > room) break;
    text += more;
    named += 1;
  }
  return named > 0 ? text : null;
}

const placeOf = (file: TextFile, line: number) =>
  `${showPath(file.path)}:${line}${file.ref === "merge_base" ? " at merge_base" : ""}`;
