import { isUtf8 } from "node:buffer";

/** What would read as an escape: `\134`, and `\200` to `\377`. */
const escapes = /\\(134|[23][0-7]{2})/g;
const lookalikes = /\\(?=134|[23][0-7]{2})/g;
/** In bytes read as Latin-1: what may be one character of UTF-8, and whatever else is not ASCII. */
const beyondAscii = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g;

const octal = (character: string) => `\\${character.charCodeAt(0).toString(8)}`;

/**
 * The key of a name in git, which is bytes in no encoding. A name in UTF-8 is its own key. Of any other, each byte that is
 * no part of a character stands in the key as `\351`, as git itself writes it; a backslash of the name in front of what
 * would read as such an escape is `\134`. So every name has a key of its own, in the same folders, and
 * {@link nameBytes} gives the name back. All that compares or shows paths works on keys.
 *
 * @param bytes a name, or a record of git that holds one
 */
export function decodeName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8").replace(lookalikes, "\\134");
  return bytes.toString("latin1").replace(lookalikes, "\\134").replace(beyondAscii, decodeCharacter);
}

function decodeCharacter(found: string): string {
  const bytes = Buffer.from(found, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : found.replace(/./gs, octal);
}

/** The name whose key this is: the inverse of {@link decodeName}. */
export function nameBytes(key: string): Buffer {
  const latin1 = Buffer.from(key, "utf8").toString("latin1");
  const name = latin1.replace(escapes, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
  return Buffer.from(name, "latin1");
}
