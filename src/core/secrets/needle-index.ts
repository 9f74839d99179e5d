import { createPrivateKey, type KeyObject } from "node:crypto";
import { isWordLike } from "./randomness.ts";
import type { TextRange } from "./ranges.ts";

/** The letters and digits of a text, without case and without anything that can be inserted between them: a split secret is whole again in it. */
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

/** Escapes in JSON, programming languages, URLs and HTML. A run of backslashes is one: a replacement must not begin in the middle of it. */
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
 * What more secrets than this have in common, such as the claims of all tokens of one issuer, makes none of them; a text full of it would be
 * slow.
 */
const MOST_SHARING = 4;

/** Maximum number of spellings that overlap at one place of a text. */
const MOST_AT_ONCE = 8;

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
 * Finds many needles in one pass: stores eight characters (a gram) of each at such intervals that every identifying part contains one, and
 * compares text and needle around each that occurs.
 */
export class NeedleIndex {
  readonly #places = new Map<number, NeedleAt[]>();
  /**
   * One bit per cell with a gram. This decides most characters of a text and is small enough to stay in the processor's cache. Allocated with
   * the first needle.
   */
  #occupied = new Uint32Array(0);

  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  add(needle: Needle): void {
    if (this.#occupied.length === 0) this.#occupied = new Uint32Array(2 ** cellBits / 32);
    for (const { hash, at } of gramsOf(needle)) {
      const places = this.#places.get(hash) ?? [];
      if (isCommon(places) && isInParts(needle)) continue;
      this.#places.set(hash, [...places, { needle, at }]);
      this.#occupy(hash);
    }
  }

  remove(needles: readonly Needle[]): void {
    for (const { hash } of needles.flatMap(gramsOf)) {
      const places = this.#places.get(hash) ?? [];
      const rest = places.filter(({ needle }) => !needles.includes(needle));
      if (rest.length > 0) this.#places.set(hash, rest);
      else this.#places.delete(hash);
    }
    // Bits of passed tokens would fill the cells within days, and then decide nothing.
    this.#occupied.fill(0);
    for (const hash of this.#places.keys()) this.#occupy(hash);
  }

  #occupy(hash: number): void {
    const cell = cellOf(hash);
    this.#occupied[cell >>> 5] = (this.#occupied[cell >>> 5] ?? 0) | (1 << (cell & 31));
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

/** The secret parts of a secret: without the header that all keys of its kind share. */
interface SecretParts {
  /** As written in the secret. */
  texts: string[];
  /** Bytes that its texts encode, in any file format. */
  bytes: Buffer[];
}

/** Whether it is a key in PEM format, which contains lines of words. */
function isKey(secret: string): boolean {
  return secret.includes("-----BEGIN ");
}

function partsOf(secret: string): SecretParts {
  if (isKey(secret)) return partsOfKey(secret);
  const body = secret.slice(endOfTokenHeader(secret));
  return { texts: [body.length >= 24 ? body : secret], bytes: [] };
}

/** The first segment of a JSON web token names the signature algorithm, and is the same in all tokens of an issuer. */
function endOfTokenHeader(secret: string): number {
  const start = secret.indexOf("eyJ");
  return start < 0 ? 0 : secret.indexOf(".", start) + 1;
}

/** The same key has several formats whose texts have nothing in common: a file may contain another one than the environment. */
function partsOfKey(pem: string): SecretParts {
  const key = parsed(pem);
  if (!key) return { texts: [pem.replace(/-----(?:BEGIN|END) [A-Z0-9 ]*-----/g, "").trim()], bytes: [] };
  const kinds = { rsa: ["pkcs1", "pkcs8"], ec: ["sec1", "pkcs8"] } as const;
  const types =
    key.asymmetricKeyType === "rsa" || key.asymmetricKeyType === "ec"
      ? kinds[key.asymmetricKeyType]
      : ["pkcs8" as const];
  const texts = types.map((type) => key.export({ type: type as "pkcs8", format: "pem" }) as string);
  const der = key.export({ type: "pkcs8", format: "der" });
  return {
    texts: texts.flatMap(secretLines),
    bytes: secretRanges(der).map(({ start, end }) => der.subarray(start, end)),
  };
}

function parsed(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

/** Shorter ones are versions, exponents and names of algorithms. */
const SHORTEST_NUMBER = 16;
const tags = { number: 0x02, bits: 0x03, octets: 0x04, sequence: 0x30 };
const constructed = 0x20;

/** The long numbers in a DER structure (X.690: tag, length, content). Everything else is the same in every key. */
function secretRanges(der: Buffer, start = 0, end = der.length): TextRange[] {
  const ranges: TextRange[] = [];
  for (let at = start; at + 2 <= end; ) {
    const { tag, content, next } = elementAt(der, at);
    const isLong = next - content >= SHORTEST_NUMBER;
    if ((tag & constructed) !== 0 || (tag === tags.octets && isLong && holdsElement(der, content, next)))
      ranges.push(...secretRanges(der, content, next));
    else if (isLong && (tag === tags.number || tag === tags.bits || tag === tags.octets))
      ranges.push({ start: content, end: next });
    at = next;
  }
  return ranges;
}

function elementAt(der: Buffer, at: number): { tag: number; content: number; next: number } {
  const first = der.readUInt8(at + 1);
  const sizeBytes = first < 0x80 ? 0 : first & 0x7f;
  const size = sizeBytes === 0 ? first : der.readUIntBE(at + 2, sizeBytes);
  const content = at + 2 + sizeBytes;
  return { tag: der.readUInt8(at), content, next: content + size };
}

/** Whether an octet string contains another structure. The numbers of small keys are octets themselves, and may begin like one. */
function holdsElement(der: Buffer, start: number, end: number): boolean {
  const first = der.readUInt8(start);
  const second = der.readUInt8(start + 1);
  if (first === tags.octets) return second === end - start - 2;
  return first === tags.sequence && (second === 0x82 || second === 0x81 || second === end - start - 2);
}

/** The parts of a PEM text that encode only those numbers, including the line ends between. */
function secretLines(pem: string): string[] {
  const bodyStart = pem.indexOf("\n") + 1;
  const body = pem.slice(bodyStart, pem.indexOf("-----END"));
  const places = [...body.matchAll(/[A-Za-z0-9+/]/g)].map(({ index }) => index);
  const der = Buffer.from(body, "base64");
  return secretRanges(der).map(({ start, end }) => {
    const first = places[Math.ceil((start * 8) / 6)];
    const last = places[Math.floor((end * 8) / 6) - 1] ?? 0;
    return body.slice(first, last + 1);
  });
}

/** Minimum letters and digits of a secret to be searched in every spelling. */
const FEWEST_CODES = 12;
const LONG = 24;

/** For each encoding, how many letters and digits represent twelve to sixteen characters of the secret. */
const leastOf = { text: 12, base64: 16, hex: 24, numbers: 24 };
type Encoding = keyof typeof leastOf;

/**
 * The needles to search in readings; empty for a secret with too few letters and digits. A part of about sixteen characters counts, unless it
 * might be words.
 */
export function needlesOf(secret: string): Needle[] {
  if (plainCodes(secret).length < FEWEST_CODES) return [];
  const inParts = secret.length >= LONG && (isKey(secret) || !isWordLike(secret));
  const { texts, bytes } = inParts ? partsOf(secret) : { texts: asJson(secret), bytes: [] };
  const written = [...texts.flatMap(spelled), ...bytes.flatMap(encoded)];
  const needles = new Map<string, Needle>();
  const whole = plainCodes(secret);
  // Includes the header that it shares with others; only matches as a whole.
  needles.set("whole", { secret, codes: whole, least: whole.length });
  for (const [encoding, text] of written) {
    const codes = plainCodes(text);
    const least = inParts ? Math.min(leastOf[encoding], codes.length) : codes.length;
    if (codes.length >= SHORTEST_NEEDLE)
      needles.set(Buffer.from(codes).toString("latin1"), { secret, codes, least });
  }
  return [...needles.values()];
}

/** JSON adds letters to a secret with a line end or a backslash, each time that it is encoded. */
function asJson(secret: string): string[] {
  const json = JSON.stringify(secret);
  return [secret, json, JSON.stringify(json)];
}

type Written = [Encoding, string];

function spelled(text: string): Written[] {
  const backwards = reversed(text);
  return [
    ["text", text],
    ["text", backwards],
    ...encoded(Buffer.from(text)),
    ...encoded(Buffer.from(backwards)),
  ];
}

function encoded(bytes: Buffer): Written[] {
  const hex = bytes.toString("hex");
  const base64 = base64Cores(bytes);
  return [
    ["hex", hex],
    ["hex", reversed(hex)],
    ["numbers", bytes.join(" ")],
    ...[...base64, ...base64.map(reversed)].map((text): Written => ["base64", text]),
  ];
}

/** Inside a longer text a value has three spellings in base64. The first and last character of each may hold bits of the neighbors. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replaceAll("=", "");
    return text.slice(offset === 0 ? 0 : offset + 1, -1);
  });
}

/** For a short secret: the spellings that are replaced exactly. */
export function exactSpellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const base64 = base64Cores(bytes);
  const inUrls = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const json = JSON.stringify(secret).slice(1, -1);
  const texts = [secret, json, encodeURIComponent(secret), reversed(secret)];
  return [...new Set([...texts, ...base64, ...inUrls, hex, hex.toUpperCase()])];
}

/** A secret of several lines is recognized by any of its unique lines: not the first and the last of a key. */
export function plainSpellings(secret: string): string[] {
  const [first, ...rest] = secret.trim().split("\n");
  const lines = rest.length > 2 ? rest.filter((line) => line.length >= 48) : [];
  if (lines.length > 2 && first?.startsWith("-----BEGIN ")) return lines.slice(1);
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1)])];
}

function reversed(text: string): string {
  return [...text].reverse().join("");
}

const FEWEST_LETTERS_OF_A_SECRET = 16;

/** Whether a value might be ordinary language: less than 16 letters, written like words. The gap in the text would reveal it. */
export function mightBeWords(value: string): boolean {
  const words = value.split(/[\s._-]+/);
  const letters = words.join("").length;
  return (
    letters < FEWEST_LETTERS_OF_A_SECRET &&
    words.every((word) => /^(?:[a-z]*|[A-Z]*|[A-Z][a-z]*)$/.test(word))
  );
}
