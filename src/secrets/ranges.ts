/** Exclusive of `end`; UTF-16 units. */
export interface Range {
  start: number;
  end: number;
}

/** What stands where a secret stood. */
export const censored = "[secret]";

/** The text with one mark for each range; what overlaps or follows without a gap becomes one. */
export function withoutRanges(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  const pieces: string[] = [];
  let kept = 0;
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    if (start > kept || pieces.length === 0) pieces.push(text.slice(kept, start), censored);
    kept = Math.max(kept, end);
  }
  pieces.push(text.slice(kept));
  return pieces.join("");
}

/** The first and the last line of a key, and line ends as strings of programs write them. */
const aroundBody = /-{5,6}(?:BEGIN|END) [A-Z\d ]{1,60}-{5,6}|\\[nrt]/g;
/** A part of a key's body on one line. It begins with no plus: that is how a diff shows an added line. */
const partOfBody = /[A-Za-z\d/][A-Za-z\d+/]{7,}={0,2}/g;
/** As headers of keys have them: "ENCRYPTED". */
const word = /^(?:[A-Z]{1,15}|[A-Z]?[a-z]{1,14})$/;
const isOfKey = /\n|PRIVATE KEY|Private-Lines/;

/**
 * What is secret of the secrets that stand in these ranges, none across the end of a line: of a key in lines each line by itself, since
 * diffs and numbered lines put something between them.
 */
export function valuesIn(text: string, ranges: readonly Range[]): Range[] {
  return ranges.flatMap((range) => {
    const found = text.slice(range.start, range.end);
    return isOfKey.test(found) ? partsOfKey(found, range.start) : [range];
  });
}

function partsOfKey(key: string, start: number): Range[] {
  const body = key.replaceAll(aroundBody, (found) => " ".repeat(found.length));
  return [...body.matchAll(partOfBody)]
    .filter(([part]) => !word.test(part))
    .map(({ 0: part, index }) => ({ start: start + index, end: start + index + part.length }));
}

/** Ranges in their order, those that overlap or follow without a gap as one. */
export function merged(ranges: readonly Range[]): Range[] {
  const all: Range[] = [];
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = all.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}
