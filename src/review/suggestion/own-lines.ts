import { distance } from "fastest-levenshtein";
import { opensBlock } from "./arrange.ts";
import type { BlockEffect } from "./balance.ts";
import { hasParser } from "./file-reading.ts";
import { indentOf, isBlank } from "./indentation.ts";
import { defines, isTelling } from "./neighbours.ts";
import { commonLines, type Overlay, replaced, replacement } from "./overlay.ts";

const filled = (lines: readonly string[]) => lines.filter((line) => !isBlank(line));
const texts = (lines: readonly string[]) => filled(lines).map((line) => line.trim());

/**
 * Why a suggestion does not replace exactly the lines it is for: fewer, or more. Null when it does. What had to be moved to
 * fit may have been written for other lines. `effect` is that of the replaced lines.
 */
export function wrongExtent(overlay: Overlay, effect: BlockEffect, wasMoved: boolean): string | null {
  return (
    repeatsNeighbour(overlay) ??
    repeatsDefinition(overlay) ??
    repeatsBlock(overlay, effect) ??
    (wasMoved ? rewritesAround(overlay) : null) ??
    leavesOut(overlay)
  );
}

function repeatsNeighbour(overlay: Overlay): string | null {
  const { before, start, oldEnd, path } = overlay;
  const [old, now] = [filled(replaced(overlay)), filled(replacement(overlay))];
  const above = before.slice(0, start).findLast((line) => !isBlank(line));
  const below = before.slice(oldEnd).find((line) => !isBlank(line));
  const [first, last] = [now[0], now.at(-1)];
  const again = (line: string | undefined, neighbour: string | undefined, was: string | undefined) =>
    line !== undefined && neighbour !== undefined && repeats(path, line, neighbour, was);
  if (again(first, above, old[0])) return "it repeats the line before it";
  if (last === undefined || !again(last, below, old.at(-1))) return null;
  const head = now.at(-2);
  const isBody =
    head !== undefined && opensBlock(head) && indentOf(last).length > indentOf(below ?? "").length;
  return isBody ? null : "it repeats the line after it";
}

/**
 * The same code again, or another value for the same name: at the same place always, elsewhere when it says something. The
 * old line may have done so already. Whether a lone bracket is one too many is left to a parser, if there is one.
 */
function repeats(path: string, line: string, neighbour: string, was: string | undefined): boolean {
  const isSame = (other: string | undefined) =>
    other !== undefined &&
    (line.trim() === other.trim() || (target(line) !== null && target(line) === target(other)));
  if (!isSame(neighbour) || isSame(was) || (hasParser(path) && !/\w/.test(line))) return false;
  const isDeeper = indentOf(neighbour).length > indentOf(line).length;
  return (
    indentOf(line) === indentOf(neighbour) ||
    (isTelling(line) && line.trim() === neighbour.trim() && !isDeeper)
  );
}

/** What a line sets, where that is all it does. */
const target = (line: string) =>
  /^\s*(?:(?:const|let|var|local|my|val|auto)\s+)?([\w.$@]+(?:\[\w+\])?)\s*:?=(?![=>~])/.exec(line)?.[1] ??
  null;

/** How far around the anchored lines a suggestion's own lines are looked for. */
const reach = 40;

function around(overlay: Overlay): { above: readonly string[]; below: readonly string[] } {
  const { before, start, oldEnd } = overlay;
  const far = reach + replacement(overlay).length;
  return { above: before.slice(Math.max(0, start - far), start), below: before.slice(oldEnd, oldEnd + far) };
}

/** A definition that stands near already was copied along with the code that was meant. */
function repeatsDefinition(overlay: Overlay): string | null {
  const { above, below } = around(overlay);
  const old = new Set(texts(replaced(overlay)));
  const near = new Set(texts([...above, ...below]));
  const copied = texts(replacement(overlay)).some(
    (line) => defines(line) && near.has(line) && !old.has(line),
  );
  return copied ? "it repeats a definition that stands outside of the lines it replaces" : null;
}

const words = (line: string) => new Set(line.match(/\w+/g) ?? []);

/** Whether two heads of blocks are versions of one: they begin alike and share half of their words. */
function isVersionOf(line: string, other: string): boolean {
  const [own, others] = [words(line), words(other)];
  const [first] = own;
  const shared = [...own].filter((word) => others.has(word)).length;
  return first !== undefined && first === [...others][0] && shared * 2 >= Math.max(own.size, others.size);
}

/** Code with the block around it, head and end, is meant for more lines than it replaces. */
function rewritesAround(overlay: Overlay): string | null {
  const { above, below } = around(overlay);
  const now = texts(replacement(overlay));
  const old = texts(replaced(overlay));
  const [head, end] = [texts(above).at(-1), texts(below)[0]];
  const [first, last] = [now[0], now.at(-1)];
  if (first === undefined || head === undefined || now.length < 2 || isVersionOf(first, old[0] ?? ""))
    return null;
  const isWhole = opensBlock(head) && opensBlock(first) && isVersionOf(first, head);
  return isWhole && (last === end || last === old.at(-1))
    ? "it holds the block around the lines it replaces"
    : null;
}

/** Whether a line may be a later version of another one. */
function isLike(line: string, other: string): boolean {
  if (line === other) return true;
  const length = Math.max(line.length, other.length);
  return length < 300 && isTelling(line) && distance(line, other) <= length * 0.4;
}

/** Lines that are compared, one by one, with those around. */
const mostCompared = 40;

/** A suggestion that goes on with the block whose head or end alone it replaces says again what that block holds. */
function repeatsBlock(overlay: Overlay, effect: BlockEffect): string | null {
  const { above, below } = around(overlay);
  const [old, now] = [texts(replaced(overlay)), texts(replacement(overlay))];
  const says = (extra: readonly string[], beside: readonly string[]) => {
    const telling = extra.filter(isTelling).slice(0, mostCompared);
    const again = telling.filter((line) => beside.some((other) => isLike(line, other)));
    return telling.length > 0 && again.length * 2 >= telling.length;
  };
  const [first = "", last = ""] = [old[0], old.at(-1)];
  const same = now.lastIndexOf(last);
  const extraBelow = now.slice((same < 0 ? now.findLastIndex((line) => isLike(line, last)) : same) + 1);
  if (heads(last) && says(extraBelow, texts(below).slice(0, now.length + 1)))
    return "it repeats code after it";
  const extraAbove = now.slice(0, Math.max(0, now.indexOf(first)));
  const ends = effect.closes && /^(?:[)}\]]|<\/|(?:end|fi|done|esac)\b)/.test(first);
  return ends && says(extraAbove, texts(above).slice(-now.length - 1)) ? "it repeats code before it" : null;
}

const heads = (line: string) =>
  opensBlock(line) || /^(?:def|class|module|begin|if|unless|case|while|until|for)\b|^<\w/.test(line);

/** A suggestion may leave out this many lines of code at an end, and more when it does nothing else. */
const mostLeftOut = 1;
const mostDeleted = 4;

/** A suggestion that has the first lines or the last ones, changed or not, and nothing in the place of the others was cut off. */
function leavesOut(overlay: Overlay): string | null {
  const coded = (lines: readonly string[]) =>
    texts(lines).filter((line) => /\w/.test(line) && !ender.test(line));
  const [old, now] = [coded(replaced(overlay)), coded(replacement(overlay))];
  const isDeletion = now.every((line) => old.includes(line));
  if (isDeletion && (now.length === 0 || old.length - now.length <= mostDeleted)) return null;
  const areMissing = (lines: readonly string[]) => lines.length > mostLeftOut || lines.some(defines);
  if (areMissing(behindLast(old, now))) return "it leaves out the last of the lines it replaces";
  if (areMissing(behindLast(old.toReversed(), now.toReversed())))
    return "it leaves out the first of the lines it replaces";
  return losesMost(old, now) ? "it leaves out most of the lines it replaces" : null;
}

/** Whether many lines become a few that say little of what they said. What is written anew keeps the names. */
function losesMost(allOld: readonly string[], allNow: readonly string[]): boolean {
  if (allNow.length === 0) return false;
  const firstOther = allOld.findIndex((line, at) => line !== allNow[at]);
  const lastOther = allOld.findLastIndex((line, at) => line !== allNow[at - allOld.length + allNow.length]);
  const [old, now] = [
    allOld.slice(firstOther, lastOther + 1),
    allNow.slice(firstOther, lastOther + 1 - allOld.length + allNow.length),
  ];
  if (old.length < 4 || now.length * 2 > old.length) return false;
  const names = new Set(old.join(" ").match(/[A-Za-z_]{3,}/g) ?? []);
  const kept = new Set(now.join(" ").match(/[A-Za-z_]{3,}/g) ?? []);
  return [...names].filter((name) => kept.has(name)).length * 20 < names.size * 9;
}

const ender = /^(?:end|fi|done|esac|begin|do|then|else|try|finally)\b\W*$/;

/** The old lines that are left out behind the one that the last new line, or one that says something, is or was. */
function behindLast(old: readonly string[], now: readonly string[]): readonly string[] {
  const last = now.findLastIndex(isTelling);
  const line = now[last] ?? "";
  const matched = commonLines(old, now);
  const from = Math.max(-1, ...[...matched].flatMap(([at, was]) => (at < last ? [was] : [])));
  const same = matched.get(last) ?? (old.includes(line) ? old.indexOf(line) : undefined);
  const place = same ?? old.findIndex((other, at) => at > from && isLike(line, other));
  return place < 0 ? [] : old.slice(place + 1).filter((other) => !now.includes(other));
}
