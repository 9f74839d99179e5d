import { createPrivateKey, type KeyObject } from "node:crypto";
import { type Needle, plainCodes, SHORTEST_NEEDLE } from "./needle-index.ts";
import { isWordLike } from "./randomness.ts";
import type { TextRange } from "./ranges.ts";

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

/** The parts that identify a secret. */
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

/**
 * The same key can be written in several formats, whose texts have nothing in common: a file may contain another format than the
 * environment.
 */
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
/** Minimum length of a secret to be searched by parts as well. */
const LONG = 24;

/** For each encoding, how many letters and digits represent twelve to sixteen characters of the secret. */
const leastOf = { text: 12, base64: 16, hex: 24, numbers: 24 };
type Encoding = keyof typeof leastOf;

/**
 * The needles to search in the readings of a text, whose letters have no case and nothing between them. Empty for a secret with too few
 * letters and digits. A part counts if it holds about sixteen characters, unless it might be words.
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

/** A secret of several lines is recognised by any of its unique lines: not the first and the last of a key. */
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

/**
 * Whether a value might be ordinary language: less than 16 letters and nothing else, written like words. Replacing it would damage
 * unrelated text, and the gap would reveal the value.
 */
export function mightBeWords(value: string): boolean {
  const words = value.split(/[\s._-]+/);
  const letters = words.join("").length;
  return (
    letters < FEWEST_LETTERS_OF_A_SECRET &&
    words.every((word) => /^(?:[a-z]*|[A-Z]*|[A-Z][a-z]*)$/.test(word))
  );
}
