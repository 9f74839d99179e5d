import { type Needle, NeedleIndex, SHORTEST_NEEDLE } from "./needle-index.ts";
import { isWordLike } from "./randomness.ts";
import type { Range } from "./ranges.ts";
import type { Places, Reading } from "./reading.ts";

/** The fewest characters that a value may have. */
export const SHORTEST_VALUE = SHORTEST_NEEDLE;
/** More would fill the memory; what is not held is still found where it shows by its form. */
const MOST_VALUES = 20_000;
/** Of short values that end alike. All of them are compared wherever that end stands, so that more would make a search slow. */
const MOST_ALIKE = 32;
/** What is this long and random is given away by a part of it: long lines are shown cut off. */
const LONG = 24;
const PART = 16;
const token = /^[\w+/=.~-]+$/;

/** Finds many values, as they are written, in one pass. */
export class ValueIndex {
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
