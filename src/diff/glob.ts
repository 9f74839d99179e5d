import { type CharacterClass, readClass } from "./glob-class.ts";

/** Stands for any number of names of a path: `**` between slashes. */
export const ANY_NAMES = Symbol("**");

/** A sign of one character: itself, any at all, or one of a class. */
type Sign = string | typeof ANY_CHARACTER | CharacterClass;
const ANY_CHARACTER = Symbol("?");
const STAR = Symbol("*");
const STARS = Symbol("**");
const SLASH = Symbol("/");

/** What stands between two stars; a text where it is nothing but text. */
type Piece = string | readonly Sign[];

/** What one name of a path has to look like: a text, or pieces with any text between them. */
export type NamePattern = string | readonly Piece[];

/** A glob in parts, one for each name of a path. */
export type Glob = readonly (NamePattern | typeof ANY_NAMES)[];

type Written = Sign | typeof STAR | typeof STARS;

/**
 * Reads a pattern of gitignore, without what stands around it (`!` in front, a slash at either end). Null for one that matches
 * nothing: with a class that is not closed, or a backslash at its end. https://git-scm.com/docs/gitignore, wildmatch.c
 */
export function readGlob(pattern: string): Glob | null {
  const parts: Glob[number][] = [];
  let signs: Written[] = [];
  for (let at = 0; at < pattern.length; ) {
    const read = readSign(pattern, at);
    if (read === null) return null;
    at = read.end;
    if (read.sign === SLASH) {
      addPart(parts, signs);
      signs = [];
    } else signs.push(read.sign);
  }
  addPart(parts, signs);
  return parts;
}

function readSign(pattern: string, at: number): { sign: Written | typeof SLASH; end: number } | null {
  const char = characterAt(pattern, at);
  const end = at + char.length;
  switch (char) {
    case "/":
      return { sign: SLASH, end };
    case "?":
      return { sign: ANY_CHARACTER, end };
    case "*": {
      let behind = end;
      while (pattern[behind] === "*") behind += 1;
      return { sign: behind > end ? STARS : STAR, end: behind };
    }
    case "[": {
      const read = readClass(pattern, end);
      return read && { sign: read.matches, end: read.end };
    }
    case "\\": {
      const meant = characterAt(pattern, end);
      return meant === "" ? null : { sign: meant === "/" ? SLASH : meant, end: end + meant.length };
    }
    default:
      return { sign: char, end };
  }
}

const characterAt = (text: string, at: number) => {
  const code = text.codePointAt(at);
  return code === undefined ? "" : String.fromCodePoint(code);
};

/** Two stars between slashes are any names, and twice that is the same; within a name they are one star. */
function addPart(parts: Glob[number][], signs: readonly Written[]): void {
  if (signs.length !== 1 || signs[0] !== STARS) parts.push(namePattern(signs));
  else if (parts.at(-1) !== ANY_NAMES) parts.push(ANY_NAMES);
}

function namePattern(written: readonly Written[]): NamePattern {
  const pieces: Sign[][] = [[]];
  for (const sign of written) {
    if (sign === STAR || sign === STARS) pieces.push([]);
    else pieces.at(-1)?.push(sign);
  }
  const joined = pieces.map((signs) =>
    signs.every((sign) => typeof sign === "string") ? signs.join("") : signs,
  );
  const [only] = joined;
  return joined.length === 1 && typeof only === "string" ? only : joined;
}

/**
 * Whether the pattern describes a name of a path. Takes at most as many steps as the product of both lengths: each piece is put
 * where it first fits, since what stands before it never gains from more room, so nothing is tried twice.
 */
export function matchesName(pattern: NamePattern, name: string): boolean {
  if (typeof pattern === "string") return pattern === name;
  const [first = "", ...others] = pattern;
  const last = others.pop();
  let at = endOf(first, name, 0);
  if (last === undefined) return at === name.length;
  for (const piece of others) {
    if (at < 0) return false;
    at = endOfFirst(piece, name, at);
  }
  return at >= 0 && endsWith(last, name, at);
}

/** Where the piece ends that begins at that place; -1 where another text stands there. */
function endOf(piece: Piece, name: string, start: number): number {
  if (typeof piece === "string") return name.startsWith(piece, start) ? start + piece.length : -1;
  let at = start;
  for (const sign of piece) {
    const length = at < name.length ? lengthOf(sign, name, at) : 0;
    if (length === 0) return -1;
    at += length;
  }
  return at;
}

/** The same for the first place from there on at which it fits. */
function endOfFirst(piece: Piece, name: string, from: number): number {
  if (typeof piece === "string") {
    const start = name.indexOf(piece, from);
    return start < 0 ? -1 : start + piece.length;
  }
  for (let start = from; start <= name.length; start++) {
    const end = endOf(piece, name, start);
    if (end >= 0) return end;
  }
  return -1;
}

/** Whether the piece is the end of the name, from there on. */
function endsWith(piece: Piece, name: string, from: number): boolean {
  if (typeof piece === "string") return from + piece.length <= name.length && name.endsWith(piece);
  // A sign takes one or two units.
  const earliest = Math.max(from, name.length - 2 * piece.length);
  for (let start = earliest; start <= name.length - piece.length; start++) {
    if (endOf(piece, name, start) === name.length) return true;
  }
  return false;
}

/** How many UTF-16 units at that place are what the sign stands for; 0 where they are not. */
function lengthOf(sign: Sign, name: string, at: number): number {
  if (typeof sign === "string") return name.startsWith(sign, at) ? sign.length : 0;
  const code = name.codePointAt(at) ?? 0;
  const length = code > 0xffff ? 2 : 1;
  return sign === ANY_CHARACTER || sign(code) ? length : 0;
}
