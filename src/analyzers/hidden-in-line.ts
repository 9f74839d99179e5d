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
interface MixedWord {
  /** Its index in the line. */
  at: number;
  word: string;
  /** All of it in Latin letters. */
  looksLike: string;
}

/**
 * The first word of a line in which some letters are Latin and all others only look Latin. A Latin abbreviation with an ending of another
 * language does not count if the line contains words of that language.
 */
export function mixedWord(line: string): MixedWord | undefined {
  let isForeign: boolean | undefined;
  for (const { 0: found, index } of line.matchAll(word)) {
    if (!/[A-Za-z]/.test(found)) continue;
    const others = found.match(/[^\w$]/gu) ?? [];
    if (others.length === 0 || !others.every((letter) => latinOf.has(letter))) continue;
    if (bentAbbreviation.test(found)) isForeign ??= foreignWord.test(line);
    if (bentAbbreviation.test(found) && isForeign) continue;
    const looksLike = found.replace(/[^\w$]/gu, (letter) => latinOf.get(letter) ?? letter);
    return { at: index, word: found, looksLike };
  }
  return undefined;
}

/** The ways in which a line can differ from how it looks. */
export type HiddenKind =
  | "bidirectional"
  | "tag-characters"
  | "variation-selectors"
  | "blank-letters"
  | "zero-width"
  | "look-alikes";

/** The kind of file, which decides which characters are ordinary. */
export interface LineContext {
  /** Prose, or texts in several languages. */
  isText: boolean;
  /** Tests hold odd characters as data. */
  isTest: boolean;
}

/** Letters of scripts that are written from right to left. */
const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** The opening character of a stretch that is not shown in its real order, the stretch, and its closing character (CVE-2021-42574). */
const stretch =
  /[\u202a\u202b\u202d\u202e]([^\u202a-\u202e\u2066-\u2069]*)\u202c?|[\u2066-\u2068]([^\u202a-\u202e\u2066-\u2069]*)\u2069?/g;
const override = /^[\u202d\u202e]/;
/** Characters of code that a phrase within a stretch does not need. */
const codeSign = /["'`;{}=*/#\\]/;

const tag = /[\u{e0000}-\u{e007f}]/u;
/** Flags of England, Scotland and Wales: a black flag, tags, and the closing tag. */
const flag = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f}/gu;

/** Chooses one form of the Chinese character before it. */
const ideographVariant = /(?<=\p{Ideographic})[\u{e0100}-\u{e01ef}]/gu;
const selector = /[\u{e0100}-\u{e01ef}]|[\ufe00-\ufe0f]{2}|(?<=[A-Za-z0-9_$])[\ufe00-\ufe0f](?=[A-Za-z_$])/u;

/** Invisible letters, which may form names. Two of them are fillers in old Hangul syllables. */
const blankLetter =
  /[\u3164\uffa0]|(?<![\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff])[\u115f\u1160](?![\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff])/u;

const zeroWidthInWord =
  /[A-Za-z0-9_$](?:[\u061c\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff])+[A-Za-z0-9_$([=]/;
/** This many of them may encode a text. */
const zeroWidthRun = /[\u200b-\u200d\u2060-\u2064\ufeff]{8}/;

/** A hidden feature of a line, and its index. */
interface Hidden {
  kind: HiddenKind;
  at: number;
}

/** The hidden features of a line, at most one of each kind. Linear in its length. */
export function hiddenIn(line: string, { isText, isTest }: LineContext): Hidden[] {
  if (!/[^\t\n\r -~]/.test(line)) return [];
  const plain = line.replace(flag, spaces).replace(ideographVariant, spaces);
  const isData = isText || isTest;
  const run = line.search(zeroWidthRun);
  const found: Hidden[] = [
    { kind: "bidirectional", at: reordered(line, isText) },
    { kind: "tag-characters", at: plain.search(tag) },
    { kind: "variation-selectors", at: isTest ? -1 : plain.search(selector) },
    { kind: "blank-letters", at: isText ? -1 : line.search(blankLetter) },
    { kind: "zero-width", at: run < 0 && !isData ? line.search(zeroWidthInWord) : run },
    { kind: "look-alikes", at: isData ? -1 : (mixedWord(line)?.at ?? -1) },
  ];
  return found.filter(({ at }) => at >= 0);
}

const spaces = (text: string) => " ".repeat(text.length);

/**
 * The index of control characters that suspiciously change the display order of a line; -1 if there are none. Around words of a
 * right-to-left language they are ordinary: in code if the stretch contains no code, in prose anywhere in the line.
 */
function reordered(line: string, isText: boolean): number {
  for (const { 0: whole, 1: embedded, 2: isolated, index } of line.matchAll(stretch)) {
    const inner = embedded ?? isolated ?? "";
    if (isText && override.test(whole) && !rightToLeft.test(line)) return index;
    if (!isText && (codeSign.test(inner) || !rightToLeft.test(inner))) return index;
  }
  return -1;
}
