/** `end` is exclusive; UTF-16 units. */
export interface TextRange {
  start: number;
  end: number;
}

export const censored = "[secret]";

/** The text with one mark for each range; ranges that overlap or touch become one. */
export const withoutRanges = (text: string, ranges: readonly TextRange[]): string =>
  ranges.length === 0 ? text : replaced(text, merged(ranges), () => censored);

/** The text with other words in place of these ranges, which are in order and do not overlap. */
export function replaced(text: string, ranges: readonly TextRange[], put: (found: string) => string): string {
  const pieces: string[] = [];
  let kept = 0;
  for (const { start, end } of ranges) {
    pieces.push(text.slice(kept, start), put(text.slice(start, end)));
    kept = end;
  }
  return pieces.join("") + text.slice(kept);
}

/** The first and the last line of a key, and line ends as strings of programs write them. */
const aroundBody = /-{5,6}(?:BEGIN|END) [A-Z\d ]{1,60}-{5,6}|\\[nrt]/g;
/** A part of a key's body on one line. It does not begin with a plus, which in a diff marks an added line. */
const partOfBody = /[A-Za-z\d/][A-Za-z\d+/]{7,}={0,2}/g;
/** Words in headers of keys: "ENCRYPTED". */
const word = /^(?:[A-Z]{1,15}|[A-Z]?[a-z]{1,14})$/;
const isOfKey = /\n|PRIVATE KEY|Private-Lines/;

/** The secret parts in these ranges. A key of several lines becomes one part per line, because diffs and numbered lines insert text between them. */
export function valuesIn(text: string, ranges: readonly TextRange[]): TextRange[] {
  return ranges.flatMap((range) => {
    const found = text.slice(range.start, range.end);
    return isOfKey.test(found) ? partsOfKey(found, range.start) : [range];
  });
}

function partsOfKey(key: string, start: number): TextRange[] {
  const body = key.replaceAll(aroundBody, (found) => " ".repeat(found.length));
  return [...body.matchAll(partOfBody)]
    .filter(([part]) => !word.test(part))
    .map(({ 0: part, index }) => ({ start: start + index, end: start + index + part.length }));
}

export function merged(ranges: readonly TextRange[]): TextRange[] {
  const all: TextRange[] = [];
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = all.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}
