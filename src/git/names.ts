import { isUtf8 } from "node:buffer";
import { pathFault } from "../diff/paths.ts";

/** What would read as an escape: `\134`, and `\200` to `\377`. */
const escapes = /\\(134|[23][0-7]{2})/g;
const lookalikes = /\\(?=134|[23][0-7]{2})/g;
/** In bytes read as Latin-1: a possible character of UTF-8, or any other byte that is not ASCII. */
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

/** A name, and a path with the checkout's own in front, as far as Linux and macOS take them (NAME_MAX, PATH_MAX). */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 3_500;
/** git walks folders by calling itself, and dies of some thousands (2.39 at 5,000; later ones refuse more than 2,048). */
const MAX_DEPTH = 1_000;

/** Whether a file with this key can be in a checkout. Other files are read only from their blobs. */
export function isWritable(key: string): boolean {
  if (pathFault(key) !== undefined) return false;
  // No character takes more than four bytes, so ordinary paths need not be looked at.
  if (key.length * 4 <= MAX_NAME_BYTES) return true;
  const bytes = nameBytes(key);
  if (bytes.length > MAX_PATH_BYTES) return false;
  const names = bytes.toString("latin1").split("/");
  return names.length <= MAX_DEPTH && names.every((name) => name.length <= MAX_NAME_BYTES);
}

const named: Record<string, string> = {
  "\u0007": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  '"': '"',
  "\\": "\\",
};

/** An escape of a key, or what git escapes: `"`, `\` and the control characters of ASCII. */
const special = /\\(?:134|[23][0-7]{2})|[^ !#-[\]-~\u{80}-\u{10ffff}]/u;
const allSpecial = new RegExp(special, "gu");

function spellOut(found: string): string {
  // A byte that is no UTF-8 is written in a key as git writes it.
  if (found.length > 1) return found === "\\134" ? "\\\\" : found;
  const letter = named[found];
  return `\\${letter ?? found.charCodeAt(0).toString(8).padStart(3, "0")}`;
}

/**
 * The name with this key as git writes it into a patch with `core.quotePath=false`: quoted only when it holds what must be
 * escaped. Bytes that are not UTF-8 are escaped too; git would print them as they are, and reads both.
 */
export function quotePath(key: string): string {
  return special.test(key) ? `"${key.replace(allSpecial, spellOut)}"` : key;
}

/** The `--- a/x` and `+++ b/x` lines end with a tab when the path holds a space, so that patch programs find its end. */
export function markerPath(key: string): string {
  const quoted = quotePath(key);
  return key.includes(" ") && quoted === key ? `${key}\t` : quoted;
}
