import {
  type DefinitionSite,
  fullName,
  isDeclaration,
  isPrivate,
  isRun,
} from "../../../repo/code/code-file.ts";
import { closeness, constructors, isCommonName, nearestFirst, typeHead } from "../../../repo/code/names.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isWithin } from "./changed.ts";
import type { Lookup } from "./lookup.ts";
import { beginning, definitionPiece, type Piece } from "./pieces.ts";

const CONTRACT = 0.75;
const SIBLING = 0.5;
const TWIN = 0.45;
const MAX_LINES = 25;
const MAX_DOC_LINES = 20;
const SHOWN = 8;
const TWINS = 4;
const REPEATED = 0.15;
/** A name that more types have is no contract between them. */
const MAX_TYPES = 8;

/** Methods that every type implements in its own way. */
const ownWay = new Set(
  (
    "constructor __init__ __new__ init initialize main setUp tearDown setup teardown toString String equals hashCode __repr__ " +
    "__str__ __eq__ __hash__ Error close Close get set"
  ).split(" "),
);

/** What a changed definition is to be compared with: the contract that it fulfils, others that fulfil it, and its twins. */
export function siblingPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => [...relatives(one, lookup), ...twins(one, lookup)]);
}

interface Relative extends DefinitionSite {
  isContract: boolean;
}

/** Methods of the same name in types that name each other or a third one, or that implement one declaration. */
function relatives(one: Changed, lookup: Lookup): Piece[] {
  const own = one.site;
  const { name, kind, container } = own.definition;
  if (kind !== "method" || container === null || constructors.has(name) || isPrivate(own)) return [];
  const others = lookup
    .definitions(name)
    .filter(({ definition }) => definition.kind === "method" && definition.container !== container)
    .filter((site) => !isTestFile(site.file.path) && !isPrivate(site));
  const ownTypes = typeNames(own);
  const known = others.flatMap((site): Relative[] => {
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
  const beside = near.filter(({ isContract }) => !isContract);
  return [
    ...near.filter(({ isContract }) => isContract).map((site) => contractPiece(one, site)),
    ...beside.map((site, at) => {
      const isOld = signature !== null && parameters(site) !== signature;
      const why = isOld ? ", whose parameters differ from the changed ones" : ", of the same name";
      const likely = SIBLING * closeness(one.path, site.file.path);
      const score = at < SHOWN ? (one.risk * likely) / (1 + at * REPEATED) : 0;
      return pieceOf("sibling", site, why, score);
    }),
  ];
}

function contractPiece(one: Changed, site: DefinitionSite): Piece {
  return pieceOf("contract", site, `, which ${one.name} implements or overrides`, one.risk * CONTRACT);
}

/** The number of parameters at head, if the change has altered it; else null. */
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

/** A type's name and what its head names after it. */
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

/** Words that make counterparts of names: what one creates, another one looks up and a third one ends. */
const counterparts: readonly (readonly string[])[] = [
  "create add insert register new make get find lookup load update delete remove destroy unregister".split(
    " ",
  ),
  ["open", "close"],
  ["acquire", "release"],
  ["lock", "unlock"],
  ["start", "stop"],
  ["begin", "end"],
  ["enable", "disable"],
  ["encode", "decode"],
  ["serialize", "deserialize"],
  ["marshal", "unmarshal"],
  ["parse", "format", "render", "print"],
  ["read", "write"],
  ["send", "receive"],
  ["push", "pop"],
  ["get", "set", "has"],
  ["subscribe", "unsubscribe"],
  ["attach", "detach"],
  ["import", "export"],
  ["save", "load", "restore"],
  ["encrypt", "decrypt"],
  ["compress", "decompress"],
  ["show", "hide"],
  ["before", "after"],
];

const areCounterparts = (one: string, other: string) =>
  counterparts.some((group) => group.includes(one) && group.includes(other));

/** `createRow`, `create_row`, `CreateRowAsync` as words. */
export const wordsOf = (name: string): string[] =>
  name
    .replace(/^[_#]+/, "")
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split("_")
    .filter((word) => word !== "");

/** Whether two names differ only in words that are counterparts, or in `sync` and `async`. */
export function areTwins(one: string, other: string): boolean {
  const plain = (name: string) => wordsOf(name).filter((word) => word !== "sync" && word !== "async");
  const [a, b] = [plain(one), plain(other)];
  if (one === other || a.length !== b.length || a.length === 0) return false;
  const unlike = a.flatMap((word, at) => (word === b[at] ? [] : [{ word, other: b[at] ?? "" }]));
  const [first] = unlike;
  if (first === undefined) return wordsOf(one).length !== wordsOf(other).length;
  // A word that both have says what they are about.
  return unlike.length === 1 && a.length > 1 && areCounterparts(first.word, first.other);
}

/** Functions in the same file or of the same folder whose names are counterparts of the changed one's. */
function twins(one: Changed, lookup: Lookup): Piece[] {
  const own = one.site;
  if (!isRun(own.definition) || constructors.has(one.name)) return [];
  const found = lookup
    .near(one.path)
    .flatMap((file) => file.definitions.map((definition) => ({ file, definition })))
    .filter(
      (site) => isRun(site.definition) && !isDeclaration(site) && areTwins(one.name, site.definition.name),
    )
    .filter(({ file, definition }) => !isWithin(one, { path: file.path, line: definition.start }));
  return nearestFirst(one.path, found, ({ definition }) =>
    Math.abs(definition.start - own.definition.start),
  ).map((site, at) => {
    const score =
      at < TWINS ? (one.risk * TWIN * closeness(one.path, site.file.path)) / (1 + at * REPEATED) : 0;
    return pieceOf("sibling", site, `, counterpart of ${fullName(own.definition)}`, score);
  });
}

const pieceOf = (kind: "contract" | "sibling", site: DefinitionSite, why: string, score: number): Piece =>
  definitionPiece(kind, site, beginning(site, MAX_LINES, MAX_DOC_LINES), score, why);
