/**
 * Makes what a reader cannot see visible, reversibly. Text of a pull request may hide instructions in characters that
 * print as nothing (tag characters, zero-width joiners, bidirectional controls); deleting them would hide the attack,
 * so they are shown as `\u{E0049}`. A carriage return, harmless and frequent, is shown as `␍`.
 *
 * `unescapeInvisible(escapeInvisible(text)) === text` for every text: whatever would read as an escape is escaped
 * itself, a literal `\u{41}` as `\u{5C}u{41}`.
 */

/** Everything Default_Ignorable, format and control but line feed and tab, and separators that print as nothing. */
const invisible =
  /\\u\{[0-9A-Fa-f]{1,6}\}|[\r\u240D]|[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Cs}\u2800\u2028\u2029]--[\n\t]]/gv;

const escaped = /\u240D|\\u\{([0-9A-Fa-f]{1,6})\}/g;

const CARRIAGE_RETURN_SIGN = "\u240D";
const MAX_CODE_POINT = 0x10ffff;

function show(found: string): string {
  if (found === "\r") return CARRIAGE_RETURN_SIGN;
  // A literal escape in the source: only its backslash is replaced, the rest stays readable.
  if (found.length > 2 && found.startsWith("\\u{")) return `\\u{5C}${found.slice(1)}`;
  return `\\u{${(found.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

/** `text` with every invisible character spelled out. Linear in its length. */
export function escapeInvisible(text: string): string {
  return text.replace(invisible, show);
}

/** The exact inverse of {@link escapeInvisible}; text that was never escaped passes unless it looks escaped. */
export function unescapeInvisible(text: string): string {
  return text.replace(escaped, (found, hex: string | undefined) => {
    if (hex === undefined) return "\r";
    const codePoint = Number.parseInt(hex, 16);
    return codePoint > MAX_CODE_POINT ? found : String.fromCodePoint(codePoint);
  });
}

/**
 * Undoes the escapes that {@link escapeInvisible} shows of `original`, and no others: for text that was written after
 * reading `original`. What else looks like an escape is code of its writer's own.
 */
export function unescapeAsIn(text: string, original: string): string {
  const shown = escapeInvisible(original).match(escaped) ?? [];
  const known = new Set(shown.map(unescapeInvisible));
  return text.replace(escaped, (found) => {
    const character = unescapeInvisible(found);
    return known.has(character) ? character : found;
  });
}
