import { shownBytes } from "../../diff/file-diff.ts";
import { showPath } from "../../tools/show.ts";
import { namedLines } from "./not-shown.ts";
import { GAP, type Kind, kinds, type Piece, type Selection, type TakenPiece } from "./pieces.ts";
import { numbered, type Range, type TextFile } from "./text-file.ts";

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
/** Part of the room that names what is not shown, and bytes that it takes at most: who needs more, searches. */
const NAMED_SHARE = 0.08;
const MAX_NAMED_BYTES = 600;

/** How the room for the code context is divided. */
export function roomOf(maxBytes: number): { pieces: number; named: number } {
  const named = Math.min(MAX_NAMED_BYTES, Math.floor(maxBytes * NAMED_SHARE));
  return { named, pieces: maxBytes - named - SECTION_BYTES };
}

/** Where a definition is, however little of it is shown, and where it is cut. */
function headingOf(piece: Piece, shown: Range, isCut: boolean): string {
  const start = Math.min(shown.start, piece.extent?.start ?? shown.start);
  const end = Math.max(shown.end, piece.extent?.end ?? shown.end);
  const lines = start === end ? `${start}` : `${start}-${end}`;
  const at = piece.file.ref === "merge_base" ? " at merge_base" : "";
  const cut = isCut ? `, shown to line ${shown.end}` : "";
  return `### ${showPath(piece.file.path)}:${lines}${at} ${piece.title}${cut}`;
}

/** At most what the heading of a piece and the mark where it is cut take, whatever of it is shown. */
export function headingBytes(piece: Piece): number {
  const last = piece.file.lines.length;
  return shownBytes(headingOf(piece, { start: last, end: last + 1 }, true)) + GAP.length + 2;
}

/** Whether the change added a line. */
export type IsAdded = (file: TextFile, line: number) => boolean;

/** The pieces by kind, then by file and line, and where there is more. */
export function renderSelection(selection: Selection, namedBytes: number, isAdded: IsAdded): string {
  const { taken } = selection;
  const fileOrder = [...new Set(taken.map(({ file }) => file.path))];
  const sections = kinds.flatMap((kind) => {
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
