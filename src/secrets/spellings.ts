import { type Needle, SHORTEST_NEEDLE } from "./needle-index.ts";
import { isWordLike } from "./randomness.ts";
import { plainCodes } from "./reading.ts";
import { isKey, partsOf } from "./secret-parts.ts";

/** Letters and digits that a secret needs to have to be looked for in every spelling. */
const FEWEST_CODES = 12;
/** Length from which parts of a secret are looked for as well. */
const LONG = 24;

/** How many letters and digits of each way to write bytes hold as much as twelve to sixteen characters of the secret. */
const leastOf = { text: 12, base64: 16, hex: 24, numbers: 24 };
type Encoding = keyof typeof leastOf;

/**
 * What to look for in the readings of a text, whose letters have no case and nothing between them. Empty for a secret of too few letters
 * and digits. Parts count where they hold about sixteen characters, unless they might be words.
 */
export function needlesOf(secret: string): Needle[] {
  if (plainCodes(secret).length < FEWEST_CODES) return [];
  const inParts = secret.length >= LONG && (isKey(secret) || !isWordLike(secret));
  const { texts, bytes } = inParts ? partsOf(secret) : { texts: asJson(secret), bytes: [] };
  const written = [...texts.flatMap(spelled), ...bytes.flatMap(encoded)];
  const needles = new Map<string, Needle>();
  const whole = plainCodes(secret);
  // With the header that it shares with others, where all of it is there.
  needles.set("whole", { secret, codes: whole, least: whole.length });
  for (const [encoding, text] of written) {
    const codes = plainCodes(text);
    const least = inParts ? Math.min(leastOf[encoding], codes.length) : codes.length;
    if (codes.length >= SHORTEST_NEEDLE)
      needles.set(Buffer.from(codes).toString("latin1"), { secret, codes, least });
  }
  return [...needles.values()];
}

/** A secret with a line end or a backslash in it gets letters that are not its own, each time that it is written as JSON. */
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

/**
 * Base64 works on groups of three bytes, so inside a longer text a value has three spellings. The first and the last
 * character of each may hold bits of the neighbours.
 */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replaceAll("=", "");
    return text.slice(offset === 0 ? 0 : offset + 1, -1);
  });
}

/** Of a short secret: what is replaced as it stands. */
export function exactSpellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const base64 = base64Cores(bytes);
  const inUrls = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const json = JSON.stringify(secret).slice(1, -1);
  const texts = [secret, json, encodeURIComponent(secret), reversed(secret)];
  return [...new Set([...texts, ...base64, ...inUrls, hex, hex.toUpperCase()])];
}

/** A secret of several lines is known by each that no other has: not the first and the last of a key. */
export function plainSpellings(secret: string): string[] {
  const [first, ...rest] = secret.trim().split("\n");
  const lines = rest.length > 2 ? rest.filter((line) => line.length >= 48) : [];
  if (lines.length > 2 && first?.startsWith("-----BEGIN ")) return lines.slice(1);
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1)])];
}

export function reversed(text: string): string {
  return [...text].reverse().join("");
}

const FEWEST_LETTERS_OF_A_SECRET = 16;

/**
 * Whether a value might be ordinary language: less than 16 letters and nothing else, written as words are. To replace it would eat text
 * that has nothing to do with it, and the hole would tell what it is.
 */
export function mightBeWords(value: string): boolean {
  const words = value.split(/[\s._-]+/);
  const letters = words.join("").length;
  return (
    letters < FEWEST_LETTERS_OF_A_SECRET &&
    words.every((word) => /^(?:[a-z]*|[A-Z]*|[A-Z][a-z]*)$/.test(word))
  );
}
