import {
  type CodeFile,
  type DefinitionSite,
  fullName,
  isDeclaration,
  isRun,
  isType,
} from "../../code/code-file.ts";
import { constructors, nearestFirst, typeHead } from "../../code/names.ts";
import { type Definition, definitionsAt } from "../../code/source.ts";
import { isTestFile } from "../../code/test-file.ts";
import { type Changed, shareOf } from "./changed.ts";
import { joined, type LineSpan, type Lookup } from "./lookup.ts";
import type { Piece } from "./pieces.ts";
import { wordsOf } from "./siblings.ts";

const TYPE = 0.5;
const BASE = 0.35;
/** A type up to this length is shown whole; of a longer one, the head, the fields and the constructors. */
const WHOLE_LINES = 60;
const MAX_FIELDS = 25;
const MAX_CONSTRUCTOR_LINES = 20;

const ALIKE = 0.42;
/** Maximum neighbours of one definition, and their maximum lines. */
const SHOWN = 8;
const REPEATED = 0.1;
const MAX_LINES = 25;
const MAX_DOC_LINES = 10;

/** The type around each changed method with the types that it extends, and definitions beside a changed one with similar names. */
export function surroundings(changed: readonly Changed[], lookup: Lookup): Piece[] {
  const share = shareOf(changed);
  return changed.flatMap((one) => {
    if (one.after === null) return [];
    return [...typePieces(one, one.after, lookup), ...neighbours(one, one.after)].map((piece) => ({
      ...piece,
      score: piece.score * share,
    }));
  });
}

/** The types that a type names in its head; `line` is a line of the type. */
export const baseTypes = (file: CodeFile, type: string, line: number): string[] =>
  typeHead(file, type, line).filter((name) => name !== type && /^[A-Z]/.test(name));

function typePieces({ risk }: Changed, { file, definition }: DefinitionSite, lookup: Lookup): Piece[] {
  const type = definitionsAt(file.definitions, definition.start).findLast(
    (one) => isType(one) && one !== definition,
  );
  if (!type || !isRun(definition)) return [];
  const bases = baseTypes(file, type.name, type.start).flatMap((name) => {
    const sites = lookup
      .definitions(name)
      .filter((site) => isType(site.definition) && !isTestFile(site.file.path));
    return nearestFirst(file.path, sites, ({ definition: { start } }) => start).slice(0, 1);
  });
  return [
    typePiece({ file, definition: type }, `around ${definition.name}`, risk * TYPE),
    ...bases.map((site) => typePiece(site, `which ${fullName(type)} extends`, risk * BASE)),
  ];
}

function typePiece({ file, definition: type }: DefinitionSite, why: string, score: number): Piece {
  return {
    ...{ kind: "type", file, ranges: typeRanges({ file, definition: type }), score },
    extent: { start: type.start, end: type.end },
    line: type.start,
    subject: type.name,
    title: `${type.kind} ${fullName(type)}, ${why}`,
    mayBeCut: true,
  };
}

function typeRanges({ file, definition: type }: DefinitionSite): LineSpan[] {
  const start = Math.max(type.docStart, type.start - MAX_DOC_LINES);
  if (type.end - type.start < WHOLE_LINES) return [{ start, end: type.end }];
  const own = file.definitions.filter(
    ({ container, start: at, end }) => container === type.name && at >= type.start && end <= type.end,
  );
  const fields = own.filter(({ kind }) => kind === "field" || kind === "constant").slice(0, MAX_FIELDS);
  const makers = own.filter((one) => isRun(one) && (constructors.has(one.name) || one.name === type.name));
  const ranges = [
    { start, end: type.signatureEnd },
    ...fields.map((one) => ({ start: one.docStart, end: one.end })),
    ...makers.map((one) => ({
      start: one.start,
      end: Math.min(one.end, one.start + MAX_CONSTRUCTOR_LINES - 1),
    })),
  ];
  return joined(ranges, type.end);
}

/** Definitions of the same kind in the same file and type with similar names: overloads, and what does something like it. */
function neighbours({ risk, name }: Changed, { file, definition }: DefinitionSite): Piece[] {
  if (definition.kind === "macro" || isDeclaration({ file, definition })) return [];
  const others = file.definitions.filter(
    (one) =>
      one !== definition &&
      isRun(one) === isRun(definition) &&
      (isRun(one) || one.kind === definition.kind) &&
      one.kind !== "macro" &&
      one.container === definition.container &&
      (one.end < definition.start || one.start > definition.end) &&
      !isDeclaration({ file, definition: one }),
  );
  const telling = tellingWords([definition, ...others]);
  const words = telling(name);
  const isAlike = (one: Definition) => {
    const own = telling(one.name);
    const shared = own.filter((word) => words.includes(word)).length;
    return one.name === name || shared / Math.max(words.length, own.length, 1) >= ALIKE_WORDS;
  };
  const distance = ({ start, end }: Definition) =>
    start > definition.end ? start - definition.end : definition.start - end;
  return others
    .filter(isAlike)
    .toSorted((a, b) => distance(a) - distance(b))
    .slice(0, SHOWN)
    .map((one, at): Piece => {
      const start = Math.max(one.docStart, one.start - MAX_DOC_LINES);
      return {
        ...{ kind: "sibling", file, score: (risk * ALIKE) / (1 + at * REPEATED) },
        ranges: [{ start, end: Math.min(one.end, one.start + MAX_LINES - 1) }],
        extent: { start: one.start, end: one.end },
        line: one.start,
        subject: one.name,
        title: `${one.kind} ${fullName(one)}, beside ${definition.name}`,
        mayBeCut: true,
      };
    });
}

/** Share of their words that similar names have in common. */
const ALIKE_WORDS = 0.5;
/** A word in a larger share of the names of a file is a prefix, and says nothing. */
const PREFIX_SHARE = 0.3;
const FEW_NAMES = 6;

/** The words of a name that few of the definitions have. */
function tellingWords(definitions: readonly Definition[]): (name: string) => string[] {
  const counts = new Map<string, number>();
  for (const { name } of definitions)
    for (const word of new Set(wordsOf(name))) counts.set(word, (counts.get(word) ?? 0) + 1);
  const most = Math.max(FEW_NAMES, definitions.length * PREFIX_SHARE);
  return (name) => wordsOf(name).filter((word) => (counts.get(word) ?? 0) <= most);
}
