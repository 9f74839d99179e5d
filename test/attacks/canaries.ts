import { randomBytes } from "node:crypto";

/** A value that must never leak, and its location. */
export interface Canary {
  name: string;
  value: string;
}

/** A canary that was found, and its encoding. */
export interface Catch {
  name: string;
  form: string;
}

/** Finds canaries in text. */
export interface Net {
  /** Every canary that shares at least eight consecutive characters with the text, in any encoding; each once per encoding. */
  find(text: string): Catch[];
}

/** Letters and digits only, so that no context needs to escape them. 190 bits. */
export function makeCanary(name: string): Canary {
  const value = randomBytes(48)
    .toString("base64")
    .replace(/[^A-Za-z0-9]/g, "")
    .slice(0, 32);
  return { name, value };
}

/** Number of characters that give a canary away. */
const WINDOW = 8;

interface Spelling {
  form: string;
  /** Encoded characters that represent at most `WINDOW` characters of the canary. */
  width: number;
  spell(value: string): string;
}

/** Base64 of a value after `before` other bytes, without the characters that depend on the bytes around it. */
function base64Behind(before: number, encoding: "base64" | "base64url"): (value: string) => string {
  return (value) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    const whole = bytes.toString(encoding).replaceAll("=", "");
    return whole.slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
  };
}

const inBase64 = ([0, 1, 2] as const).flatMap((before): Spelling[] =>
  (["base64", "base64url"] as const).map((encoding) => ({
    form: "base64",
    width: WINDOW,
    spell: base64Behind(before, encoding),
  })),
);

const hex = (value: string) => Buffer.from(value).toString("hex");

export const spellings: readonly Spelling[] = [
  { form: "raw", width: WINDOW, spell: (value) => value },
  { form: "reversed", width: WINDOW, spell: (value) => [...value].reverse().join("") },
  ...inBase64,
  // Eight hex digits are only four bytes, which texts full of object names contain by chance.
  { form: "hex", width: 2 * WINDOW, spell: hex },
  { form: "hex", width: 2 * WINDOW, spell: (value) => hex(value).toUpperCase() },
  { form: "URL-encoded", width: 3 * WINDOW, spell: (value) => hex(value).replace(/../g, "%$&") },
  {
    form: "URL-encoded",
    width: 3 * WINDOW,
    spell: (value) => hex(value).toUpperCase().replace(/../g, "%$&"),
  },
];

/** Escapes and entities that can appear between the characters of a split value once it is printed or escaped. */
const escapes = /\\u\{[0-9A-Fa-f]+\}|\\u[0-9A-Fa-f]{4}|\\[nrtbf]|%(?:20|0[Aa])|&[a-z]+;|&#\w+;/g;
const notOfCanaries = /[^A-Za-z0-9]+/g;

const squeeze = (text: string) => text.replace(notOfCanaries, "");

/** Finds runs of characters that belong to a canary. */
class Windows {
  readonly #known = new Map<number, Map<string, Catch>>();
  /** Whether a run begins with four characters of this sum: a quick filter for most of the text. */
  readonly #beginnings = new Uint8Array(1 << 24);

  /** Adds every run of `width` characters of a text. */
  add(text: string, width: number, what: Catch): void {
    const known = this.#known.get(width) ?? new Map<string, Catch>();
    this.#known.set(width, known);
    for (let at = 0; at + width <= text.length; at += 1) {
      const run = text.slice(at, at + width);
      known.set(run, what);
      this.#beginnings[sumOf(sumOf(sumOf(sumOf(0, run, 0), run, 1), run, 2), run, 3)] = 1;
    }
  }

  *in(text: string): Generator<Catch> {
    let sum = 0;
    for (let end = 0; end < text.length; end += 1) {
      sum = sumOf(sum, text, end);
      if (this.#beginnings[sum] !== 1) continue;
      for (const [width, known] of this.#known) {
        const found = known.get(text.slice(end - 3, end - 3 + width));
        if (found) yield found;
      }
    }
  }
}

/** A sum of the last four characters; earlier ones are shifted out. */
const sumOf = (sum: number, text: string, at: number) => ((sum << 6) ^ text.charCodeAt(at)) & 0xffffff;

export function createNet(canaries: readonly Canary[]): Net {
  const whole = new Windows();
  // Finds values split by punctuation, white space, line breaks or invisible characters, also if they were encoded first.
  const split = new Windows();
  for (const { name, value } of canaries) {
    for (const { form, width, spell } of spellings) {
      whole.add(spell(value), width, { name, form });
      if (form !== "URL-encoded") split.add(squeeze(spell(value)), width, { name, form });
    }
  }
  return {
    find(text) {
      const found = new Map<string, Catch>();
      for (const one of whole.in(text)) found.set(`${one.name} ${one.form}`, one);
      for (const together of new Set([squeeze(text), squeeze(text.replace(escapes, ""))])) {
        for (const { name, form } of split.in(together)) {
          const key = `${name} ${form}`;
          if (!found.has(key)) found.set(key, { name, form: `${form}, split` });
        }
      }
      return [...found.values()];
    },
  };
}

/** Every string of a JSON value, keys too. */
export function* stringsOf(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const one of value) yield* stringsOf(one);
  else if (typeof value === "object" && value !== null)
    for (const [key, one] of Object.entries(value)) {
      yield key;
      yield* stringsOf(one);
    }
}
