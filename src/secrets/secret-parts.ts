import { createPrivateKey, type KeyObject } from "node:crypto";
import type { Range } from "./ranges.ts";

/** What of a secret is secret: not the header that all keys of its kind share. */
export interface SecretParts {
  /** As they stand in the secret. */
  texts: string[];
  /** What texts of it encode, whatever file format that text is of. */
  bytes: Buffer[];
}

/** Whether it is a key in PEM, of which some lines are words. */
export function isKey(secret: string): boolean {
  return secret.includes("-----BEGIN ");
}

/** The parts whose appearance gives a secret away. */
export function partsOf(secret: string): SecretParts {
  if (isKey(secret)) return partsOfKey(secret);
  const body = secret.slice(endOfTokenHeader(secret));
  return { texts: [body.length >= 24 ? body : secret], bytes: [] };
}

/** The first segment of a JSON web token says how it is signed, and is the same in all of an issuer. */
function endOfTokenHeader(secret: string): number {
  const start = secret.indexOf("eyJ");
  return start < 0 ? 0 : secret.indexOf(".", start) + 1;
}

/** The same key is written in several formats, whose texts have nothing in common: a file may hold another one than the environment. */
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

/** Where in a DER structure the long numbers stand (X.690: tag, length, content). All else is the same in every key. */
function secretRanges(der: Buffer, start = 0, end = der.length): Range[] {
  const ranges: Range[] = [];
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

/** Whether an octet string is one more structure. The numbers of small keys are octets themselves, and may begin like one. */
function holdsElement(der: Buffer, start: number, end: number): boolean {
  const first = der.readUInt8(start);
  const second = der.readUInt8(start + 1);
  if (first === tags.octets) return second === end - start - 2;
  return first === tags.sequence && (second === 0x82 || second === 0x81 || second === end - start - 2);
}

/** The stretches of a PEM text that encode those numbers alone, with the line ends between. */
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
