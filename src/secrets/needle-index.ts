import type { TextRange } from "./ranges.ts";

/**
 * The letters and digits of a text, without case and without anything that can be inserted between them: white space, punctuation,
 * invisible characters, line ends. A secret that was split is whole again in it.
 */
export interface Reading {
  length: number;
  /** 1 to 36 each. The array is as long as the text; only `length` codes are used. */
  codes: Uint8Array;
  /** Their positions in the text. Computed on demand, because hardly any text contains a secret. */
  places(): Places;
}

/** In UTF-16 units, one for each code; ends are exclusive. */
export interface Places {
  starts: Uint32Array;
  ends: Uint32Array;
}

const codeOf = new Uint8Array(128);
for (const [index, character] of [..."0123456789abcdefghijklmnopqrstuvwxyz"].entries()) {
  codeOf[character.charCodeAt(0)] = index + 1;
  codeOf[character.toUpperCase().charCodeAt(0)] = index + 1;
}

/**
 * Escapes for a character in JSON, programming languages, URLs and HTML. A run of backslashes is matched as a whole: texts may be escaped
 * more than once, and a replacement must not begin in the middle of such a run.
 */
const escaped =
  /\\+(?:u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|x([\da-fA-F]{2})|[nrtbfv])?|%([\da-fA-F]{2})|&(?:#(\d{1,7});?|#[xX]([\da-fA-F]{1,6});?|[a-zA-Z]{2,6};)/y;

const backslash = 92;
const percent = 37;
const ampersand = 38;

/** All readings of a text: as it is, and with its escapes decoded. Linear in its length. */
export function readingsOf(text: string): Reading[] {
  const readings = [readPlain(text)];
  const hasBackslash = text.includes("\\");
  if (hasBackslash) readings.push(readEscaped(text, (unit) => unit === backslash));
  const isEscape = (unit: number) => unit === backslash || unit === percent || unit === ampersand;
  if (text.includes("%") || text.includes("&")) readings.push(readEscaped(text, isEscape));
  return readings;
}

/** Only the letters and digits of `text`. */
export function plainCodes(text: string): Uint8Array {
  const { codes, length } = readPlain(text);
  return codes.slice(0, length);
}

function readPlain(text: string): Reading {
  const codes = new Uint8Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = codeAt(text.charCodeAt(at));
    if (code !== 0) codes[length++] = code;
  }
  return { length, codes, places: () => readEscaped(text, () => false).places() };
}

function readEscaped(text: string, isEscape: (unit: number) => boolean): Reading {
  const codes = new Uint8Array(text.length);
  const places = { starts: new Uint32Array(text.length), ends: new Uint32Array(text.length) };
  let length = 0;
  for (let at = 0; at < text.length; ) {
    let unit = text.charCodeAt(at);
    let end = at + 1;
    if (isEscape(unit)) {
      escaped.lastIndex = at;
      const match = escaped.exec(text);
      if (match) end = escaped.lastIndex;
      unit = match ? unitOf(match) : 0;
    }
    const code = codeAt(unit);
    if (code !== 0) {
      codes[length] = code;
      places.starts[length] = at;
      places.ends[length++] = end;
    }
    at = end;
  }
  return { length, codes, places: () => places };
}

function codeAt(unit: number): number {
  return unit < 128 ? (codeOf[unit] ?? 0) : 0;
}

/** 0 if the escape is unknown or does not represent a single character. */
function unitOf([, unicode, point, byte, inUrl, decimal, entity]: RegExpExecArray): number {
  if (decimal !== undefined) return Number(decimal);
  return Number.parseInt(unicode ?? point ?? byte ?? inUrl ?? entity ?? "0", 16);
}

/** One spelling of a secret to search for. */
export interface Needle {
  secret: string;
  /** Its letters and digits, as in a reading. */
  codes: Uint8Array;
  /** How many of them in a row identify the secret; all of them if no part does. */
  least: number;
}

interface NeedleAt {
  needle: Needle;
  at: number;
}

/** A range in a reading. `shift` is the position at which the needle begins, or would begin. */
interface Match extends TextRange {
  needle: Needle;
  shift: number;
}

/**
 * A sequence that occurs in more secrets than this does not make them secret: for example, the claims that all tokens of one issuer begin
 * with. Without this limit, a text full of it would be compared to each of the secrets at every character.
 */
const MOST_SHARING = 4;

/** Maximum number of spellings that overlap at one place of a text. */
const MOST_AT_ONCE = 8;

/** Number of characters per lookup. */
const GRAM = 8;
/** Shorter spellings cannot be indexed. */
export const SHORTEST_NEEDLE = GRAM;
const FACTOR = 0x01000193;
const factorOfOldest = Array.from({ length: GRAM }).reduce<number>(
  (product) => Math.imul(product, FACTOR),
  1,
);
const cellBits = 20;

/**
 * Finds many needles in one pass. It stores a gram (eight characters) of each needle at such intervals that every identifying part contains
 * a whole one. If a gram occurs in a text, the text and the needle are compared to its left and right.
 */
export class NeedleIndex {
  readonly #places = new Map<number, NeedleAt[]>();
  /** Number of grams in each cell. */
  #cells = new Uint16Array(0);
  /** One bit per non-empty cell. This decides most characters of a text and is small enough to stay in the processor's cache. */
  #occupied = new Uint32Array(0);

  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  add(needle: Needle): void {
    if (this.#cells.length === 0) {
      this.#cells = new Uint16Array(2 ** cellBits);
      this.#occupied = new Uint32Array(2 ** cellBits / 32);
    }
    for (const { hash, at } of gramsOf(needle)) {
      const places = this.#places.get(hash) ?? [];
      if (isCommon(places) && isInParts(needle)) continue;
      this.#places.set(hash, [...places, { needle, at }]);
      this.#count(hash, 1);
    }
  }

  remove(needle: Needle): void {
    for (const { hash } of gramsOf(needle)) {
      const places = this.#places.get(hash) ?? [];
      const rest = places.filter((place) => place.needle !== needle);
      if (rest.length === places.length) continue;
      if (rest.length > 0) this.#places.set(hash, rest);
      else this.#places.delete(hash);
      this.#count(hash, -1);
    }
  }

  #count(hash: number, more: 1 | -1): void {
    const cell = cellOf(hash);
    const count = (this.#cells[cell] ?? 0) + more;
    this.#cells[cell] = count;
    const bits = this.#occupied[cell >>> 5] ?? 0;
    const bit = 1 << (cell & 31);
    this.#occupied[cell >>> 5] = count === 0 ? bits & ~bit : bits | bit;
  }

  #mayKnow(hash: number): boolean {
    const cell = cellOf(hash);
    return (((this.#occupied[cell >>> 5] ?? 0) >>> (cell & 31)) & 1) !== 0;
  }

  /** Positions of needles in the text, in no order. With `firstOnly`, at most one of them. */
  rangesIn(reading: Reading, firstOnly = false): TextRange[] {
    const found = this.#find(reading, firstOnly);
    if (found.length === 0) return found;
    const { starts, ends } = reading.places();
    return found.map(({ start, end }) => ({ start: starts[start] ?? 0, end: ends[end - 1] ?? 0 }));
  }

  /** In characters of the reading. */
  #find(reading: Reading, firstOnly: boolean): TextRange[] {
    const found: Match[] = [];
    const { codes, length } = reading;
    let hash = 0;
    for (let end = 1; end <= length; end++) {
      hash = (Math.imul(hash, FACTOR) + (codes[end - 1] ?? 0)) | 0;
      const at = end - GRAM;
      if (at < 0) continue;
      if (at > 0) hash = (hash - Math.imul(factorOfOldest, codes[at - 1] ?? 0)) | 0;
      if (!this.#mayKnow(hash)) continue;
      found.push(...this.#matchesAt(reading, at, hash, found));
      if (firstOnly && found.length > 0) break;
    }
    return found;
  }

  #matchesAt(reading: Reading, at: number, hash: number, before: readonly Match[]): Match[] {
    const matches: Match[] = [];
    const places = this.#places.get(hash) ?? [];
    for (const place of isCommon(places) ? places.filter(({ needle }) => !isInParts(needle)) : places) {
      const shift = at - place.at;
      // A part of this needle that was found already is not compared again at each of its grams.
      const isWithin = ({ needle, shift: other, end }: Match) =>
        needle === place.needle && other === shift && at < end;
      if (before.slice(-MOST_AT_ONCE).some(isWithin)) continue;
      const match = matchAround(reading, at, place);
      if (match) matches.push({ ...match, needle: place.needle, shift });
    }
    return matches;
  }
}

function isCommon(places: readonly NeedleAt[]): boolean {
  return (
    places.length > MOST_SHARING && new Set(places.map(({ needle }) => needle.secret)).size > MOST_SHARING
  );
}

function isInParts({ codes, least }: Needle): boolean {
  return least < codes.length;
}

function cellOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x9e3779b1) >>> (32 - cellBits);
}

/** Counted from the end, because secrets differ there if anywhere; each different gram at its last position. */
function gramsOf({ codes, least }: Needle): { hash: number; at: number }[] {
  const grams = new Map<number, { hash: number; at: number }>();
  const distance = least - GRAM + 1;
  for (let at = codes.length - GRAM; at >= 0; at -= distance) {
    let hash = 0;
    for (let index = at; index < at + GRAM; index++)
      hash = (Math.imul(hash, FACTOR) + (codes[index] ?? 0)) | 0;
    if (!grams.has(hash)) grams.set(hash, { hash, at });
  }
  return [...grams.values()];
}

/** The longest stretch of the needle around a gram that occurs in the reading, in characters of the reading; null if it is too short. */
function matchAround({ codes, length }: Reading, at: number, place: NeedleAt): TextRange | null {
  const { codes: wanted, least } = place.needle;
  let start = at;
  for (let index = place.at; start > 0 && index > 0 && codes[start - 1] === wanted[index - 1]; index--)
    start--;
  let end = at;
  for (let index = place.at; end < length && index < wanted.length && codes[end] === wanted[index]; index++)
    end++;
  return end - start >= least ? { start, end } : null;
}
