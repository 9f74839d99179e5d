import { breaksStyle, type IndentStyle, indentOf, inStyle, isBlank, shifted } from "./indentation.ts";
import { type Overlap, overlap } from "./neighbours.ts";

/** One way to read a suggestion as a replacement of the anchored lines. */
export interface Arrangement {
  lines: string[];
  /** What was done to the lines, in words. */
  repairs: string[];
}

/** The file around the anchored lines. */
export interface Surroundings {
  before: readonly string[];
  anchored: readonly string[];
  after: readonly string[];
  style: IndentStyle;
}

const indented = "the indentation was taken from the file";
const repeated = (where: "before" | "after") => `lines that stand directly ${where} it were taken off`;

/** The ways to read a suggestion, the likeliest first; each fits the file's indentation. */
export function arrangements(written: readonly string[], around: Surroundings): Arrangement[] {
  if (written.length === 0) return [{ lines: [], repairs: [] }];
  const { anchored, style } = around;
  const isForeign = breaksStyle(written, style) && !breaksStyle(anchored, style);
  const lines = isForeign ? inStyle(written, style) : written;
  const style_ = isForeign ? [indented] : [];
  const head = headOverlap(lines, around);
  const tail = tailOverlap(lines, around);
  const found = cuts(lines.length, head, tail).flatMap(({ from, behind }) => {
    const body = withoutBlankEnds(lines.slice(from, lines.length - behind));
    const cutRepairs = [
      ...(from > 0 ? [repeated("before")] : []),
      ...(behind > 0 ? [repeated("after")] : []),
    ];
    const guide = from > 0 ? head : behind > 0 ? tail : null;
    return aligned(body, around, guide).map((one) => ({
      lines: one.lines,
      repairs: [...new Set([...style_, ...cutRepairs, ...one.repairs])],
    }));
  });
  return found.filter((one, at) => found.findIndex((other) => sameLines(one, other)) === at);
}

const sameLines = (one: Arrangement, other: Arrangement) => one.lines.join("\n") === other.lines.join("\n");

function withoutBlankEnds(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => !isBlank(line));
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => !isBlank(line)) + 1);
}

/** An overlap with a line of a deeper block before it may be none: the same statement can end a block and stand after it. */
function headOverlap(lines: readonly string[], { before, anchored }: Surroundings): Repeat | null {
  const found = overlap(lines, before);
  if (!found) return null;
  const base = indentOf(anchored.find((line) => !isBlank(line)) ?? "");
  if (found.inFile.length > base.length && found.inSuggestion !== found.inFile) return null;
  const had = overlap(anchored, before)?.count ?? 0;
  return { ...found, isFault: found.isTelling && had < found.count };
}

/** A line behind the head of a block belongs to that block, whatever stands after the suggestion. */
function tailOverlap(lines: readonly string[], { after, anchored }: Surroundings): Repeat | null {
  const behind = after.slice(0, 200).toReversed();
  const found = overlap(lines.toReversed(), behind);
  if (!found) return null;
  const first = lines.length - found.count;
  const head = lines.slice(0, first).findLast((line) => !isBlank(line));
  const isBody =
    head !== undefined && opensBlock(head) && indentOf(lines[first] ?? "").length > indentOf(head).length;
  if (isBody && found.inFile.length < indentOf(lines[first] ?? "").length) return null;
  const had = overlap(anchored.toReversed(), behind)?.count ?? 0;
  return { ...found, isFault: found.isTelling && had < found.count };
}

interface Repeat extends Overlap {
  /** Whether it can only be a slip. */
  isFault: boolean;
}

/** What to leave out at both ends, the likeliest first; something always remains. */
function cuts(length: number, head: Repeat | null, tail: Repeat | null): { from: number; behind: number }[] {
  const options = [0, head?.count ?? 0].flatMap((from) =>
    [0, tail?.count ?? 0].map((behind) => ({ from, behind })),
  );
  const fits = (taken: number, repeat: Repeat | null) => Number(taken > 0 === (repeat?.isFault ?? false));
  return options
    .filter(({ from, behind }) => from + behind < length)
    .toSorted(
      (a, b) => fits(b.from, head) + fits(b.behind, tail) - fits(a.from, head) - fits(a.behind, tail),
    );
}

/** Whether the next line belongs to a block that this one begins. */
export function opensBlock(line: string): boolean {
  return /[{([:,]\s*$|=>\s*$|\b(?:then|do|else|begin)\s*$|\bdo\s*\|[^|]*\|\s*$|^\s*(?:\}\s*)?(?:else\s+)?(?:if|for|while)\b.*\)\s*$/.test(
    line,
  );
}

/** The lines where the file's indentation wants them: as they are, or moved, or with the first line alone moved. */
function aligned(body: string[], { anchored }: Surroundings, guide: Repeat | null): Arrangement[] {
  const asWritten = { lines: body, repairs: [] };
  const model = anchored.find((line) => !isBlank(line));
  if (model === undefined || body.length === 0) return [asWritten];
  const base = indentOf(model);
  const guided = guide && shifted(body, guide.inSuggestion, guide.inFile);
  if (guided && indentOf(guided[0] ?? "") === base)
    return [guide.inSuggestion === guide.inFile ? asWritten : { lines: guided, repairs: [indented] }];
  const own = indentOf(body[0] ?? "");
  if (own === base) return [asWritten];
  const whole = { lines: shifted(body, own, base), repairs: [indented] };
  const firstOnly = { lines: [base + (body[0] ?? "").trimStart(), ...body.slice(1)], repairs: [indented] };
  if (body.some((line) => anchored.includes(line) && !isBlank(line))) return [asWritten, whole];
  return lostFirstIndent(body, base) ? [firstOnly, whole] : [whole];
}

/** Whether the lines after the first stand where the file wants them. */
function lostFirstIndent(body: readonly string[], base: string): boolean {
  const [first = "", ...rest] = body;
  const filled = rest.filter((line) => !isBlank(line));
  const [second] = filled;
  if (second === undefined || indentOf(first).length >= base.length) return false;
  if (filled.some((line) => !indentOf(line).startsWith(base))) return false;
  return opensBlock(first) ? indentOf(second).length > base.length : indentOf(second) === base;
}
