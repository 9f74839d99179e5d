import { isTestFile } from "../../analyzers/test-file.ts";
import { type Definition, definitionsAt } from "../../code/source.ts";
import { fullName } from "../../tools/definition-name.ts";
import type { Changed } from "./changed.ts";
import { imports, isSameFolder, nearestFirst } from "./closeness.ts";
import { type CodeFile, isRun, isType, type Place } from "./code-file.ts";
import { isCommonName } from "./common-names.ts";
import type { Lookup, Mention } from "./lookup.ts";
import type { Piece, ShownLines } from "./pieces.ts";
import { ownObject, receiverOf } from "./receiver.ts";
import { receiverType } from "./receiver-type.ts";
import { isMember, joined, type Range } from "./text-file.ts";
import { constructors } from "./uses.ts";

const MEMBER = 0.6;
/** A type up to this length is shown whole, a longer one around the member. */
const WHOLE_LINES = 30;
const NEIGHBOURS = 8;
const MAX_DOC_LINES = 10;
const MAX_HEAD_LINES = 3;
/** Lines of a value that a member begins with. */
const MAX_VALUE_LINES = 6;
/** A name that more types have is nothing special. */
const MAX_DECLARATIONS = 40;
/** Declarations of one name that fit equally well, or of which none is near. */
const FEW = 2;
/** Types that are shown for one changed definition. */
const SHOWN = 6;
const REPEATED = 0.1;
/** How well a declaration fits: what is at least this near is meant. */
const NEAR = 0.75;
/** The only declaration of a name, however far. */
const UNIQUE = 0.74;
/** What code tells of a name that everybody has has to be this plain. */
const PLAIN = 0.9;

/** Where a member is declared. */
interface Declared {
  name: string;
  file: CodeFile;
  /** With the comment above. */
  range: Range;
  line: number;
  type: Definition;
  fit: number;
}

/** The code that uses members. */
interface User {
  one: Changed;
  after: Place;
  /** What its code names. */
  words: ReadonlySet<string>;
}

/** The types of the values whose members added lines newly read or set, around these members. */
export function memberPieces(changed: readonly Changed[], lookup: Lookup, shown: ShownLines): Piece[] {
  const known = new Map<string, Candidate[]>();
  const declarations = (name: string) => {
    const all = known.get(name) ?? declarationsOf(name, lookup);
    known.set(name, all);
    return all;
  };
  const pieces = changed.flatMap((one) => {
    if (one.after === null) return [];
    const user = { one, after: one.after, words: new Set(wordsIn(one.after)) };
    const names = [...new Set([...one.newNames, ...one.setNames])];
    const found = names.flatMap((name) => resolve(user, name, declarations(name)));
    // What the diff shows stands among its neighbours already.
    const unseen = found.filter(({ file, line }) => !shown.has(file, line));
    const types = [...Map.groupBy(unseen, ({ file, type }) => `${file.path} ${type.start}`).values()];
    const byFit = types.toSorted((a, b) => bestOf(b) - bestOf(a));
    return byFit.flatMap((members, at) => pieceOf(user, members, at));
  });
  return withoutRepeated(pieces);
}

/** The same members for whoever needs them most. */
function withoutRepeated(pieces: readonly Piece[]): Piece[] {
  const best = new Map<string, Piece>();
  for (const piece of pieces) {
    const key = [piece.file.path, piece.line, ...piece.ranges.flatMap(({ start, end }) => [start, end])].join(
      " ",
    );
    if (piece.score > (best.get(key)?.score ?? -1)) best.set(key, piece);
  }
  return [...best.values()];
}

const bestOf = (members: readonly Declared[]) => Math.max(...members.map(({ fit }) => fit));

/** The declarations that a member's name on added lines may mean; none where the name alone says too little. */
function resolve(user: User, name: string, all: readonly Candidate[]): Declared[] {
  if (all.length === 0 || all.length > MAX_DECLARATIONS) return [];
  const candidates = all
    .map((declared) => ({ ...declared, fit: fitOf(user, declared) }))
    .filter(({ fit }) => fit > 0);
  const best = bestOf(candidates);
  if (isCommonName(name) && best < PLAIN) return [];
  const near = nearestFirst(user.one.path, candidates, ({ line }) => line);
  if (best >= NEAR) return near.filter(({ fit }) => fit === best).slice(0, FEW);
  if (candidates.length > FEW) return [];
  return candidates.length === 1 ? near.map((declared) => ({ ...declared, fit: UNIQUE })) : near;
}

type Candidate = Omit<Declared, "fit">;

/** Fields and constants of types, what a type's head lists, and what constructors set. */
function declarationsOf(name: string, lookup: Lookup): Candidate[] {
  const fields = lookup.definitions(name).flatMap((place) => fieldOf(place));
  const known = new Set(fields.map(typeKey));
  const others: Candidate[] = [];
  for (const mention of lookup.mentions(name)) {
    const declared = declaredAt(name, mention);
    if (declared === null || known.has(typeKey(declared))) continue;
    known.add(typeKey(declared));
    others.push(declared);
  }
  return [...fields, ...others].filter(({ file }) => !isTestFile(file.path));
}

const typeKey = ({ file, type }: Candidate) => `${file.path} ${type.start}`;

function fieldOf({ file, definition }: Place): Candidate[] {
  const { name, kind, docStart, start, end } = definition;
  const type = typeAt(file, start);
  if (type === null || !(kind === "field" || (kind === "constant" && definition.container !== null)))
    return [];
  const range = {
    start: Math.max(docStart, start - MAX_DOC_LINES),
    end: Math.min(end, start + MAX_VALUE_LINES),
  };
  return [{ name, file, range, line: start, type }];
}

/** A record's component, a property among a constructor's parameters, or what a constructor gives its object. */
function declaredAt(name: string, { file, line, role }: Mention): Candidate | null {
  if (role !== "write" && role !== "definition") return null;
  const type = typeAt(file, line);
  if (type === null) return null;
  const run = definitionsAt(file.definitions, line).findLast(isRun);
  const text = file.lines[line - 1] ?? "";
  const declares = run
    ? constructors.has(run.name) && (role === "write" ? isOwn(text, name) : isParameterProperty(text, role))
    : role === "definition" && line <= type.signatureEnd;
  return declares ? { name, file, range: { start: line, end: line }, line, type } : null;
}

const isOwn = (text: string, name: string) => ownObject.test(receiverOf(text, name) ?? "");

const isParameterProperty = (text: string, role: Mention["role"]) =>
  role === "definition" && /\b(?:public|private|protected|readonly)\s/.test(text.slice(0, 500));

const typeAt = (file: CodeFile, line: number) =>
  definitionsAt(file.definitions, line).findLast(isType) ?? null;

/** How likely it is that the change means this member: by what stands in front of it, and by what its code names. */
function fitOf({ one, after, words }: User, { name, file, type, line }: Candidate): number {
  const { definition } = after;
  if (file.path === one.path && line >= definition.start && line <= definition.end) return 0;
  const texts = one.added.map((at) => (after.file.lines[at - 1] ?? "").slice(0, 500));
  const using = texts.filter((text) => isMember(text, name));
  const isOwnType = type.name === definition.container;
  // Without an object it is a member of the own type, or a variable.
  if (using.length === 0) return isOwnType && texts.some((text) => text.includes(name)) ? 0.95 : 0;
  const receivers = using.map((text) => receiverOf(text, name)).filter((receiver) => receiver !== null);
  const known = fitOfReceivers(after, receivers, { file, type });
  if (known !== null) return known;
  if (words.has(type.name)) return PLAIN;
  if (file.path === one.path) return 0.85;
  return imports(after.file, file.path) || isSameFolder(file.path, one.path) ? 0.8 : 0.5;
}

/** What the objects in front of a member tell of its type; null for nothing. */
function fitOfReceivers(
  after: Place,
  receivers: readonly string[],
  { file, type }: Pick<Candidate, "file" | "type">,
): number | null {
  const own = receivers.filter((receiver) => ownObject.test(receiver));
  const { container } = after.definition;
  if (own.length > 0 && type.name === container) {
    // What is asked of `super` is not the type's own.
    if (own.some((receiver) => receiver !== "super")) return 1;
    if (own.length === receivers.length) return 0;
  } else if (own.length > 0 && headOf(after, container).includes(type.name)) return 0.95;
  if (receivers.some((receiver) => isNamedLike(receiver, type.name))) return 0.95;
  const declared = receivers.map((receiver) => receiverType(receiver, after));
  if (declared.some(({ names }) => names.has(type.name))) return 0.95;
  const heads = wordsOn(file, type.start, Math.min(type.signatureEnd, type.start + MAX_HEAD_LINES - 1));
  // Each object is evidently one of another type, which this one does not extend.
  const isOther = declared.every(({ names, isCertain }) => isCertain && !heads.some((one) => names.has(one)));
  return declared.length > 0 && isOther ? 0 : null;
}

/** `upstream`, `theUpstream` and `up` for `Upstream`. */
function isNamedLike(receiver: string, type: string): boolean {
  const name = type.toLowerCase();
  return receiver.length > 2 && (name.includes(receiver) || receiver.includes(name));
}

/** The words of the head of a type: what it extends is among them. */
function headOf({ file, definition }: Place, type: string | null): string[] {
  const own = definitionsAt(file.definitions, definition.start).findLast(
    (one) => isType(one) && one.name === type,
  );
  if (!own) return [];
  return wordsOn(file, own.start, Math.min(own.signatureEnd, own.start + MAX_HEAD_LINES - 1));
}

/** Lines of a definition that are searched for the names of types. */
const MAX_SEARCHED = 300;

const wordsIn = ({ file, definition: { start, end } }: Place) =>
  wordsOn(file, start, Math.min(end, start + MAX_SEARCHED));

const wordsOn = (file: CodeFile, start: number, end: number) =>
  file.lines.slice(start - 1, end).flatMap((line) => line.slice(0, 500).match(/[\p{L}\p{N}_$]+/gu) ?? []);

function pieceOf({ one, after }: User, members: readonly Declared[], at: number): Piece[] {
  const [first] = members;
  if (!first) return [];
  const { file, type } = first;
  const whose = [...new Set(members.map(({ name }) => name))].slice(0, NAMED);
  const score = at < SHOWN ? (one.risk * MEMBER * bestOf(members)) / (1 + at * REPEATED) : 0;
  return [
    {
      ...{ kind: "member", file, score },
      ranges: rangesOf(members, type, file),
      extent: { start: type.start, end: type.end },
      line: first.line,
      subject: first.name,
      title: `${type.kind} ${fullName(type)} with ${whose.join(", ")}, which ${fullName(after.definition)} uses`,
      mayBeCut: false,
    },
  ];
}

/** Members that a title names. */
const NAMED = 4;

function rangesOf(members: readonly Declared[], type: Definition, file: CodeFile): Range[] {
  const start = Math.max(type.docStart, type.start - MAX_DOC_LINES);
  if (type.end - type.start < WHOLE_LINES) return [{ start, end: type.end }];
  const head = { start, end: Math.min(type.signatureEnd, type.start + MAX_HEAD_LINES - 1) };
  const near = members.map(({ range }) => ({
    start: Math.max(type.start, range.start - NEIGHBOURS),
    end: Math.min(type.end, range.end + NEIGHBOURS),
  }));
  return joined([head, ...near], file.lines.length);
}
