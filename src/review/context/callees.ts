import { isTestFile } from "../../analyzers/test-file.ts";
import type { Call, Definition } from "../../syntax/source.ts";
import type { Changed } from "./changed.ts";
import { imports, isSameFolder } from "./closeness.ts";
import { fullName, isDeclaration, isRun, isType, type Place, READABLE } from "./code-file.ts";
import { isCommonName } from "./common-names.ts";
import type { Lookup } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const CALLEE = 0.8;
/** Calls on lines that did not change, and on such that are far from any that did. */
const UNCHANGED = 0.5;
const FAR = 0.35;
const FAR_LINES = 12;
/** What the old code called and the new one does not. */
const DROPPED = 0.6;
const MAX_LINES = 60;
/** Of what only unchanged lines call. */
const MAX_UNCHANGED_LINES = 30;
const MAX_DOC_LINES = 10;
const TYPE_LINES = 25;
/** Definitions of one name, of which none is near, that are still shown. */
const FEW = 3;
/** How well a definition fits a call: what is at least this near is meant. */
const NEAR = 0.75;
/** The only definition of a name, however far. */
const UNIQUE = 0.74;
/** It stands in the same file, or is named by what stands in front of the call. */
const OWN = 0.9;

/** The bodies of what the changed code calls, those called on changed lines first. */
export function calleePieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => {
    const kept = piecesOf(one, one.after, one.calls, lookup, (lines) => weightOf(one, lines));
    const dropped = piecesOf(one, one.before, one.droppedCalls, lookup, () => DROPPED);
    return [...kept, ...dropped];
  });
}

/** Nothing for what a long function calls far from its changes: that part of it is not shown either. */
function weightOf({ added, spots, after }: Changed, lines: readonly number[]): number {
  if (lines.some((line) => added.includes(line))) return CALLEE;
  const isNear = lines.some((line) => spots.some((spot) => Math.abs(line - spot) <= FAR_LINES));
  if (isNear) return UNCHANGED;
  const length = after === null ? 0 : after.definition.end - after.definition.start;
  return length > READABLE ? 0 : FAR;
}

function piecesOf(
  { path, risk }: Changed,
  caller: Place | null,
  calls: readonly Call[],
  lookup: Lookup,
  weigh: (lines: readonly number[]) => number,
): Piece[] {
  if (caller === null) return [];
  const byName = Map.groupBy(calls, ({ name }) => name);
  return [...byName.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const lines = same.map(({ line }) => line);
    const found = resolve(first, path, caller, lookup);
    const weight = weigh(lines);
    if (weight === 0) return [];
    const when = weight === DROPPED ? "was called" : "called";
    const title = `${when} by ${fullName(caller.definition)} on line ${lines[0]}`;
    const length = weight <= UNCHANGED ? MAX_UNCHANGED_LINES : MAX_LINES;
    return found.map(({ place, fit }) => pieceOf(place, length, title, risk * weight * fit));
  });
}

function pieceOf({ file, definition }: Place, maxLines: number, why: string, score: number): Piece {
  const start = Math.max(definition.docStart, definition.start - MAX_DOC_LINES);
  const length = isType(definition) ? TYPE_LINES : maxLines;
  return {
    kind: "callee",
    file,
    ranges: [{ start, end: Math.min(definition.end, definition.start + length - 1) }],
    extent: { start: definition.start, end: definition.end },
    line: definition.start,
    subject: definition.name,
    title: `${definition.kind} ${fullName(definition)}, ${why}`,
    score,
    mayBeCut: true,
  };
}

interface Resolved {
  place: Place;
  /** 0 to 1: how likely it is what the call means. */
  fit: number;
}

/** The definitions that a call may mean; none where the name alone says too little. */
function resolve(call: Call, path: string, caller: Place, lookup: Lookup): Resolved[] {
  const own = caller.definition;
  const all = lookup
    .definitions(call.name)
    .filter(({ definition }) => isRun(definition) || isType(definition))
    .filter(({ file }) => !isTestFile(file.path) || isTestFile(path))
    .filter(({ file, definition }) => file.path !== path || !isWithin(definition, own));
  const bodies = all.filter((place) => !isDeclaration(place));
  const candidates = (bodies.length > 0 ? bodies : all)
    .map((place) => ({ place, fit: fitOf(call, path, caller, place) }))
    .sort((a, b) => b.fit - a.fit);
  const best = candidates[0]?.fit ?? 0;
  if (isCommonName(call.name) && best < OWN) return [];
  if (best >= NEAR) return candidates.filter(({ fit }) => fit === best).slice(0, FEW);
  if (candidates.length > FEW) return [];
  return candidates.map((one) => (candidates.length === 1 ? { ...one, fit: UNIQUE } : one));
}

/** Itself, and what it defines for itself. */
const isWithin = (inner: Definition, outer: Definition) =>
  inner.start >= outer.start && inner.end <= outer.end;

/** Words for the object that a method belongs to. */
const ownObject = /^(?:this|self|cls|super|@)$/;

function fitOf({ receiver }: Call, path: string, caller: Place, { file, definition }: Place): number {
  const isOwn = receiver === null || ownObject.test(receiver);
  const isSameFile = file.path === path;
  if (isSameFile && isOwn && definition.container === caller.definition.container) return 1;
  // `Parser.next()`, `parser.next()`: the receiver names the type or the module.
  const last = receiver?.split(/\W+/).at(-1)?.toLowerCase() ?? "";
  const stem = file.path.replace(/^.*\//, "").replace(/\..*$/, "").toLowerCase();
  const isNamed = last !== "" && [definition.container?.toLowerCase(), stem].includes(last);
  if (isNamed) return 0.95;
  if (isSameFile) return isOwn || definition.container !== null ? 0.9 : 0.6;
  if (imports(caller.file, file.path)) return 0.85;
  if (isSameFolder(file.path, path)) return isOwn && definition.container !== null ? 0.6 : 0.8;
  return 0.5;
}
