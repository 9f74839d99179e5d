/**
 * The letters and digits of a text, without case and without all that can be put between them: white space, punctuation, invisible
 * characters, line ends. A secret that was taken apart is whole again in it.
 */
export interface Reading {
  length: number;
  /** 1 to 36 each; as long as the text, of which `length` are used. */
  codes: Uint8Array;
  /** Where in the text they stand. Found out on demand, for hardly any text holds a secret. */
  places(): Places;
}

/** In UTF-16 units, one for each code; ends are exclusive. */
export interface Places {
  starts: Uint32Array;
  ends: Uint32Array;
}

const codeOf = new Uint8Array(128);
for (const [index, character] of [..."0123456789abcdefghijklmnopqrstuvwxyz"].entries()) {
  codeOf[character.charCodeAt(0)] = index + 1;
  codeOf[character.toUpperCase().charCodeAt(0)] = index + 1;
}

/**
 * What JSON, programming languages, URLs and HTML write for a character. A run of backslashes is taken as a whole: texts are
 * escaped more than once, and what is replaced must not begin in the middle of such a run.
 */
const escaped =
  /\\+(?:u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|x([\da-fA-F]{2})|[nrtbfv])?|%([\da-fA-F]{2})|&(?:#(\d{1,7});?|#[xX]([\da-fA-F]{1,6});?|[a-zA-Z]{2,6};)/y;

const backslash = 92;
const percent = 37;
const ampersand = 38;

/** Every way to read a text: as it stands, and with what is escaped in it. Linear in its length. */
export function readingsOf(text: string): Reading[] {
  const readings = [readPlain(text)];
  const hasBackslash = text.includes("\\");
  if (hasBackslash) readings.push(readEscaped(text, (unit) => unit === backslash));
  const isEscape = (unit: number) => unit === backslash || unit === percent || unit === ampersand;
  if (text.includes("%") || text.includes("&")) readings.push(readEscaped(text, isEscape));
  return readings;
}

/** The letters and digits of `text` alone. */
export function plainCodes(text: string): Uint8Array {
  const { codes, length } = readPlain(text);
  return codes.slice(0, length);
}

function readPlain(text: string): Reading {
  const codes = new Uint8Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = codeAt(text.charCodeAt(at));
    if (code !== 0) codes[length++] = code;
  }
  return { length, codes, places: () => readEscaped(text, () => false).places() };
}

function readEscaped(text: string, isEscape: (unit: number) => boolean): Reading {
  const codes = new Uint8Array(text.length);
  const places = { starts: new Uint32Array(text.length), ends: new Uint32Array(text.length) };
  let length = 0;
  for (let at = 0; at < text.length; ) {
    let unit = text.charCodeAt(at);
    let end = at + 1;
    if (isEscape(unit)) {
      escaped.lastIndex = at;
      const match = escaped.exec(text);
      if (match) end = escaped.lastIndex;
      unit = match ? unitOf(match) : 0;
    }
    const code = codeAt(unit);
    if (code !== 0) {
      codes[length] = code;
      places.starts[length] = at;
      places.ends[length++] = end;
    }
    at = end;
  }
  return { length, codes, places: () => places };
}

function codeAt(unit: number): number {
  return unit < 128 ? (codeOf[unit] ?? 0) : 0;
}

/** 0 for one that stands for no single character or is not known. */
function unitOf([, unicode, point, byte, inUrl, decimal, entity]: RegExpExecArray): number {
  if (decimal !== undefined) return Number(decimal);
  return Number.parseInt(unicode ?? point ?? byte ?? inUrl ?? entity ?? "0", 16);
}
