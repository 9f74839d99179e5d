/** Limits for a JSON text before it is parsed: a parser's cost grows with the number of values, not only with bytes. */
export interface JsonLimits {
  /** Brackets that are open at the same time. */
  depth: number;
  /** Opened brackets and commas together, an upper bound for the number of values. */
  elements: number;
  /** Colons. A member of an object costs ten times as much as an element of a list, if its name is new. */
  members: number;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const [open, close] = [0x5b, 0x5d];
const [openObject, closeObject] = [0x7b, 0x7d];
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
/** Consecutive digits outside of strings. Converting a number of megabytes to a BigInt, as octokit does, takes seconds. */
const mostDigits = 1_000;

/** Counts the brackets, commas, colons and digits of a JSON text that arrives in pieces, in UTF-8. Invalid JSON is counted as well. */
export class JsonMeter {
  readonly #limits: JsonLimits;
  #depth = 0;
  #elements = 0;
  #members = 0;
  /** Digits at the end of the last piece. */
  #digits = 0;
  #longestNumber = 0;
  #inString = false;
  #isEscaped = false;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** Takes the next piece. @returns false once the text exceeds a limit */
  take(bytes: Uint8Array): boolean {
    let [depth, elements, members] = [this.#depth, this.#elements, this.#members];
    let deepest = depth;
    for (let at = this.#beginning(bytes); at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === quote) at = this.#behindString(bytes, at + 1) - 1;
      else if (isDigit(byte)) at = this.#behindDigits(bytes, at) - 1;
      else if (byte === comma) elements += 1;
      else if (byte === colon) members += 1;
      else if (byte === open || byte === openObject) {
        elements += 1;
        depth += 1;
        deepest = Math.max(deepest, depth);
      } else if (byte === close || byte === closeObject) depth -= 1;
    }
    [this.#depth, this.#elements, this.#members] = [depth, elements, members];
    return deepest <= this.#limits.depth && this.#isWithin();
  }

  #isWithin(): boolean {
    const { elements, members } = this.#limits;
    return this.#elements <= elements && this.#members <= members && this.#longestNumber <= mostDigits;
  }

  /** The index at which the piece continues after the rest of a string. */
  #beginning(bytes: Uint8Array): number {
    if (!isDigit(bytes[0])) this.#digits = 0;
    return this.#inString ? this.#behindString(bytes, 0) : 0;
  }

  /** The index after the digits that begin, or continue, at `at`. */
  #behindDigits(bytes: Uint8Array, at: number): number {
    let next = at;
    while (isDigit(bytes[next])) next += 1;
    const digits = next - at + (at === 0 ? this.#digits : 0);
    this.#longestNumber = Math.max(this.#longestNumber, digits);
    this.#digits = next === bytes.length ? digits : 0;
    return next;
  }

  /** The index after the string that continues at `at`, or after the piece. */
  #behindString(bytes: Uint8Array, at: number): number {
    this.#inString = true;
    for (let next = at; next < bytes.length; next++) {
      const byte = bytes[next];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) {
        this.#inString = false;
        return next + 1;
      }
    }
    return bytes.length;
  }
}

export const isWithin = (text: string, limits: JsonLimits): boolean =>
  new JsonMeter(limits).take(Buffer.from(text));

/** A JSON value in which `change` replaces each string, in their order. Names of properties do not change. */
export function withStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => withStrings(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withStrings(inner, change)]));
}

/** The value of JSON; undefined, which is not a JSON value, for anything else. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Decodes the percent escapes of a text; null if one is malformed. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
