import { createHash, randomBytes } from "node:crypto";
import { escapeInvisible } from "../text/escape-invisible.ts";
import {
  exactSpellings,
  mightBeWords,
  type Needle,
  NeedleIndex,
  type Places,
  type Reading,
  SHORTEST_NEEDLE,
} from "./needle-index.ts";
import { isWordLike } from "./randomness.ts";
import { censored, merged, replaced, type TextRange, valuesIn } from "./ranges.ts";
import { secretsIn } from "./redact.ts";

/** The minimum length of a value. */
const SHORTEST_VALUE = SHORTEST_NEEDLE;
/** More would fill the memory. Values that are not stored are still found if their form shows that they are secrets. */
const MOST_VALUES = 20_000;
/** For short values with the same end. All of them are compared at each occurrence of that end, so more would slow the search. */
const MOST_ALIKE = 32;
/** A random value of this length is recognized by a part of it, because long lines are shown cut off. */
const LONG = 24;
const PART = 16;
const token = /^[\w+/=.~-]+$/;

/** Finds many values, as they are written, in one pass. */
class ValueIndex {
  readonly #needles = new NeedleIndex();
  readonly #known = new Set<string>();
  /** How many values end with these characters, among those that are not found by parts. */
  readonly #alike = new Map<string, number>();

  get size(): number {
    return this.#known.size;
  }

  /** Skips a value that is too short, known, or over the limit. */
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

  /** Positions of values, or of identifying parts of long ones; they may overlap. */
  rangesIn(text: string): TextRange[] {
    return this.#needles.isEmpty ? [] : this.#needles.rangesIn(asWritten(text));
  }
}

function needleOf(value: string): Needle {
  const { codes } = asWritten(value);
  const isInParts = value.length >= LONG && token.test(value) && !isWordLike(value);
  return { secret: value, codes, least: isInParts ? PART : codes.length };
}

/** Each UTF-16 unit without its high byte, which is not needed to distinguish secrets. */
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

/** The number of each value, by a salted hash of the value: the part of the masks that a run stores. */
export interface MaskNumbers {
  salt: string;
  numbers: Record<string, number>;
}

/** `*secret-12.......*`; the word is shorter if the value is too short for that. */
const masks = /\*(secret-|s|)(\d{1,6})\.*\*/g;
const words = ["secret-", "s", ""];
/** For at most this many values, base64 and other spellings are searched as well. */
const MOST_SPELLED = 2_000;
const HASH_CHARACTERS = 22;

/** A text that both scanners have seen. Its masked form depends on the values that are known at the time of the call. */
export interface ScannedText {
  text: string;
  /** Secrets that either scanner found. */
  ranges: readonly TextRange[];
}

/**
 * Hides secrets from a model, in all texts. A mask is as long as its value, so that lines and columns do not change, and shows a number that
 * identifies the value during the run.
 */
export class Masks {
  readonly #salt: string;
  readonly #index = new ValueIndex();
  readonly #values: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #earlier = new Map<string, number>();
  /** Numbers of an earlier attempt whose values are unknown until they occur again. */
  readonly #recorded = new Set<number>();
  /** Numbers that occur in a text in the form of a mask: they are not assigned to a value. */
  readonly #reserved = new Set<number>();
  #next = 1;
  #spelled = 0;
  #fresh: Record<string, number> = {};

  /** @param earlier numbers that an earlier attempt at the same run stored, oldest first */
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

  /**
   * Looks for secrets in a whole text, which are then masked in every text. Not those that only words of people hold: with them, an author
   * could hide code.
   * @param words the parts of the text that are such words; all of it if true
   */
  async learn(text: string, words: readonly TextRange[] | true = []): Promise<ScannedText> {
    const ranges = await secretsIn(text);
    for (const { 2: number } of text.matchAll(masks)) this.#reserved.add(Number(number));
    // A model's text about a mask can look like the assignment of a password; it is not a secret.
    const secret = ranges.filter(({ start, end }) => !this.#isAboutMask(text.slice(start, end)));
    const isSaid = ({ start }: TextRange) =>
      words === true || words.some((one) => one.start <= start && start < one.end);
    for (const value of valuesIn(text, secret))
      if (!isSaid(value)) this.#register(text.slice(value.start, value.end));
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

  /** Grows with each value that is learned: a text that was masked before may still contain the value. */
  get known(): number {
    return this.#index.size;
  }

  /** The text without its own secrets and those of other learned texts. Its length and line breaks do not change. */
  mask({ text, ranges }: ScannedText): string {
    return replaced(text, this.#secretsIn({ text, ranges }), (value) => this.#maskOf(value));
  }

  #secretsIn({ text, ranges }: ScannedText): TextRange[] {
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

  /** The numbers that were assigned since the last call; null if there are none. */
  takeFresh(): MaskNumbers | null {
    const numbers = this.#fresh;
    if (Object.keys(numbers).length === 0) return null;
    this.#fresh = {};
    return { salt: this.#salt, numbers };
  }

  /** Whether the text contains anything in the form of a mask, from any run. */
  looksMasked(text: string): boolean {
    return text.search(masks) >= 0;
  }

  holdsMask(text: string): boolean {
    return this.unmask(text) !== text;
  }

  /** The text with values in place of the masks of this run. The number of dots in a mask is ignored, because models miscount. */
  unmask(text: string, write = (value: string) => value): string {
    return this.#withoutMasks(text, write);
  }

  /** The text for people, to whom the numbers mean nothing. */
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

  holdsSecret(text: string): boolean {
    return this.#index.rangesIn(text).length > 0;
  }

  /** Positions of secrets in a text, its own and those of other texts; a multi-line key is one range. */
  async secretsIn(text: string): Promise<TextRange[]> {
    const { ranges } = await this.learn(text);
    return merged([...ranges, ...this.#index.rangesIn(text)]);
  }
}

const withoutDots = (mask: string) => mask.replaceAll(".", "");

function written(number: number, length: number): string {
  const start = words.map((word) => `*${word}${number}`).find((one) => one.length < length);
  return start === undefined ? "*".repeat(length) : `${start.padEnd(length - 1, ".")}*`;
}
