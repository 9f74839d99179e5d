import { type CodeFile, isRun, isType, type ParsedFile } from "./code-file.ts";
import { isTypeName, notTypes, wordsDeclaring } from "./declared-types.ts";
import { familyOf, folderOf } from "./imports.ts";
import { type Definition, definitionsAt, type Reference } from "./source.ts";

/*
 * Resolves what a name means at a place, by the code before it, the declared types and the imports. The same rule tells which definition a
 * name means, and which places use a definition.
 */

interface NameUse {
  file: CodeFile;
  /** The text before the name: `this`, `client`, `new Parser()`; null if there is none. */
  receiver: string | null;
  /** The definition that contains the use; null outside of all definitions. */
  around: Definition | null;
}

interface NameTarget {
  file: CodeFile;
  definition: Pick<Definition, "name" | "kind" | "container" | "start">;
}

/** How well a target fits a use. From here on, the use means it. */
const NEAR = 0.75;
/** It is in the same file or type, or its type is named or declared. */
const OWN = 0.9;
/** From here on, the target's lines are worth showing. */
export const POSSIBLE = 0.2;
/** The use imports the file of the target, or knows it in another way. */
export const NAMED = 0.85;
export const KNOWN = 0.8;
/** The use knows the file, and the name is that of a method. */
const LIKELY = 0.7;
/** Nothing connects the two files, but the name needs no import in some languages. */
const GLOBAL = 0.6;
const UNKNOWN = 0.5;
/** A method of the use's own object that another class defines, or of an object that evidently has another type. */
const ELSEWHERE = 0.3;
const OTHER = 0.15;

/** Words for the object that a method belongs to. */
export const ownObject = /^(?:this|self|Self|static|cls|@|exports|module\.exports)$/;
const baseObject = /^(?:super\b|base$|parent$)/;
/** Languages in which a method call always names its object. */
const callsWithObject = /\.(?:py|pyi|[cm]?[jt]sx?|go|rs|php)$/;

/** How likely a use of a target's name means it, 0 to 1. */
export function fitOf(use: NameUse, target: NameTarget): number {
  const { file, definition } = target;
  const { container } = definition;
  const { receiver } = use;
  const isSameFile = file.path === use.file.path;
  if (definition.name.startsWith("#") && !isSameFile) return 0;
  if (
    receiver === null &&
    container !== null &&
    isCallable(definition) &&
    callsWithObject.test(use.file.path)
  )
    return 0;
  if (receiver === null || ownObject.test(receiver)) return fitOfOwn(use, target);
  if (baseObject.test(receiver)) return fitOfBase(use, container);
  if (isNamed(receiver, target)) return 0.95;
  const type = receiverType(receiver, use);
  if (container !== null) return fitOfType(use, receiver, type, target);
  if (!isCallable(definition)) return knows(use.file, file.path) ? NAMED : UNKNOWN;
  // A function is called by the name of its module, which has none within the module.
  if (isSameFile || type.isCertain) return 0;
  return importsFile(use.file, file.path) ? NAMED : UNKNOWN;
}

const isCallable = ({ kind }: NameTarget["definition"]) =>
  kind === "function" || kind === "method" || kind === "macro";

/** The fit of a use without an object, or on the own object. */
function fitOfOwn(use: NameUse, { file, definition: { container, start } }: NameTarget): number {
  const own = use.around?.container ?? null;
  const isSameFile = file.path === use.file.path;
  if (isSameFile && container === own) return 1;
  if (container !== null && container === own) return 0.95;
  if (
    container !== null &&
    own !== null &&
    typeHead(use.file, own, use.around?.start ?? 1).includes(container)
  )
    return 0.95;
  if (use.receiver !== null && container !== null && own !== null) {
    // A class that extends the own one may override it.
    return typeHead(file, container, start).includes(own) ? KNOWN : ELSEWHERE;
  }
  if (isSameFile) return OWN;
  if (importsFile(use.file, file.path)) return NAMED;
  if (isSameFolder(file.path, use.file.path)) return container === null ? KNOWN : GLOBAL;
  return container === null ? GLOBAL : UNKNOWN;
}

/** The fit of an inherited member: of a class that the own class names in its head. */
function fitOfBase({ file, around }: NameUse, container: string | null): number {
  const own = around?.container ?? null;
  if (around === null || own === null || container === null || container === own) return 0;
  return typeHead(file, own, around.start).includes(container) ? 1 : 0;
}

/** The fit of a member by the type that the code declares for the object, or else by what the code around knows. */
function fitOfType(
  use: NameUse,
  receiver: string,
  type: ReceiverType,
  { file, definition }: NameTarget,
): number {
  const container = definition.container ?? "";
  if (type.names.has(container)) return 0.95;
  const head = typeHead(file, container, definition.start);
  if ([...type.names].some((one) => head.includes(one))) return NEAR;
  if (type.isCertain) return OTHER;
  if (isNamedLike(receiver, container)) return NAMED;
  if (container === use.around?.container) return UNKNOWN;
  // Objects of many types have a method of the same name; a field is more specific.
  const isMethod = isCallable(definition);
  if (use.around !== null && wordsOf(use.file, use.around).has(container)) return isMethod ? KNOWN : OWN;
  if (!knows(use.file, file.path)) return UNKNOWN;
  return isMethod ? LIKELY : KNOWN;
}

/** `Parser.next()`, `parser.next()`, `new Parser().next()`: whether the receiver names the type or the module. */
function isNamed(receiver: string, { file, definition: { container } }: NameTarget): boolean {
  const name = lastWord(receiver);
  if (name === "") return false;
  const folder = container === null ? file.path.split("/").at(-2)?.toLowerCase() : null;
  return name === container?.toLowerCase() || name === stemOf(file.path) || name === folder;
}

/** `upstream`, `theUpstream` and `up` for `Upstream`. */
function isNamedLike(receiver: string, container: string): boolean {
  const [name, type] = [lastWord(receiver), container.toLowerCase()];
  return name.length > 2 && (type.includes(name) || name.includes(type));
}

const lastWord = (receiver: string) =>
  receiver
    .replace(/\([^()]*\)$/, "")
    .split(/\W+/)
    .at(-1)
    ?.replace(/^_+/, "")
    .toLowerCase() ?? "";

const stemOf = (path: string) => path.replace(/^.*\//, "").replace(/\..*$/, "").toLowerCase();

/** If no target is decisive, up to this number are shown. */
const FEW = 3;
/** The only definition of a name, at any distance. */
export const UNIQUE = 0.74;

/** The targets that a use may mean, best first, at most `few` that fit equally well; none if the name says too little. */
export function bestTargets<Target>(
  name: string,
  rated: readonly (Target & { fit: number })[],
  few: number,
): (Target & { fit: number })[] {
  const candidates = rated.filter(({ fit }) => fit >= POSSIBLE).toSorted((a, b) => b.fit - a.fit);
  const best = candidates[0]?.fit ?? 0;
  if (isCommonName(name) && best < OWN) return [];
  if (best >= NEAR) {
    const nearest = candidates.filter(({ fit }) => fit === best);
    return nearest.length > few && best <= KNOWN ? [] : nearest.slice(0, few);
  }
  if (candidates.length === 1) return candidates.map((one) => ({ ...one, fit: UNIQUE }));
  return candidates.length > Math.min(few, FEW) ? [] : candidates;
}

/** Whether the name has no object before it, or the own one. */
export const isOwnUse = ({ receiver }: Pick<NameUse, "receiver">): boolean =>
  receiver === null || ownObject.test(receiver);

const MAX_HEAD_LINES = 3;

/** The words in the head of the type with this name around a line, including the types that it extends. */
export function typeHead(file: CodeFile, type: string, line: number): string[] {
  const around =
    definitionsAt(file.definitions, line).findLast((one) => isType(one) && one.name === type) ??
    file.definitions.find((one) => isType(one) && one.name === type);
  if (!around) return [];
  return wordsIn(file, around.start, Math.min(around.signatureEnd, around.start + MAX_HEAD_LINES - 1));
}

const MAX_SEARCHED = 300;
const knownWords = new WeakMap<Definition, ReadonlySet<string>>();

function wordsOf(file: CodeFile, around: Definition): ReadonlySet<string> {
  const words =
    knownWords.get(around) ??
    new Set(wordsIn(file, around.start, Math.min(around.end, around.start + MAX_SEARCHED)));
  knownWords.set(around, words);
  return words;
}

const wordsIn = ({ lines }: CodeFile, start: number, end: number) =>
  lines.slice(start - 1, end).flatMap((line) => line.slice(0, 500).match(/[\p{L}\p{N}_$]+/gu) ?? []);

const isSameFolder = (a: string, b: string): boolean => folderOf(a) === folderOf(b);

/** Whether a file imports another one. A header counts as the source with its name. */
function importsFile({ path: from, imports }: CodeFile, path: string): boolean {
  if (imports.has(path)) return true;
  return familyOf(from) === "c" && [...imports].some((one) => stemOf(one) === stemOf(path));
}

const knows = (file: CodeFile, path: string) =>
  file.path === path || isSameFolder(file.path, path) || importsFile(file, path);

/** The names of constructors in various languages. */
export const constructors: ReadonlySet<string> = new Set(
  "__init__ __new__ constructor initialize init __construct".split(" "),
);

/** Names that nearly every repository or language has: they do not identify a definition. */
const common = new Set(
  (
    "get set has add push pop map filter find test run call apply bind join split slice splice concat keys values entries " +
    "fn cb callback path line key url free malloc on off once emit end data value name type id item node result options config context handler " +
    "next then catch close open read write print println printf format parse toString equals hashCode length size len " +
    "append remove delete clear copy clone init start stop update insert index count min max sort reverse replace trim " +
    "encode decode load save send reset merge group match search contains error warn info debug log assert expect create build new make of from to is String Number Object Array Error"
  ).split(" "),
);

export const isCommonName = (name: string): boolean => common.has(name);

/** The last word before a member's name on a line; null if there is none. */
export function receiverOf(text: string, name: string): string | null {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = memberOf.exec(text.slice(Math.max(0, at - 200), at));
    if (before) return before[1] ?? null;
  }
  return null;
}

/** An object, or the call that creates one, with the operator that leads to its members. */
const memberOf = /([\w$]+)(?:\([^()]*\))?\s*(?:\?\.|\.|->|::|!!\.|&\.)\s*$/;

/** The occurrences of the names in the code of a file, each with the text before it. */
export function mentionsIn(
  { code: file, source }: ParsedFile,
  names: ReadonlySet<string>,
): (Reference & { file: CodeFile; receiver: string | null })[] {
  return source.references(names).map(({ receiver, ...mention }) => ({
    ...mention,
    file,
    receiver:
      receiver === undefined ? receiverOf(file.lines[mention.line - 1] ?? "", mention.name) : receiver,
  }));
}

/** Whether a name is on a line as part of an object, or as a key. */
export function isMember(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (/(?:\.|->|::|@)$/.test(text.slice(Math.max(0, at - 2), at))) return true;
    if (/^["']?\s*:(?![:=])/.test(text.slice(at + name.length, at + name.length + 8))) return true;
  }
  return false;
}

interface ReceiverType {
  names: ReadonlySet<string>;
  isCertain: boolean;
}

const knownTypes = new WeakMap<NameUse, ReceiverType>();

/** The type of a use's receiver. It is the same for each of the targets that the use is compared with. */
function receiverType(receiver: string, use: NameUse): ReceiverType {
  const type = knownTypes.get(use) ?? declaredType(receiver, use);
  knownTypes.set(use, type);
  return type;
}

function declaredType(receiver: string, { file, around }: NameUse): ReceiverType {
  const name = /([\p{L}_$][\p{L}\p{N}_$]*)\)?$/u.exec(receiver)?.[1];
  // Members of the object itself are declared elsewhere.
  if (name === undefined || receiver !== name || around === null || !isRun(around))
    return { names: new Set(), isCertain: false };
  const { start, end } = around;
  const words = [...wordsDeclaring(name, { path: file.path, lines: file.lines, start, end })];
  const names = words.map((word) => word.split(".").at(-1) ?? "").filter((word) => !notTypes.test(word));
  return { names: new Set(names), isCertain: names.some(isTypeName) };
}

/** How near two files are, from 0.6 in different corners of the repository to 1 for the same file. */
export function closeness(a: string, b: string): number {
  if (a === b) return 1;
  const [left, right] = [a.split("/").slice(0, -1), b.split("/").slice(0, -1)];
  const most = Math.max(left.length, right.length);
  if (most === 0) return 0.9;
  let shared = 0;
  while (shared < most && left[shared] === right[shared] && left[shared] !== undefined) shared += 1;
  return 0.6 + (0.3 * shared) / most;
}

/** Sorts by nearness to a path; equally near ones by path and line. */
export function nearestFirst<At extends { file: { path: string } }>(
  path: string,
  places: readonly At[],
  lineOf: (place: At) => number,
): At[] {
  return places.toSorted(
    (a, b) =>
      closeness(path, b.file.path) - closeness(path, a.file.path) ||
      (a.file.path === b.file.path ? 0 : a.file.path < b.file.path ? -1 : 1) ||
      lineOf(a) - lineOf(b),
  );
}

/** Compares by the first of several numbers that differs; the smaller one comes first. */
export function compareRanks(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

/** `createRow`, `create_row`, `CreateRow` as words. */
export const wordsOfName = (name: string): string[] =>
  name
    .slice(0, MAX_NAME)
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== "");

const MAX_NAME = 300;
