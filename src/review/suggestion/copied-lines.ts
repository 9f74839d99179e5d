import { opensBlock } from "./arrange.ts";
import type { BlockEffect } from "./balance.ts";
import { isData } from "./data-faults.ts";
import { hasParser } from "./file-reading.ts";
import { indentOf, isBlank } from "./indentation.ts";
import { defines, filled, isLike, isTelling, texts } from "./neighbours.ts";
import { type Overlay, replaced, replacement } from "./overlay.ts";

/**
 * Why a suggestion holds code that stands around the lines it replaces, and would stand there twice. Null when it does not.
 * What had to be moved to fit may have been written for other lines. `effect` is that of the replaced lines.
 */
export function copiedLines(overlay: Overlay, effect: BlockEffect, wasMoved: boolean): string | null {
  return (
    repeatsNeighbour(overlay) ??
    repeatsDefinition(overlay) ??
    repeatsBlock(overlay, effect) ??
    (wasMoved ? rewritesAround(overlay) : null)
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
  /^\s*(?:(?:const|let|var|local|my|val|auto)\s+)?([\w.$@]+(?:->[\w.]+)*(?:\[\w+\])?)\s*:?=(?![=>~])/.exec(
    line,
  )?.[1] ?? null;

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

/** Lines that are compared, one by one, with those around. */
const mostCompared = 40;

/** A suggestion that goes on with the block whose head or end alone it replaces says again what that block holds. */
function repeatsBlock(overlay: Overlay, effect: BlockEffect): string | null {
  const { above, below } = around(overlay);
  const [old, now] = [texts(replaced(overlay)), texts(replacement(overlay))];
  const says = (extra: readonly string[], beside: readonly string[], isSame: typeof isLike) => {
    const telling = extra.filter(isTelling).slice(0, mostCompared);
    const again = telling.filter((line) => beside.some((other) => isSame(line, other)));
    return telling.length > 0 && again.length * 2 >= telling.length;
  };
  const [first = "", last = ""] = [old[0], old.at(-1)];
  const same = now.lastIndexOf(last);
  const extraBelow = now.slice((same < 0 ? now.findLastIndex((line) => isLike(line, last)) : same) + 1);
  const next = texts(below);
  if (
    (heads(last) || effect.heads.includes(overlay.oldEnd)) &&
    says(extraBelow, next.slice(0, now.length + 1), isLike)
  )
    return "it repeats code after it";
  // Data has much that reads alike, and parsers that know what must not stand twice.
  const isCopied = !isData(overlay.path) && says(extraBelow, next.slice(0, extraBelow.length + 1), isEqual);
  if (isCopied) return "it repeats code after it";
  const extraAbove = now.slice(0, Math.max(0, now.indexOf(first)));
  const ends = effect.closes && /^(?:[)}\]]|<\/|(?:end|fi|done|esac)\b)/.test(first);
  return ends && says(extraAbove, texts(above).slice(-now.length - 1), isLike)
    ? "it repeats code before it"
    : null;
}

const isEqual = (line: string, other: string) => line === other;

const heads = (line: string) =>
  opensBlock(line) || /^(?:def|class|module|begin|if|unless|case|while|until|for)\b|^<\w/.test(line);
