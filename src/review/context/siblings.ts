import { isTestFile } from "../../analyzers/test-file.ts";
import { definitionsAt } from "../../code/source.ts";
import { fullName } from "../../tools/definition-name.ts";
import type { Changed } from "./changed.ts";
import { closeness, nearestFirst } from "./closeness.ts";
import { isType, type Place } from "./code-file.ts";
import { isCommonName } from "./common-names.ts";
import type { Lookup } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const SIBLING = 0.5;
const MAX_LINES = 25;
const MAX_HEAD_LINES = 5;
const SHOWN = 8;
const REPEATED = 0.15;
/** A name that more types have is no contract between them. */
const MAX_TYPES = 8;
/** Types that have nothing in common but the name. */
const UNRELATED = 0.6;

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

/** Whether the heads of two types name one another or a third one: a base class, an interface. */
function areRelated(one: Place | null, other: Place): boolean {
  if (one === null) return false;
  const [own, theirs] = [typeNames(one), typeNames(other)];
  return [...own].some((name) => theirs.has(name));
}

/** A type's name and what its head names after it. */
function typeNames({ file, definition }: Place): Set<string> {
  const names = new Set([definition.container ?? ""]);
  const type = definitionsAt(file.definitions, definition.start).filter(isType).at(-1);
  if (!type) return names;
  const head = file.lines
    .slice(type.start - 1, Math.min(type.signatureEnd, type.start + MAX_HEAD_LINES))
    .join(" ");
  for (const word of head.match(/\b[A-Z][\w$]*\b/g) ?? []) names.add(word);
  return names;
}

function pieceOf({ file, definition }: Place, score: number): Piece {
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
