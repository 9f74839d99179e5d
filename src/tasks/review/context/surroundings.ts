import {
  type CodeFile,
  type DefinitionSite,
  fullName,
  isDeclaration,
  isPrivate,
  isRun,
  isType,
} from "../../../repo/code/code-file.ts";
import {
  closeness,
  constructors,
  isCommonName,
  nearestFirst,
  typeHead,
  wordsOfName,
} from "../../../repo/code/names.ts";
import { type Definition, definitionsAt } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { bodyOf, type Changed, shareOf } from "./changed.ts";
import { clamped, joined, type LineSpan, type Lookup } from "./lookup.ts";
import { beginning, definitionPiece, type Piece } from "./pieces.ts";

const TYPE = 0.5;
const BASE = 0.35;
/** A type up to this length is shown whole; of a longer one, the head, the fields and the constructors. */
const WHOLE_TYPE_LINES = 60;
const MAX_FIELDS = 25;
const MAX_CONSTRUCTOR_LINES = 20;

const ALIKE = 0.42;
const MANY = 8;
const REPEATED = 0.1;
const REPEATED_NAME = 0.3;
const MAX_LINES = 25;
const MAX_DOC_LINES = 10;

/** The type around each changed method with the types that it extends, and definitions beside a changed one with similar names. */
export function surroundings(changed: readonly Changed[], lookup: Lookup): Piece[] {
  const share = shareOf(changed);
  const named = new Map<string, number>();
  return changed.flatMap((one) => {
    if (one.after === null) return [];
    // If many types change a member of one name, each says less.
    const before = named.get(one.name) ?? 0;
    named.set(one.name, before + 1);
    return [...typePieces(one, one.after, lookup, share), ...neighbors(one, one.after)].map((piece) => ({
      ...piece,
      score: piece.score / (1 + before * REPEATED_NAME),
    }));
  });
}

/** The types that a type names in its head; `line` is a line of the type. */
export const baseTypes = (file: CodeFile, type: string, line: number): string[] =>
  typeHead(file, type, line).filter((name) => name !== type && /^[A-Z]/.test(name));

function typePieces(
  { risk }: Changed,
  { file, definition }: DefinitionSite,
  lookup: Lookup,
  share: number,
): Piece[] {
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
    typePiece({ file, definition: type }, `around ${definition.name}`, risk * TYPE * share),
    ...bases.map((site) =>
      typePiece(site, `which ${fullName(type)} extends`, risk * BASE * Math.sqrt(share)),
    ),
  ];
}

const typePiece = (site: DefinitionSite, why: string, score: number): Piece =>
  definitionPiece("type", site, typeRanges(site), score, `, ${why}`);

function typeRanges({ file, definition: type }: DefinitionSite): LineSpan[] {
  const start = Math.max(type.docStart, type.start - MAX_DOC_LINES);
  if (type.end - type.start < WHOLE_TYPE_LINES) return [{ start, end: type.end }];
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

/** Values of the same kind in the same file and type with similar names; of many, the names have a prefix that says nothing. */
function neighbors({ risk, name }: Changed, { file, definition }: DefinitionSite): Piece[] {
  if (isRun(definition) || isType(definition)) return [];
  const words = wordsOfName(name);
  const alike = file.definitions.filter((one) => {
    const own = wordsOfName(one.name);
    const shared = own.filter((word) => words.includes(word)).length;
    return (
      one.kind === definition.kind &&
      one.container === definition.container &&
      (one.end < definition.start || one.start > definition.end) &&
      shared / Math.max(words.length, own.length, 1) >= ALIKE_WORDS
    );
  });
  const distance = ({ start }: Definition) => Math.abs(start - definition.start);
  return (alike.length > MANY ? [] : alike)
    .toSorted((a, b) => distance(a) - distance(b))
    .map((one, at) => {
      const site = { file, definition: one };
      const score = (risk * ALIKE) / (1 + at * REPEATED);
      const ranges = beginning(site, MAX_LINES, MAX_DOC_LINES);
      return definitionPiece("sibling", site, ranges, score, `, beside ${definition.name}`);
    });
}

const ALIKE_WORDS = 0.5;

const BODY = 1;

/** A body up to this length is shown whole. Of a longer one, the parts around its changed lines come first. */
const WHOLE_BODY_LINES = 150;
/** Weight and maximum length of the rest of a longer body. */
const REST = 0.4;
const REST_LINES = 300;
const HEAD_LINES = 8;
const TAIL_LINES = 3;
/** Lines shown around a changed line: in a function, and in a type, where only the neighbors matter. */
const AROUND_RUN = 20;
const AROUND_TYPE = 8;
/** Neighbors shown of a changed field, and maximum lines of a constant whose value is shown whole. */
const AROUND_FIELD = 4;
const WHOLE_VALUE_LINES = 30;
const MAX_BODY_DOC_LINES = 20;

/** The whole of each changed definition with the comment above it, because the diff shows only a part of it. */
export function bodyPieces(changed: readonly Changed[]): Piece[] {
  return changed.flatMap(({ after, spots, risk }) => {
    if (after === null) return [];
    const { definition } = after;
    const { start, end } = definition;
    const isShort = isRun(definition) && end - start < REST_LINES;
    const rest = isShort ? [definitionPiece("body", after, [{ start, end }], risk * REST)] : [];
    return [definitionPiece("body", after, readableRanges(after, spots), risk * BODY), ...rest];
  });
}

/** The whole body; if it is long, its head, its end and the lines around the spots. */
function readableRanges(place: DefinitionSite, spots: readonly number[]): LineSpan[] {
  const { file, definition } = place;
  const body = bodyOf(place);
  if (values.has(definition.kind)) return valueRanges(place, body, spots);
  const isTypeBody = isType(definition);
  const length = body.end - body.start + 1;
  const doc = { start: Math.max(definition.docStart, body.start - MAX_BODY_DOC_LINES), end: body.start };
  if (length <= (isTypeBody ? WHOLE_TYPE_LINES : WHOLE_BODY_LINES))
    return joined([doc, body], file.lines.length);
  const around = isTypeBody ? AROUND_TYPE : AROUND_RUN;
  const near = spots.map((line) => clamped({ start: line - around, end: line + around }, body));
  const head = { start: body.start, end: body.start + HEAD_LINES - 1 };
  const tail = isTypeBody ? [] : [{ start: body.end - TAIL_LINES + 1, end: body.end }];
  return joined([doc, head, ...near, ...tail], file.lines.length);
}

const values: ReadonlySet<string> = new Set(["field", "constant", "variable"]);

/** The declaration with its comment among its neighbors, and the head of its type, without the rest of that type. */
function valueRanges(
  { file, definition }: DefinitionSite,
  body: LineSpan,
  spots: readonly number[],
): LineSpan[] {
  const { start, end, docStart } = definition;
  const around = { start: start - AROUND_FIELD, end: end + AROUND_FIELD };
  const near = spots
    .filter((line) => line >= start && line <= end)
    .map((line) => ({ start: line - AROUND_TYPE, end: line + AROUND_TYPE }));
  const isShort = end - start < WHOLE_VALUE_LINES;
  const own = isShort ? [around] : [{ start: around.start, end: start + HEAD_LINES }, ...near];
  const doc = { start: Math.max(docStart, start - MAX_BODY_DOC_LINES), end: start };
  const all = joined([{ start: body.start, end: body.start }, doc, ...own], file.lines.length);
  if (definition.kind !== "field") return all;
  return joined(
    all.map((range) => clamped(range, body)),
    file.lines.length,
  );
}

const CONTRACT = 0.75;
const SIBLING = 0.5;
/** Weight of a method that the change may have forgotten. */
const FORGOTTEN = 1.4;
const WHOLE_CONTRACT_LINES = 12;
const SIBLING_MAX_LINES = 25;
const SIBLING_MAX_DOC_LINES = 20;
const SIBLINGS_SHOWN = 8;
const SIBLING_REPEATED = 0.15;
/** A name that more types have is no contract between them. */
const MAX_TYPES = 8;

/** Methods that every type implements in its own way. */
const ownWay = new Set(
  (
    "constructor __init__ __new__ init initialize main setUp tearDown setup teardown toString String equals hashCode __repr__ " +
    "__str__ __eq__ __hash__ Error close Close get set"
  ).split(" "),
);

/** What a changed definition is to be compared with: the contract that it fulfills, others that fulfill it, and its twins. */
export function siblingPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  const isLarge = shareOf(changed) < 1;
  return changed.flatMap((one) => relatives(one, lookup, isLarge));
}

/** Methods of the same name in types that name each other or a third one, or that implement one declaration. */
function relatives(one: Changed, lookup: Lookup, isLarge: boolean): Piece[] {
  const own = one.site;
  const { name, kind, container } = own.definition;
  if (kind !== "method" || container === null || constructors.has(name) || isPrivate(own)) return [];
  const others = lookup
    .definitions(name)
    .filter(({ definition }) => definition.kind === "method" && definition.container !== container)
    .filter((site) => !isTestFile(site.file.path) && !isPrivate(site));
  const ownTypes = typeNames(own);
  const known = others.flatMap((site): (DefinitionSite & { isContract: boolean })[] => {
    const isDeclared = isDeclaration(site);
    const isBase = ownTypes.has(site.definition.container ?? "");
    const isRelated = [...typeNames(site)].some((type) => ownTypes.has(type));
    // In Go a type does not name the interface that it implements.
    const isImplied =
      /\.go$/.test(own.file.path) && isDeclared && !isCommonName(name) && !lookup.isCommon(name);
    if (isBase || isImplied) return [{ ...site, isContract: true }];
    return isRelated && !ownWay.has(name) ? [{ ...site, isContract: false }] : [];
  });
  if (new Set(known.map(({ definition }) => definition.container)).size > MAX_TYPES)
    return known.filter(({ isContract }) => isContract).map((site) => contractPiece(one, site));
  const near = nearestFirst(one.path, known, ({ definition }) => definition.start);
  const signature =
    one.before === null || one.after === null ? null : changedSignature(one.before, one.after);
  const isOld = (site: DefinitionSite) => signature !== null && parameters(site) !== signature;
  // Of a large change, others of the name count if they are built alike (alike.ts), or if it may have forgotten them.
  const beside = near.filter((site) => !site.isContract && (isOld(site) || !isLarge));
  return [
    ...near.filter(({ isContract }) => isContract).map((site) => contractPiece(one, site)),
    ...beside.map((site, at) => {
      const why = isOld(site) ? ", whose parameters differ from the changed ones" : ", of the same name";
      const likely = (isOld(site) ? FORGOTTEN : SIBLING) * closeness(one.path, site.file.path);
      const score = at < SIBLINGS_SHOWN ? (one.risk * likely) / (1 + at * SIBLING_REPEATED) : 0;
      return siblingPiece("sibling", site, why, score);
    }),
  ];
}

/** The declaration, with the whole of a short interface. */
function contractPiece(one: Changed, site: DefinitionSite): Piece {
  const piece = siblingPiece(
    "contract",
    site,
    `, which ${one.name} implements or overrides`,
    one.risk * CONTRACT,
  );
  const { file, definition } = site;
  const type = definitionsAt(file.definitions, definition.start).findLast(isType);
  if (!type || type.end - type.start >= WHOLE_CONTRACT_LINES) return piece;
  return {
    ...piece,
    ranges: joined([...piece.ranges, { start: type.docStart, end: type.end }], file.lines.length),
  };
}

function changedSignature(before: DefinitionSite, after: DefinitionSite): number | null {
  const count = parameters(after);
  return count === parameters(before) ? null : count;
}

/** The number of commas between the outermost brackets of a head, plus one. */
function parameters({ file, definition: { name, start, signatureEnd } }: DefinitionSite): number {
  const head = file.lines
    .slice(start - 1, signatureEnd)
    .join(" ")
    .slice(0, MAX_HEAD);
  const rest = head.slice(head.indexOf(name) + name.length);
  const open = rest.indexOf("(");
  if (open < 0) return 0;
  let [depth, count, isEmpty] = [0, 1, true];
  for (const character of rest.slice(open)) {
    if ("([{<".includes(character)) depth += 1;
    else if (")]}>".includes(character)) depth -= 1;
    else if (character === "," && depth === 1) count += 1;
    if (depth === 0) break;
    if (depth > 0 && /[\p{L}_]/u.test(character)) isEmpty = false;
  }
  return isEmpty ? 0 : count;
}

const MAX_HEAD = 600;

const typeNames = ({ file, definition: { container, start } }: DefinitionSite) =>
  new Set([
    container ?? "",
    ...typeHead(file, container ?? "", start).filter((word) => /^[A-Z]/.test(word) && !vagueTypes.has(word)),
  ]);

/** Types that unrelated types extend. */
const vagueTypes = new Set(
  "Object Serializable Cloneable Comparable Closeable AutoCloseable Runnable Error Exception ABC Base Generic Protocol T K V".split(
    " ",
  ),
);

const siblingPiece = (
  kind: "contract" | "sibling",
  site: DefinitionSite,
  why: string,
  score: number,
): Piece =>
  definitionPiece(kind, site, beginning(site, SIBLING_MAX_LINES, SIBLING_MAX_DOC_LINES), score, why);
