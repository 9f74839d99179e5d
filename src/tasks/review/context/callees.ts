import { type DefinitionSite, fullName, isDeclaration, isRun, isType } from "../../../repo/code/code-file.ts";
import { bestTargets, fitOf, isCommonName, isOwnUse, POSSIBLE, UNIQUE } from "../../../repo/code/names.ts";
import type { Call } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isGenerated } from "./changed.ts";
import type { Lookup } from "./lookup.ts";
import { beginning, definitionPiece, type Piece } from "./pieces.ts";

const CALLEE = 0.8;
/** Weight of calls on unchanged lines near a changed one. */
const UNCHANGED = 0.5;
const NEAR_LINES = 10;
/** Weight of calls far from a change: they are only named in a list. */
const FAR = 0.1;
/** Weight of the callees of a callee on changed lines, relative to that callee. */
const INNER = 0.72;
const MAX_INNER = 4;
const MAX_INNER_LINES = 20;
/** Weight of code that says little more than its name. */
const SLIGHT = 0.4;
const DROPPED = 0.6;
const MAX_LINES = 50;
const MAX_UNCHANGED_LINES = 22;
const MAX_DOC_LINES = 10;
const TYPE_LINES = 25;

export function calleePieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => {
    const { added, removed, spots } = one.significant;
    // If only names and comments differ, the calls are the same as before.
    if (added.length + removed.length + spots.length === 0) return [];
    const kept = piecesOf(one, one.after, one.calls, lookup, (lines) => weightOf(one, lines));
    const missed = one.droppedCalls.filter(({ name }) => isMissed(name, lookup));
    const dropped = piecesOf(one, one.before, missed, lookup, () => DROPPED);
    const first = kept.filter(({ weight, fit }) => weight === CALLEE && fit > FAR);
    return [...[...kept, ...dropped].map(({ piece }) => piece), ...innerPieces(first)];
  });
}

/** Whether the loss of a call may be a fault: it gives something back, or nothing calls the function any more. */
function isMissed(name: string, lookup: Lookup): boolean {
  const words = name.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  if (givesBack.test(words)) return true;
  return !lookup.isCommon(name) && lookup.mentions(name).every(({ role }) => role !== "call");
}

const givesBack =
  /(?:^|_)(?:close|release|free|dispose|destroy|unlock|stop|cancel|clear|detach|unsubscribe|unregister|shutdown|cleanup|teardown|flush|rollback|commit|unref|put)(?:_|$)/;

function weightOf({ significant: { added, spots } }: Changed, lines: readonly number[]): number {
  if (lines.some((line) => added.includes(line))) return CALLEE;
  const isNear = lines.some((line) => spots.some((spot) => Math.abs(line - spot) <= NEAR_LINES));
  return isNear ? UNCHANGED : FAR;
}

interface Callee {
  site: DefinitionSite;
  piece: Piece;
  weight: number;
  fit: number;
}

function piecesOf(
  { path, risk }: Changed,
  caller: DefinitionSite | null,
  calls: readonly Call[],
  lookup: Lookup,
  weigh: (lines: readonly number[]) => number,
): Callee[] {
  if (caller === null) return [];
  const byName = Map.groupBy(calls, ({ name }) => name);
  return [...byName.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const lines = same.map(({ line }) => line);
    const found = definitionsOf(first, path, caller, lookup);
    const weight = weigh(lines);
    const when = weight === DROPPED ? "was called" : "called";
    const title = `${when} by ${fullName(caller.definition)} on line ${lines[0]}`;
    const length = weight <= UNCHANGED ? MAX_UNCHANGED_LINES : MAX_LINES;
    return found.map(({ site, fit }) => {
      const score = risk * weight * fit * (isSlight(site) ? SLIGHT : 1);
      return { site, fit, weight, piece: pieceOf(site, length, title, score) };
    });
  });
}

/** Number of definitions of one name that are shown if none fits clearly. */
const FEW = 3;
/** Weight of a guess: its name is listed, not its lines. */
const NAMED_ONLY = 0.1;

function definitionsOf(
  call: Call,
  path: string,
  { file, definition: around }: DefinitionSite,
  lookup: Lookup,
): { site: DefinitionSite; fit: number }[] {
  const all = lookup
    .definitions(call.name)
    .filter(({ definition }) => isRun(definition) || isType(definition))
    .filter((one) => (!isTestFile(one.file.path) && !isGenerated(one.file)) || isTestFile(path))
    .filter(
      ({ file: { path: at }, definition: { start, end } }) =>
        at !== path || start < around.start || end > around.end,
    );
  const bodies = all.filter((site) => !isDeclaration(site));
  const use = { file, around, receiver: call.receiver };
  const rated = (bodies.length > 0 ? bodies : all).map((site) => ({ site, fit: fitOf(use, site) }));
  const best = bestTargets(call.name, rated, FEW);
  if (isOwnUse(call) || (best[0]?.fit ?? 0) >= UNIQUE) return best;
  const guesses = rated.filter(({ fit }) => fit >= POSSIBLE);
  return guesses.length > FEW ? [] : guesses.map((one) => ({ ...one, fit: NAMED_ONLY }));
}

function pieceOf(site: DefinitionSite, maxLines: number, why: string, score: number): Piece {
  const length = isType(site.definition) ? TYPE_LINES : maxLines;
  return definitionPiece("callee", site, beginning(site, length, MAX_DOC_LINES), score, `, ${why}`);
}

/** The functions that short callees call in their own files, by name. */
function innerPieces(callees: readonly Callee[]): Piece[] {
  return callees.flatMap(({ piece, site: { file, definition } }) => {
    if (definition.end - definition.start > MAX_LINES) return [];
    const lines = file.lines.slice(definition.signatureEnd - 1, definition.end);
    const text = lines.map((line) => line.slice(0, MAX_CHARACTERS)).join("\n");
    const called = new Set([...text.matchAll(calledAlone)].map((match) => match[1]));
    const inner = file.definitions.filter(
      (one) =>
        called.has(one.name) &&
        isRun(one) &&
        !isCommonName(one.name) &&
        (one.container === null || one.container === definition.container) &&
        one.end - one.start < MAX_INNER_LINES &&
        (one.end < definition.start || one.start > definition.end),
    );
    return inner.slice(0, MAX_INNER).map((one) => {
      const title = `called by ${fullName(definition)}`;
      return pieceOf({ file, definition: one }, MAX_INNER_LINES, title, piece.score * INNER);
    });
  });
}

/** A called name with no receiver, or with the own object as the receiver. */
const calledAlone = /(?:(?<![\w$.>:])|\b(?:this|self|cls)(?:\.|->))([\p{L}_$][\p{L}\p{N}_$]*)\(/gu;

/** Code that says little more than its name: a prototype, a one-line macro, or a method that only returns a field. */
function isSlight(site: DefinitionSite): boolean {
  const { file, definition } = site;
  if (isType(definition)) return false;
  if (isDeclaration(site) || (definition.kind === "macro" && definition.end === definition.start))
    return true;
  if (definition.end - definition.start > MAX_ACCESSOR_LINES) return false;
  const text = file.lines.slice(definition.start - 1, definition.end).join(" ");
  return accessor.test(text.slice(0, MAX_CHARACTERS));
}

const MAX_ACCESSOR_LINES = 4;
const MAX_CHARACTERS = 300;
/** A body that returns or sets one member, in braces or after a colon. */
const accessor =
  /[{:>=]\s*(?:return\s+[\w$]{1,40}(?:(?:\.|->)[\w$]{1,40}){1,4}|(?:this|self)\.\w{1,60}\s*=\s*\w{1,60})\s*;?\s*\}?\s*$/;
