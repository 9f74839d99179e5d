import { isTestFile } from "../../analyzers/test-file.ts";
import { type Call, type Definition, definitionsAt } from "../../code/source.ts";
import { imports, isSameFolder } from "./closeness.ts";
import { isDeclaration, isRun, isType, type Place } from "./code-file.ts";
import { isCommonName } from "./common-names.ts";
import type { Lookup } from "./lookup.ts";
import { type ReceiverType, receiverType } from "./receiver-type.ts";

/** Definitions of one name, of which none is near, that are still shown. */
const FEW = 3;
/** How well a definition fits a call: what is at least this near is meant. */
const NEAR = 0.75;
/** The only definition of a name, however far. */
const UNIQUE = 0.74;
/** It stands in the same file, or is named by what stands in front of the call. */
const OWN = 0.9;
/** A guess: worth a name in a list, not its lines. */
const NAMED_ONLY = 0.1;
const MAX_HEAD_LINES = 3;

/** What a call may mean. */
export interface Resolved {
  place: Place;
  /** 0 to 1: how likely it is what the call means. */
  fit: number;
}

/** The definitions that a call may mean; none where the name alone says too little. */
export function resolveCall(call: Call, path: string, caller: Place, lookup: Lookup): Resolved[] {
  const own = caller.definition;
  const all = lookup
    .definitions(call.name)
    .filter(({ definition }) => isRun(definition) || isType(definition))
    .filter(({ file }) => !isTestFile(file.path) || isTestFile(path))
    .filter(({ file, definition }) => file.path !== path || !isWithin(definition, own));
  const bodies = all.filter((place) => !isDeclaration(place));
  const type = call.receiver === null ? null : receiverType(call.receiver, caller);
  const candidates = (bodies.length > 0 ? bodies : all)
    .map((place) => ({ place, fit: fitOf(call, path, caller, place, type) }))
    .filter(({ fit }) => fit > 0)
    .sort((a, b) => b.fit - a.fit);
  const best = candidates[0]?.fit ?? 0;
  const isKnown = call.receiver === null || ownObject.test(call.receiver);
  if (isCommonName(call.name) && best < OWN) return isKnown ? [] : guesses(candidates);
  if (best >= NEAR) return candidates.filter(({ fit }) => fit === best).slice(0, FEW);
  if (candidates.length === 1) return candidates.map((one) => ({ ...one, fit: UNIQUE }));
  if (!isKnown) return guesses(candidates);
  return candidates.length > FEW ? [] : candidates;
}

const guesses = (candidates: readonly Resolved[]): Resolved[] =>
  candidates.length > FEW ? [] : candidates.map((one) => ({ ...one, fit: NAMED_ONLY }));

/** Itself, and what it defines for itself. */
const isWithin = (inner: Definition, outer: Definition) =>
  inner.start >= outer.start && inner.end <= outer.end;

/** Words for the object that a method belongs to. */
const ownObject = /^(?:this|self|cls|@)$/;
const baseObject = /^(?:super\b|base$|parent$)/;
/** Languages in which a method is never called without its object. */
const callsWithObject = /\.(?:py|pyi|[cm]?[jt]sx?|go|rs|php)$/;

function fitOf(
  { receiver }: Call,
  path: string,
  caller: Place,
  place: Place,
  type: ReceiverType | null,
): number {
  const { file, definition } = place;
  const { container } = definition;
  if (receiver === null && container !== null && isRun(definition) && callsWithObject.test(path)) return 0;
  if (receiver === null || ownObject.test(receiver)) return fitOfOwn(caller, place);
  if (baseObject.test(receiver)) return fitOfBase(caller, container);
  if (isNamed(receiver, place)) return 0.95;
  if (container !== null) return type === null ? UNKNOWN : fitOfType(type, place, container);
  if (!isRun(definition)) return UNKNOWN;
  // A function is called by a module's name, of which there is none within it.
  if (file.path === path || type?.isCertain) return 0;
  return imports(caller.file, file.path) ? 0.85 : UNKNOWN;
}

/** Nothing tells of what type the object is. */
const UNKNOWN = 0.5;

/** Of what is called without an object, or on the own one. */
function fitOfOwn(caller: Place, { file, definition: { container } }: Place): number {
  const { path } = caller.file;
  if (file.path === path) return container === caller.definition.container ? 1 : OWN;
  if (imports(caller.file, file.path)) return 0.85;
  if (!isSameFolder(file.path, path)) return UNKNOWN;
  return container === null ? 0.8 : 0.6;
}

/** `Parser.next()`, `parser.next()`, `new Parser().next()`: whether the receiver names the type or the module. */
function isNamed(receiver: string, { file, definition: { container } }: Place): boolean {
  const words = receiver.replace(/\([^()]*\)$/, "").split(/\W+/);
  const name = words.at(-1)?.replace(/^_+/, "").toLowerCase() ?? "";
  if (name === "") return false;
  return [
    container?.toLowerCase(),
    stemOf(file.path),
    container === null ? folderOf(file.path) : null,
  ].includes(name);
}

/** By the type that the code declares for the receiver. */
function fitOfType(type: ReceiverType, place: Place, container: string): number {
  if (type.names.has(container)) return 0.95;
  const heads = headOf(place, container);
  if ([...type.names].some((one) => heads.includes(one))) return NEAR;
  return type.isCertain ? 0 : UNKNOWN;
}

/** Of what a class inherits: that of a class which its head names. */
function fitOfBase(caller: Place, container: string | null): number {
  const own = caller.definition.container;
  if (own === null || container === null || container === own) return 0;
  return headOf(caller, own).includes(container) ? 1 : 0;
}

/** The words of the head of the type around a definition: what it extends is among them. */
function headOf({ file, definition }: Place, type: string): string[] {
  const around = definitionsAt(file.definitions, definition.start).findLast(
    (one) => isType(one) && one.name === type,
  );
  if (!around) return [];
  const end = Math.min(around.signatureEnd, around.start + MAX_HEAD_LINES - 1);
  return file.lines.slice(around.start - 1, end).flatMap((line) => line.slice(0, 500).match(/[\w$]+/g) ?? []);
}

const stemOf = (path: string) => path.replace(/^.*\//, "").replace(/\..*$/, "").toLowerCase();
const folderOf = (path: string) => path.split("/").at(-2)?.toLowerCase() ?? "";
