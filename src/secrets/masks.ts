import { createHash, randomBytes } from "node:crypto";
import { escapeInvisible } from "../text/escape-invisible.ts";
import { type Needle, NeedleIndex, type Places, type Reading, SHORTEST_NEEDLE } from "./needle-index.ts";
import { isWordLike } from "./randomness.ts";
import { censored, merged, type Range, valuesIn } from "./ranges.ts";
import { secretsIn } from "./redact.ts";
import { exactSpellings, mightBeWords } from "./spellings.ts";

/** The fewest characters that a value may have. */
const SHORTEST_VALUE = SHORTEST_NEEDLE;
/** More would fill the memory; what is not held is still found where it shows by its form. */
const MOST_VALUES = 20_000;
/** Of short values that end alike. All of them are compared wherever that end stands, so that more would make a search slow. */
const MOST_ALIKE = 32;
/** What is this long and random is given away by a part of it: long lines are shown cut off. */
const LONG = 24;
const PART = 16;
const token = /^[\w+/=.~-]+$/;

/** Finds many values, as they are written, in one pass. */
class ValueIndex {
  readonly #needles = new NeedleIndex();
  readonly #known = new Set<string>();
  /** How many values end with these characters, of those that no part gives away. */
  readonly #alike = new Map<string, number>();

  /** How many values it holds. It only grows. */
  get size(): number {
    return this.#known.size;
  }

  /** A value that is too short, known, or one too many is left out. */
  add(value: string): void {
    const isTaken = value.length >= SHORTEST_VALUE && this.#known.size < MOST_VALUES;
    if (!isTaken || this.#known.has(value)) return;
    const needle = needleOf(value);
    if (needle.least === value.length && this.#isCommonEnd(value.slice(-SHORTEST_VALUE))) return;
    this.#known.add(value);
    this.#needles.add(needle);
  }

  #isCommonEnd(end: string): boolean {
    const alike = this.#alike.get(end) ?? 0;
    this.#alike.set(end, alike + 1);
    return alike >= MOST_ALIKE;
  }

  /** Where values, or telling parts of long ones, stand in the text; they may overlap. */
  rangesIn(text: string): Range[] {
    return this.#needles.isEmpty ? [] : this.#needles.rangesIn(asWritten(text));
  }
}

function needleOf(value: string): Needle {
  const { codes } = asWritten(value);
  const isInParts = value.length >= LONG && token.test(value) && !isWordLike(value);
  return { secret: value, codes, least: isInParts ? PART : codes.length };
}

/** Each UTF-16 unit as it stands, but for its high byte, which no secret needs to be told apart. */
function asWritten(text: string): Reading {
  const codes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) codes[at] = text.charCodeAt(at);
  return { length: text.length, codes, places: () => placesIn(text.length) };
}

function placesIn(length: number): Places {
  const places = { starts: new Uint32Array(length), ends: new Uint32Array(length) };
  for (let at = 0; at < length; at++) {
    places.starts[at] = at;
    places.ends[at] = at + 1;
  }
  return places;
}

/** Which number stands for which value, by a salted hash of it: what a run keeps of its masks. */
export interface MaskNumbers {
  salt: string;
  numbers: Record<string, number>;
}

/** `*secret-12.......*`; where a value is too short for that, the word is shortened. */
const masks = /\*(secret-|s|)(\d{1,6})\.*\*/g;
const words = ["secret-", "s", ""];
/** Of so many values base64 and other spellings are looked for as well. */
const MOST_SPELLED = 2_000;
const HASH_CHARACTERS = 22;

/** A text that both scanners have seen; what is masked in it hangs on what is known when it is asked for. */
export interface ScannedText {
  text: string;
  /** Where both scanners find a secret. */
  ranges: readonly Range[];
}

/**
 * Hides secrets from a model. A value that was found in one text is masked wherever it occurs in another. A mask has as
 * many UTF-16 units as its value, so that lines and columns stay what they are, and shows a number that stands for one value in all of
 * a run; the number is given when the mask is first used.
 */
export class Masks {
  readonly #salt: string;
  readonly #index = new ValueIndex();
  readonly #values: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #earlier = new Map<string, number>();
  /** Numbers of an earlier attempt, whose values are not known before they are met again. */
  readonly #recorded = new Set<number>();
  /** What stands in a text that looks like a mask: such a number is given to no value. */
  readonly #reserved = new Set<number>();
  #next = 1;
  #spelled = 0;
  #fresh: Record<string, number> = {};

  /** @param earlier what an earlier attempt at the same run kept, oldest first */
  constructor(earlier: readonly MaskNumbers[] = []) {
    this.#salt = earlier[0]?.salt ?? randomBytes(16).toString("base64url");
    for (const { salt, numbers } of earlier) {
      for (const [hash, number] of Object.entries(numbers)) {
        if (salt === this.#salt) this.#earlier.set(hash, number);
        this.#recorded.add(number);
        this.#next = Math.max(this.#next, number + 1);
      }
    }
  }

  /** Looks for secrets in a whole text. From now on what it finds is masked in every text. Gives other work its turn. */
  async learn(text: string): Promise<ScannedText> {
    const ranges = await secretsIn(text);
    for (const { 2: number } of text.matchAll(masks)) this.#reserved.add(Number(number));
    // What a model wrote about a mask looks like a password that is assigned: it is none.
    const secret = ranges.filter(({ start, end }) => !this.#isAboutMask(text.slice(start, end)));
    for (const { start, end } of valuesIn(text, secret)) this.#register(text.slice(start, end));
    return { text, ranges: secret };
  }

  #isAboutMask(text: string): boolean {
    const numbers = [...text.matchAll(masks)].map(({ 2: number }) => Number(number));
    return numbers.some((number) => this.#recorded.has(number)) || this.holdsMask(text);
  }

  #register(value: string): void {
    if (value.length < SHORTEST_VALUE || mightBeWords(value)) return;
    this.#index.add(value);
    if (this.#spelled >= MOST_SPELLED) return;
    this.#spelled += 1;
    for (const spelling of [...exactSpellings(value), escapeInvisible(value)]) this.#index.add(spelling);
  }

  /** Grows with each value that is learned: what was masked before that may hold the value still. */
  get known(): number {
    return this.#index.size;
  }

  /** The text without its secrets and without those of other texts that were learned. Its length and its lines stay. */
  mask({ text, ranges }: ScannedText): string {
    return replaced(text, this.#secretsIn({ text, ranges }), (value) => this.#maskOf(value));
  }

  #secretsIn({ text, ranges }: ScannedText): Range[] {
    return merged(valuesIn(text, [...ranges, ...this.#index.rangesIn(text)]));
  }

  #maskOf(value: string): string {
    return written(this.#numberOf(value), value.length);
  }

  #numberOf(value: string): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    const hash = createHash("sha256").update(this.#salt).update(value).digest("base64url");
    const key = hash.slice(0, HASH_CHARACTERS);
    const number = this.#earlier.get(key) ?? this.#freeNumber(key);
    this.#numbers.set(value, number);
    this.#values[number] = value;
    return number;
  }

  #freeNumber(key: string): number {
    while (this.#reserved.has(this.#next)) this.#next += 1;
    const number = this.#next++;
    this.#fresh[key] = number;
    return number;
  }

  /** The numbers that were given since the last call; null where there are none. */
  takeFresh(): MaskNumbers | null {
    const numbers = this.#fresh;
    if (Object.keys(numbers).length === 0) return null;
    this.#fresh = {};
    return { salt: this.#salt, numbers };
  }

  /** Whether something in the text has the form of a mask, of whatever run. */
  looksMasked(text: string): boolean {
    return text.search(masks) >= 0;
  }

  /** Whether a mask of this run stands in the text. */
  holdsMask(text: string): boolean {
    return this.unmask(text) !== text;
  }

  /** The text with values in place of the masks of this run. How many dots a mask has does not count: models miscount. */
  unmask(text: string, write = (value: string) => value): string {
    return this.#withoutMasks(text, write);
  }

  /** The text for people, who know no numbers. */
  forPeople(text: string): string {
    return this.#withoutMasks(text, () => censored);
  }

  #withoutMasks(text: string, put: (value: string) => string): string {
    return text.replaceAll(masks, (found, _word, number) => {
      const value = this.#values[Number(number)];
      const isOurs =
        value !== undefined && withoutDots(written(Number(number), value.length)) === withoutDots(found);
      return isOurs ? put(value) : found;
    });
  }

  /** Whether a value that was learned stands in the text. */
  holdsSecret(text: string): boolean {
    return this.#index.rangesIn(text).length > 0;
  }

  /** Where secrets stand in a text, its own and those of others; of a key in lines the whole. */
  async secretsIn(text: string): Promise<Range[]> {
    const { ranges } = await this.learn(text);
    return merged([...ranges, ...this.#index.rangesIn(text)]);
  }
}

const withoutDots = (mask: string) => mask.replaceAll(".", "");

function written(number: number, length: number): string {
  const start = words.map((word) => `*${word}${number}`).find((one) => one.length < length);
  return start === undefined ? "*".repeat(length) : `${start.padEnd(length - 1, ".")}*`;
}

function replaced(text: string, ranges: readonly Range[], put: (found: string) => string): string {
  const pieces: string[] = [];
  let kept = 0;
  for (const { start, end } of ranges) {
    pieces.push(text.slice(kept, start), put(text.slice(start, end)));
    kept = end;
  }
  return pieces.join("") + text.slice(kept);
}
