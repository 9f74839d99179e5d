/**
 * Letters that look like a Latin one in every common font, and the one that each looks like. What merely resembles one is left
 * out, and so are the Greek small letters that formulas are made of. https://www.unicode.org/Public/security/latest/confusables.txt
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

/** A word that is another one than it looks like. */
export interface MixedWord {
  /** Where it begins in the line. */
  at: number;
  word: string;
  /** All of it in Latin letters. */
  looksLike: string;
}

/**
 * The first word of a line in which some letters are Latin and all others only look it. A Latin abbreviation with the ending
 * that another language gives it is none, in a line that holds words of such a language.
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
