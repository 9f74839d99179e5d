import { isTestFile } from "../../analyzers/test-file.ts";
import type { Changed } from "./changed.ts";
import { closeness, nearestFirst } from "./closeness.ts";
import { fullName, type Place } from "./code-file.ts";
import type { Lookup } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const SIBLING = 0.5;
const MAX_LINES = 25;
const SHOWN = 3;
/** A name that more types have is no contract between them. */
const MAX_TYPES = 12;

/** What every type has in its own way. */
const ownWay = new Set(
  (
    "constructor __init__ __new__ init initialize main setUp tearDown setup teardown toString String equals hashCode __repr__ " +
    "__str__ __eq__ __hash__ Error close Close get set"
  ).split(" "),
);

/** Methods of other types with the name of a changed one: they may share a contract, or override one another. */
export function siblingPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => {
    const own = (one.after ?? one.before)?.definition;
    if (own?.kind !== "method" || own.container === null || ownWay.has(own.name)) return [];
    const others = lookup
      .definitions(own.name)
      .filter(({ definition }) => definition.kind === "method" && definition.container !== own.container)
      .filter(({ file }) => !isTestFile(file.path));
    if (others.length > MAX_TYPES) return [];
    const near = nearestFirst(one.path, others, ({ definition }) => definition.start);
    return near.slice(0, SHOWN).map((place, at) => pieceOf(one, place, at));
  });
}

function pieceOf(one: Changed, { file, definition }: Place, at: number): Piece {
  return {
    kind: "sibling",
    file,
    ranges: [{ start: definition.start, end: Math.min(definition.end, definition.start + MAX_LINES - 1) }],
    line: definition.start,
    subject: definition.name,
    title: `method ${fullName(definition)}, of the same name`,
    score: (one.risk * SIBLING * closeness(one.path, file.path)) / (1 + at * 0.2),
    mayBeCut: true,
  };
}
