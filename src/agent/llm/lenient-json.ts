import { isWithin, type JsonLimits, parseJson } from "../../core/text/json.ts";

/** Enough for any tool call. The engine takes memory for each open bracket, and time for each value. */
const limits: JsonLimits = { depth: 64, elements: 20_000, members: 20_000 };

export interface LenientOptions {
  /** The text was cut off at a limit: closing the open brackets would invent its end. Default false. */
  isCut?: boolean;
}

/**
 * The value of JSON as models write it, repaired without a guess: a code fence, JSON in a string, trailing commas, single quotes, bare keys,
 * line breaks and lone backslashes in strings, Python's constants, missing brackets at the end or one too many. Undefined for anything
 * ambiguous.
 */
export function readLenient(text: string, options: LenientOptions = {}): unknown {
  const bare = /^```\w*\s([\s\S]*?)```$/.exec(text.trim())?.[1]?.trim() ?? text.trim();
  const value = readStrict(bare) ?? whole(bare, options);
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  return readStrict(value) ?? whole(value, options);
}

/** Like `readLenient`, for the arguments of a call; undefined for anything but an object. */
export function readLenientObject(
  text: string,
  options?: LenientOptions,
): Record<string, unknown> | undefined {
  const value = readLenient(text, options);
  return isObject(value) ? value : undefined;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value that begins at `start`, undefined if none can be read, and the index after it; text after it is ignored. */
export function readAt(text: string, start: number, { isCut = false }: LenientOptions = {}) {
  const reader = new Reader(text, start, isCut);
  try {
    const value = reader.value(0);
    return { value, end: reader.at };
  } catch (error) {
    if (error instanceof Unreadable) return { value: undefined, end: reader.at };
    throw error;
  }
}

function whole(text: string, options: LenientOptions): unknown {
  const { value, end } = readAt(text, 0, options);
  return /^[\s}\]]*$/.test(text.slice(end)) ? value : undefined;
}

/** The value of JSON; undefined, which is not a JSON value, for anything else and for too many values. */
export function readStrict(text: string): unknown {
  return isWithin(text, limits) ? parseJson(text) : undefined;
}

/** Internal: it never leaves this file. */
class Unreadable extends Error {}

const literals = new Map<string, unknown>([
  ...([
    ["true", true],
    ["True", true],
    ["false", false],
    ["False", false],
  ] as const),
  ...([
    ["null", null],
    ["None", null],
  ] as const),
]);
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

const backslash = 0x5c;

/** A string's text without its quotes. A backslash that begins no escape is literal, because code is full of them. */
function unescaped(raw: string): string {
  let value = "";
  let done = 0;
  for (let at = raw.indexOf("\\"); at >= 0; at = raw.indexOf("\\", Math.max(done, at + 1))) {
    const sign = escapes[raw.charAt(at + 1)] ?? unicode(raw, at + 1);
    if (sign === undefined) continue;
    value += raw.slice(done, at) + sign;
    done = at + (raw.charAt(at + 1) === "u" ? 6 : 2);
  }
  return value + raw.slice(done);
}

/** The character of `u0041`; undefined if there is no such escape. */
function unicode(raw: string, at: number): string | undefined {
  if (raw.charAt(at) !== "u") return undefined;
  const code = raw.slice(at + 1, at + 5);
  return /^[0-9a-fA-F]{4}$/.test(code) ? String.fromCharCode(Number.parseInt(code, 16)) : undefined;
}

class Reader {
  at: number;
  readonly #text: string;
  readonly #isCut: boolean;
  #values = 0;

  constructor(text: string, start: number, isCut: boolean) {
    this.#text = text;
    this.at = start;
    this.#isCut = isCut;
  }

  value(depth: number): unknown {
    this.#values += 1;
    if (depth > limits.depth || this.#values > limits.elements) throw new Unreadable();
    const next = this.#peek();
    if (next === "{") return this.#object(depth);
    if (next === "[") return this.#array(depth);
    if (next === '"' || next === "'") return this.#string();
    const number = this.#take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y);
    if (number !== undefined) return Number(number);
    const literal = this.#take(/[A-Za-z]+(?!\w)/y) ?? "";
    if (!literals.has(literal)) throw new Unreadable();
    return literals.get(literal);
  }

  #object(depth: number): Record<string, unknown> {
    const members: [string, unknown][] = [];
    this.at += 1;
    while (!this.#closes("}")) {
      const key = /["']/.test(this.#peek()) ? this.#string() : this.#take(/[A-Za-z_][\w-]*/y);
      if (key === undefined || this.#peek() !== ":") throw new Unreadable();
      this.at += 1;
      members.push([key, this.value(depth + 1)]);
      this.#separator("}");
    }
    return Object.fromEntries(members);
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    this.at += 1;
    while (!this.#closes("]")) {
      items.push(this.value(depth + 1));
      this.#separator("]");
    }
    return items;
  }

  /** Searches the end first, so that a string without one costs no more than that. */
  #string(): string {
    const start = this.at + 1;
    const quote = this.#text.charCodeAt(this.at);
    this.at = start;
    for (; this.at < this.#text.length; this.at++) {
      const code = this.#text.charCodeAt(this.at);
      if (code === backslash) this.at += 1;
      else if (code === quote) {
        this.at += 1;
        return unescaped(this.#text.slice(start, this.at - 1));
      }
    }
    this.at = this.#text.length;
    throw new Unreadable();
  }

  /** Takes the bracket; at the end of the text it may be missing. */
  #closes(bracket: string): boolean {
    const next = this.#peek();
    if (next === "" && !this.#isCut) return true;
    if (next !== bracket) return false;
    this.at += 1;
    return true;
  }

  #separator(bracket: string): void {
    const next = this.#peek();
    if (next === ",") this.at += 1;
    else if (next !== bracket && next !== "") throw new Unreadable();
  }

  /** Skips white space and returns the character there; empty at the end. */
  #peek(): string {
    this.#take(/\s+/y);
    return this.#text[this.at] ?? "";
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}
