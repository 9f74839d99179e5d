import { type DefinitionSite, fullName } from "../../code/code-file.ts";
import { closeness, isCommonName, nearestFirst, typeHead } from "../../code/names.ts";
import { isTestFile } from "../../code/test-file.ts";
import type { Changed } from "./changed.ts";
import type { Lookup } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const SIBLING = 0.5;
const MAX_LINES = 25;
const SHOWN = 8;
const REPEATED = 0.15;
/** A name that more types have is no contract between them. */
const MAX_TYPES = 8;
/** Weight of types that share nothing but the name. */
const UNRELATED = 0.6;

/** Methods that every type implements in its own way. */
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
    const known = others
      .map((place) => ({ ...place, isRelated: areRelated(one.after ?? one.before, place) }))
      .filter(({ isRelated }) => isRelated || !isCommonName(own.name));
    if (new Set(known.map(({ definition }) => definition.container)).size > MAX_TYPES) return [];
    const near = nearestFirst(one.path, known, ({ definition }) => definition.start);
    return near.slice(0, SHOWN).map((place, at) => {
      const likely = SIBLING * closeness(one.path, place.file.path) * (place.isRelated ? 1 : UNRELATED);
      return pieceOf(place, (one.risk * likely) / (1 + at * REPEATED));
    });
  });
}

/** Whether the heads of two types name each other or the same third type: a base class or an interface. */
function areRelated(one: DefinitionSite | null, other: DefinitionSite): boolean {
  if (one === null) return false;
  const [own, theirs] = [typeNames(one), typeNames(other)];
  return [...own].some((name) => theirs.has(name));
}

/** A type's name and what its head names after it. */
const typeNames = ({ file, definition: { container, start } }: DefinitionSite) =>
  new Set([container ?? "", ...typeHead(file, container ?? "", start).filter((word) => /^[A-Z]/.test(word))]);

function pieceOf({ file, definition }: DefinitionSite, score: number): Piece {
  return {
    kind: "sibling",
    file,
    ranges: [{ start: definition.start, end: Math.min(definition.end, definition.start + MAX_LINES - 1) }],
    extent: { start: definition.start, end: definition.end },
    line: definition.start,
    subject: definition.name,
    title: `method ${fullName(definition)}, of the same name`,
    score,
    mayBeCut: true,
  };
}
