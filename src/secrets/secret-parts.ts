import { createPrivateKey, type KeyObject } from "node:crypto";

/** What of a secret is secret: not the header that all keys of its kind share. */
export interface SecretParts {
  /** As they stand in the secret. */
  texts: string[];
  /** What texts of it encode, whatever file format that text is of. */
  bytes: Buffer[];
}

/** The parts whose appearance gives a secret away. */
export function partsOf(secret: string): SecretParts {
  if (secret.includes("-----BEGIN ")) return partsOfKey(secret);
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

interface ByteRange {
  start: number;
  end: number;
}

/** Shorter ones are versions, exponents and names of algorithms. */
const SHORTEST_NUMBER = 16;
const tags = { number: 0x02, bits: 0x03, octets: 0x04 };

/** Where in a DER structure the long numbers stand (X.690: tag, length, content). All else is the same in every key. */
function secretRanges(der: Buffer, start = 0, end = der.length): ByteRange[] {
  const ranges: ByteRange[] = [];
  for (let at = start; at + 2 <= end; ) {
    const tag = der.readUInt8(at);
    const first = der.readUInt8(at + 1);
    const sizeBytes = first < 0x80 ? 0 : first & 0x7f;
    const size = sizeBytes === 0 ? first : der.readUIntBE(at + 2, sizeBytes);
    const content = at + 2 + sizeBytes;
    at = content + size;
    const isNested =
      (tag & 0x20) !== 0 ||
      (tag === tags.octets && size > SHORTEST_NUMBER && [0x30, 0x04].includes(der.readUInt8(content)));
    if (isNested) ranges.push(...secretRanges(der, content, at));
    else if ([tags.number, tags.bits, tags.octets].includes(tag) && size >= SHORTEST_NUMBER)
      ranges.push({ start: content, end: at });
  }
  return ranges;
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
