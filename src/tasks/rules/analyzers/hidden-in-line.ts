/**
 * Letters that look like a Latin one in every common font, mapped to that letter. Merely similar letters are left out, and so are the Greek
 * small letters used in formulas. https://www.unicode.org/Public/security/latest/confusables.txt
 */
const latinOf = new Map([
  // Cyrillic small letters, then capitals.
  ...paired(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf",
    "aeopcyxijshdqwl",
  ),
  ...paired(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u04c0",
    "ABEKMHOPCTYXIJSI",
  ),
  // Greek, and one Armenian letter.
  ...paired(
    "\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0585",
    "oABEZHIKMNOPTYXo",
  ),
]);

function paired(letters: string, latin: string): [letter: string, latin: string][] {
  return [...letters].map((letter, at) => [letter, latin.charAt(at)]);
}

const word = /[\p{L}\p{N}\p{M}_$]+/gu;
const foreignWord = /(?<![\p{L}\p{N}_$])[\p{Script=Cyrillic}\p{Script=Greek}]{3}/u;
const bentAbbreviation = /^[A-Z\d]{2,}[^\w$]{1,3}$/;

/** A word with letters that look Latin but are not. */
export interface MixedWord {
  /** Its index in the line. */
  at: number;
  word: string;
  /** All of it in Latin letters. */
  looksLike: string;
}

/**
 * The words of a line in which some letters are Latin and all others only look Latin. A Latin abbreviation with an ending of another
 * language does not count if the line contains words of that language.
 */
function mixedWords(line: string): MixedWord[] {
  let isForeign: boolean | undefined;
  return [...line.matchAll(word)].flatMap(({ 0: found, index: at }) => {
    if (!/[A-Za-z]/.test(found)) return [];
    const others = found.match(/[^\w$]/gu) ?? [];
    if (others.length === 0 || !others.every((letter) => latinOf.has(letter))) return [];
    if (bentAbbreviation.test(found)) isForeign ??= foreignWord.test(line);
    if (bentAbbreviation.test(found) && isForeign) return [];
    const looksLike = found.replace(/[^\w$]/gu, (letter) => latinOf.get(letter) ?? letter);
    return [{ at, word: found, looksLike }];
  });
}

/** The ways in which a line can differ from how it looks. */
export type HiddenKind = "bidirectional" | "terminal" | "invisible" | "look-alikes";

/** The kind of text at an index of a program. "comment" is only a comment that ends with its line; "text" is between tags. */
export type TextKind = "code" | "comment" | "block comment" | "string" | "text";

/** What decides which characters are ordinary in a line. */
export interface LineContext {
  /** Text that is written for people: prose or, in strings of a program, translations. */
  isText: boolean;
  /** Tests hold odd characters as data. */
  isTest: boolean;
  /** The kind of text at an index of the file, if a parser has read it. */
  kindAt?: (index: number) => TextKind;
}

/** `code` forms names; a `literal` is a string or a comment, or any part of what no parser reads; `data` is what a test is about. */
type Place = "code" | "literal" | "text" | "data";

function placeOf(index: number, { isText, isTest, kindAt }: LineContext): Place {
  const kind = kindAt?.(index) ?? "string";
  if (kind === "code") return "code";
  const isComment = kind === "comment" || kind === "block comment";
  if (isTest) return isComment ? "text" : "data";
  return (isText && !isComment) || kind === "text" ? "text" : "literal";
}

/** Characters without ink: ignorable, format and control characters, separators; and U+2800, which no property tells. */
const unseen = /[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u2800]--[\t\n\f\r]]/gv;

/** A text without characters that have no ink, and without carriage returns. */
export const withoutUnseen = (text: string): string => text.replace(unseen, "").replaceAll("\r", "");

const emoji =
  "(?:\\u{1F3F4}[\\u{E0030}-\\u{E0039}\\u{E0061}-\\u{E007A}]{3,6}\\u{E007F}|(?=\\p{Emoji})\\p{RGI_Emoji}|\\p{Extended_Pictographic}(?:\\p{Emoji_Modifier}|[\\uFE0E\\uFE0F])?)";
/** Letters without capitals, and of Adlam, and their marks: they need joiners, or have no spaces. Not those of Chinese, Japanese and Korean. */
const joined =
  "[[\\p{Lo}\\p{M}\\p{sc=Adlm}]--[\\p{DI}\\p{Ideographic}\\p{scx=Latn}\\p{sc=Zinh}\\p{sc=Hang}\\p{sc=Hira}\\p{sc=Kana}]]";
const formatted = "[[\\p{Lo}\\p{N}]--\\p{ASCII}]";
const format = "[[\\p{Cf}--\\p{DI}]--[\\uFFF9-\\uFFFB]]";
const jamo = "[[\\u1100-\\u11ff\\ua960-\\ua97f\\ud7b0-\\ud7ff]--\\p{DI}]";

/** Text in which such characters are needed. */
const needed = new RegExp(
  [
    `${emoji}(?:\\u200D${emoji})*`,
    // A selector chooses a form of a symbol, a Chinese character or a Mongolian letter.
    "(?<=[[\\p{S}\\p{P}]--\\p{ASCII}])[\\uFE00-\\uFE0F]|(?<=\\p{Ideographic})\\p{VS}|(?<=\\p{sc=Mong})[\\u180B-\\u180F]",
    `(?<=${joined})[\\u200B-\\u200D]|[\\u200B-\\u200D](?=${joined})`,
    // It keeps the order of points.
    "(?<=\\p{sc=Hebr})\\u034F",
    // It keeps a name from being a mention.
    "(?<=[@#])\\u200B",
    // Old Hangul syllables without a first consonant or a vowel.
    `(?<=${jamo})[\\u115F\\u1160]|[\\u115F\\u1160](?=${jamo})`,
    // Format characters with ink beside what they format, such as the Arabic sign of a year.
    `(?<=${formatted})${format}|${format}(?=${formatted})`,
    "(?<!\\u2800)\\u2800*[\\u2801-\\u28FF][\\u2800-\\u28FF]*",
  ].join("|"),
  "gv",
);

/**
 * Ordinary in text: ignorable letters and marks; what joins, breaks and directs words; signs of formulas; C1 controls, which wrongly decoded
 * text is full of.
 */
const ordinaryInText =
  /[[[\p{L}\p{M}]--\p{VS}]\p{Join_Control}\p{Bidi_Control}\p{Zl}\p{Zp}\x80-\x9f\xad\u200b\u2060-\u2064\u2800\ufeff]/v;
/** This many may encode a text. */
const run = /\p{DI}{8}/v;

/**
 * ESC and the C1 controls that begin a sequence, with which a terminal erases, moves or disguises what it has shown (ECMA-48). Wrongly decoded
 * text has these controls behind others, except CSI, which needs no end.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const terminal = /[\x1b\x9b]|(?<![\x80-\xff\u20ac])[\x90\x98\x9d-\x9f]|\x9d(?=\d{1,4};)/y;
const bidirectional = /\p{Bidi_Control}/u;
const splitWord = /[\w$]\p{Bidi_Control}+[\w$]/u;
const tag = /[\u{e0000}-\u{e007f}]/u;

/** Letters of scripts that are written from right to left. */
const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** The opening character of a stretch that is not shown in its real order, the stretch, and its closing character (CVE-2021-42574). */
const stretch =
  /[\u202a\u202b\u202d\u202e]([^\u202a-\u202e\u2066-\u2069]*)\u202c?|[\u2066-\u2068]([^\u202a-\u202e\u2066-\u2069]*)\u2069?/g;
const override = /^[\u202d\u202e]/;
const closed = /[\u202c\u2069]$/;
/** Characters of code that a phrase within a stretch does not need. */
const codeSign = /["'`;{}()<>=*/#\\]/;

/** The indices of a line about which {@link hiddenIn} asks, in order. */
export function askedIn(line: string): number[] {
  if (isPlain(line)) return [];
  const characters = Array.from(line.matchAll(unseen), ({ index }) => index);
  return [...characters, ...mixedWords(line).map(({ at }) => at)].sort((a, b) => a - b);
}

const isPlain = (line: string) => !/[^\t\n\r -~]/.test(line);

/** A hidden feature of a line, and its index. */
interface Hidden {
  kind: HiddenKind;
  at: number;
  /** The word that looks like another one. */
  word?: MixedWord;
}

/**
 * The hidden features of a line, the first of each kind. Linear in its length.
 *
 * @param start the line's index in the file
 */
export function hiddenIn(line: string, context: LineContext, start = 0): Hidden[] {
  if (isPlain(line)) return [];
  const placeAt = (at: number) => placeOf(start + at, context);
  const found = new Map<HiddenKind, Hidden>();
  const reorders = reordered(line, placeAt);
  if (reorders >= 0) found.set("bidirectional", { kind: "bidirectional", at: reorders });
  const kindOf = kindsIn(line, placeAt, reorders >= 0);
  for (const { 0: character, index: at } of line.matchAll(unseen)) {
    const kind = kindOf(character, at);
    if (kind && !found.has(kind)) found.set(kind, { kind, at });
  }
  const word = mixedWords(line).find(({ at }) => ["code", "literal"].includes(placeAt(at)));
  return [...found.values(), ...(word ? [{ kind: "look-alikes" as const, at: word.at, word }] : [])];
}

/** Tells what a character without ink is at its index; null if it is ordinary there. */
function kindsIn(line: string, placeAt: (at: number) => Place, isReordered: boolean) {
  const others = line.replace(needed, (text) => " ".repeat(text.length));
  const long = others.search(run);
  const isRightToLeft = rightToLeft.test(line) && !splitWord.test(line);
  const isOrdinary = (character: string, at: number, place: Place) => {
    if (place === "code" || at === long) return false;
    if (others[at] === " " || (isRightToLeft && bidirectional.test(character))) return true;
    return place === "data" ? !tag.test(character) : place === "text" && ordinaryInText.test(character);
  };
  return (character: string, at: number): "terminal" | "invisible" | null => {
    const place = placeAt(at);
    terminal.lastIndex = at;
    if (terminal.test(line)) return place === "data" ? null : "terminal";
    // The finding about another order names it.
    if (isReordered && bidirectional.test(character)) return null;
    return isOrdinary(character, at, place) ? null : "invisible";
  };
}

/**
 * The index of control characters that suspiciously change the display order of a line; -1 if there are none. In text, a stretch is ordinary
 * if it ends within the text; an override also needs a right-to-left language on the line. In a literal, a stretch is ordinary if it ends, has
 * no code and no override, and either consists of words of such a language or is surrounded by them.
 */
function reordered(line: string, placeAt: (at: number) => Place): number {
  // "x" for strings and comments with words of a right-to-left language outside of the stretches.
  const around = line
    .replace(stretch, (whole) => " ".repeat(whole.length))
    .replace(/[^"'`]+/g, (part) => (rightToLeft.test(part) ? "x" : " ").repeat(part.length));
  for (const { 0: whole, 1: embedded, 2: isolated, index } of line.matchAll(stretch)) {
    const inner = embedded ?? isolated ?? "";
    const place = placeAt(index);
    const isText = place === "text";
    const isForeign = rightToLeft.test(inner) && !/\p{Script=Latin}/u.test(inner);
    const isOfWords = isText || (!codeSign.test(inner) && (isForeign || around[index] === "x"));
    const ends = closed.test(whole) || (isText && placeAt(index + whole.length) === "text");
    const mayOverride = isText && rightToLeft.test(line);
    if (place === "code" || !isOfWords || !ends || (override.test(whole) && !mayOverride)) return index;
  }
  return -1;
}
