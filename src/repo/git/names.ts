import { isUtf8 } from "node:buffer";
import { pathFault } from "../diff/paths.ts";

/** Text that reads as an escape: `\134`, and `\200` to `\377`. */
const escapes = /\\(134|[23][0-7]{2})/g;
const lookalikes = /\\(?=134|[23][0-7]{2})/g;
/** For bytes read as Latin-1: a possible character of UTF-8, or any other byte beyond ASCII. */
const beyondAscii = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g;

const octal = (character: string) => `\\${character.charCodeAt(0).toString(8)}`;

/**
 * The key of a name in git, which is bytes without an encoding. A UTF-8 name is its own key. In any other name, each byte that is not part
 * of a character is written as `\351`; a backslash before text that reads as such an escape is `\134`. So every name has a unique key in the
 * same folders, and {@link nameBytes} returns the name. All code that compares or shows paths uses keys.
 */
export function decodeName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8").replace(lookalikes, "\\134");
  return bytes.toString("latin1").replace(lookalikes, "\\134").replace(beyondAscii, decodeCharacter);
}

function decodeCharacter(found: string): string {
  const bytes = Buffer.from(found, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : found.replace(/./gs, octal);
}

/** The name with this key: the inverse of {@link decodeName}. */
export function nameBytes(key: string): Buffer {
  const latin1 = Buffer.from(key, "utf8").toString("latin1");
  const name = latin1.replace(escapes, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
  return Buffer.from(name, "latin1");
}

/** Limits of Linux and macOS for a name, and for a path including the checkout's own (NAME_MAX, PATH_MAX). */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 3_500;
/** git walks folders recursively, and crashes at some thousands (2.39 at 5,000; later versions refuse more than 2,048). */
const MAX_DEPTH = 1_000;

/** Whether a checkout can contain a file with this key. Other files are read only from their blobs. */
export function isWritable(key: string): boolean {
  if (pathFault(key) !== undefined) return false;
  // No character takes more than four bytes, so short paths need no check.
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

/** An escape of a key, or a character that git escapes: `"`, `\` and the control characters of ASCII. */
const special = /\\(?:134|[23][0-7]{2})|[^ !#-[\]-~\u{80}-\u{10ffff}]/u;
const allSpecial = new RegExp(special, "gu");

function spellOut(found: string): string {
  // In a key, a byte that is not UTF-8 is already written as git writes it.
  if (found.length > 1) return found === "\\134" ? "\\\\" : found;
  const letter = named[found];
  return `\\${letter ?? found.charCodeAt(0).toString(8).padStart(3, "0")}`;
}

/** The name with this key as git writes it into a patch with `core.quotePath=false`, but with bytes that are not UTF-8 escaped as well. */
export function quotePath(key: string): string {
  return special.test(key) ? `"${key.replace(allSpecial, spellOut)}"` : key;
}

/** The `--- a/x` and `+++ b/x` lines end with a tab if the path contains a space, so that patch programs find its end. */
export function markerPath(key: string): string {
  const quoted = quotePath(key);
  return key.includes(" ") && quoted === key ? `${key}\t` : quoted;
}
