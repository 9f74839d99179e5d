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
