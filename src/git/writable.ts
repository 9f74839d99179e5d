import { pathFault } from "../diff/path-fault.ts";
import { nameBytes } from "./names.ts";

/** A name, and a path with the checkout's own in front, as far as Linux and macOS take them (NAME_MAX, PATH_MAX). */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 3_500;
/** git walks folders by calling itself, and dies of some thousands (2.39 at 5,000; later ones refuse more than 2,048). */
const MAX_DEPTH = 1_000;

/** Whether a file with this key can be in a checkout. The others are read from their blobs alone. */
export function isWritable(key: string): boolean {
  if (pathFault(key) !== undefined) return false;
  // No character takes more than four bytes, so ordinary paths need not be looked at.
  if (key.length * 4 <= MAX_NAME_BYTES) return true;
  const bytes = nameBytes(key);
  if (bytes.length > MAX_PATH_BYTES) return false;
  const names = bytes.toString("latin1").split("/");
  return names.length <= MAX_DEPTH && names.every((name) => name.length <= MAX_NAME_BYTES);
}
