/**
 * Makes invisible characters visible, reversibly: they may hide instructions, and deleting them would hide the attack. They become
 * `\u{E0049}`, a carriage return `␍`. For every text, `unescapeInvisible(escapeInvisible(text)) === text`: what looks like an escape is
 * escaped itself.
 */

/** Everything Default_Ignorable, format and control except line feed and tab, and separators that print as nothing. */
const invisible =
  /\\u\{[0-9A-Fa-f]{1,6}\}|[\r\u240D]|[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Cs}\u2800\u2028\u2029]--[\n\t]]/gv;

const escaped = /\u240D|\\u\{([0-9A-Fa-f]{1,6})\}/g;

const CARRIAGE_RETURN_SIGN = "\u240D";
const MAX_CODE_POINT = 0x10ffff;

function show(found: string): string {
  if (found === "\r") return CARRIAGE_RETURN_SIGN;
  // A literal escape in the source: only its backslash is replaced, the rest stays readable.
  if (found.startsWith("\\u{")) return `\\u{5C}${found.slice(1)}`;
  return `\\u{${(found.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

/** `text` with every invisible character spelled out. Linear in its length. */
export function escapeInvisible(text: string): string {
  return text.replace(invisible, show);
}

/** The exact inverse of {@link escapeInvisible}. Text that was never escaped does not change unless it looks escaped. */
export function unescapeInvisible(text: string): string {
  return text.replace(escaped, (found, hex: string | undefined) => {
    if (hex === undefined) return "\r";
    const codePoint = Number.parseInt(hex, 16);
    return codePoint > MAX_CODE_POINT ? found : String.fromCodePoint(codePoint);
  });
}

/** Scripts in which a joiner between two letters changes how they are written. */
const joined =
  "[\\p{scx=Arab}\\p{scx=Beng}\\p{scx=Deva}\\p{scx=Gujr}\\p{scx=Guru}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Orya}\\p{scx=Sinh}\\p{scx=Taml}\\p{scx=Telu}]";
const emoji = "\\p{Extended_Pictographic}\\p{Emoji_Modifier}?\\uFE0F?";

/** Characters that belong in text for people (the first group), or other characters that people do not see. */
const seenOrHidden = new RegExp(
  [
    `(${emoji}(?:\\u200D${emoji})*`,
    "[0-9#*]\\uFE0F\\u20E3",
    `(?<=${joined})[\\u200C\\u200D](?=${joined})`,
    // The character with which the renderer keeps a name or a number from being a reference; the word before may be code.
    "(?<=[@#\\/.!]|[Gg][Hh]`?-|[Ww]{3}`?)\\u200B)",
    "[[\\p{Default_Ignorable_Code_Point}\\p{Cf}\\p{Cc}\\u2800\\u2028\\u2029]--[\\n\\t]]+",
  ].join("|"),
  "gv",
);

/**
 * Like {@link escapeInvisible}, for text that people read: characters in an emoji or a word stay, and so does what looks like an escape.
 * Idempotent.
 */
export function showHidden(text: string): string {
  return text.replace(
    seenOrHidden,
    (found, seen: string | undefined) => seen ?? Array.from(found, show).join(""),
  );
}

/** Undoes only the escapes that {@link escapeInvisible} shows of `original`: any other in the text is its writer's own code. */
export function unescapeAsIn(text: string, original: string): string {
  const shown = escapeInvisible(original).match(escaped) ?? [];
  const known = new Set(shown.map(unescapeInvisible));
  return text.replace(escaped, (found) => {
    const character = unescapeInvisible(found);
    return known.has(character) ? character : found;
  });
}

/** `JSON.stringify` does not escape these, and a terminal, a log viewer or an editor that shows the text would act on them. */
const unseen = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Escapes invisible characters of JSON text, which changes the text and not its value. */
export function escapeUnseen(json: string): string {
  return json.replace(unseen, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
