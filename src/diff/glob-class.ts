/** Whether a class, as in `[a-z]`, holds a character; characters are code points. */
export type CharacterClass = (code: number) => boolean;

interface ReadClass {
  matches: CharacterClass;
  /** The place behind it. */
  end: number;
}

const CONTROL = 0x1f;
const DELETE = 0x7f;

const madeOf = (pattern: RegExp) => (code: number) => pattern.test(String.fromCodePoint(code));

/** Of ASCII alone, as git has them. */
const named: Readonly<Record<string, CharacterClass>> = {
  alnum: madeOf(/^[0-9A-Za-z]/),
  alpha: madeOf(/^[A-Za-z]/),
  blank: madeOf(/^[ \t]/),
  cntrl: (code) => code <= CONTROL || code === DELETE,
  digit: madeOf(/^[0-9]/),
  graph: madeOf(/^[!-~]/),
  lower: madeOf(/^[a-z]/),
  print: madeOf(/^[ -~]/),
  punct: madeOf(/^[!-/:-@[-`{-~]/),
  space: madeOf(/^[ \t-\r]/),
  upper: madeOf(/^[A-Z]/),
  xdigit: madeOf(/^[0-9A-Fa-f]/),
};

/**
 * Reads the class whose opening bracket stands before `start`, up to and with its closing one. Null where it has none, or names
 * a kind of characters that git does not know: then nothing matches.
 */
export function readClass(pattern: string, start: number): ReadClass | null {
  const isNegated = pattern[start] === "!" || pattern[start] === "^";
  const members: CharacterClass[] = [];
  let at = start + Number(isNegated);
  // A bracket that comes first is a member.
  while (members.length === 0 || pattern[at] !== "]") {
    const read = readKind(pattern, at) ?? readRange(pattern, at);
    if (read === "nothing") return null;
    members.push(read.matches);
    at = read.end;
  }
  return { matches: (code) => members.some((one) => one(code)) !== isNegated, end: at + 1 };
}

/** `[:alpha:]` within a class; undefined for anything else, `[:` too where no colon closes it. */
function readKind(pattern: string, at: number): ReadClass | "nothing" | undefined {
  if (!pattern.startsWith("[:", at)) return undefined;
  const end = pattern.indexOf("]", at + 2);
  if (end < 0) return "nothing";
  if (pattern[end - 1] !== ":" || end - 1 === at + 1) return undefined;
  const name = pattern.slice(at + 2, end - 1);
  const matches = Object.hasOwn(named, name) ? named[name] : undefined;
  return matches ? { matches, end: end + 1 } : "nothing";
}

/** One character of a class, or all from one to another. */
function readRange(pattern: string, at: number): ReadClass | "nothing" {
  const low = readMember(pattern, at);
  if (low === null) return "nothing";
  const behind = pattern[low.end + 1];
  const isRange = pattern[low.end] === "-" && behind !== undefined && behind !== "]";
  const high = isRange ? readMember(pattern, low.end + 1) : low;
  if (high === null) return "nothing";
  return { matches: (code) => code >= low.code && code <= high.code, end: high.end };
}

/** A character, perhaps behind a backslash. */
function readMember(pattern: string, at: number): { code: number; end: number } | null {
  const place = at + Number(pattern[at] === "\\");
  const code = pattern.codePointAt(place);
  return code === undefined ? null : { code, end: place + (code > 0xffff ? 2 : 1) };
}
