import { shownBytes } from "../../diff/file-diff.ts";
import { showPath } from "../../tools/show.ts";
import type { Piece, Selection } from "./pieces.ts";

const NAMED = "## Not shown";

/** One line for what was left out of each kind and name, best first, as far as they fit. */
export function namedLines({ taken, left }: Selection, maxBytes: number): string[] {
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

/** As many of the pieces as have room; null for none. */
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
