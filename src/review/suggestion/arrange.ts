import { breaksStyle, type IndentStyle, indentOf, inStyle, isBlank, shifted } from "./indentation.ts";
import { type Overlap, overlap } from "./neighbours.ts";

/** One way to read a suggestion as a replacement of the anchored lines. */
export interface Arrangement {
  lines: string[];
  /** What was done to the lines, in words. */
  repairs: string[];
  /** Whether all lines had to go to another place: then they may have been written for one. */
  wasMoved: boolean;
  /** Whether lines at the ends were taken for copies of those around, for what they say or because they fit there. */
  wasCut: false | "for what they say" | "because they fit";
}

/** One way to indent a suggestion. */
type Placement = Omit<Arrangement, "wasCut">;

/** The file around the anchored lines. */
export interface Surroundings {
  before: readonly string[];
  anchored: readonly string[];
  after: readonly string[];
  style: IndentStyle;
  /** Whether a parser will decide whether lines fit. */
  hasParser: boolean;
}

const indented = "the indentation was taken from the file";
const repeated = (where: "before" | "after") => `lines that stand directly ${where} it were taken off`;

/** The ways to read a suggestion, the likeliest first; each fits the file's indentation. */
export function arrangements(written: readonly string[], around: Surroundings): Arrangement[] {
  if (written.length === 0) return [{ lines: [], repairs: [], wasMoved: false, wasCut: false }];
  const { anchored, style } = around;
  const isForeign = breaksStyle(written, style) && !breaksStyle(anchored, style);
  const lines = isForeign ? inStyle(written, style) : written;
  const style_ = isForeign ? [indented] : [];
  const head = headOverlap(lines, around);
  const tail = tailOverlap(lines, around);
  const found = cuts(lines.length, head, tail).flatMap(({ from, behind }) => {
    const rest = lines.slice(from, lines.length - behind);
    const body = from + behind === 0 ? rest : withoutBlankEnds(rest);
    const cutRepairs = [
      ...(from > 0 ? [repeated("before")] : []),
      ...(behind > 0 ? [repeated("after")] : []),
    ];
    const taken = [from > 0 ? head : null, behind > 0 ? tail : null].filter((one) => one !== null);
    const isSure = taken.some((one) => one.isTelling);
    const why: Arrangement["wasCut"] = isSure ? "for what they say" : "because they fit";
    const wasCut = taken.length > 0 && why;
    const start = Math.max(
      0,
      body.findIndex((line) => !isBlank(line)),
    );
    return aligned(body.slice(start), around).map((one) => ({
      ...one,
      lines: [...body.slice(0, start), ...one.lines],
      wasCut,
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
function headOverlap(lines: readonly string[], around: Surroundings): Repeat | null {
  const { before, anchored } = around;
  const found = overlap(lines, before);
  if (!found) return null;
  const base = baseOf(anchored);
  if (found.inSuggestion === base && found.inFile !== base) return null;
  const isDeeper = found.inFile.length > base.length && found.inSuggestion !== found.inFile;
  const had = overlap(anchored, before)?.count ?? 0;
  const isFault = (found.isTelling && !isDeeper) || isSlip(found, around);
  return { ...found, isFault: isFault && had < found.count };
}

/**
 * Whether lines that say nothing are copies all the same: they stand where their originals do and not where the anchored
 * lines do, or they are several that stand there, or that no parser will tell about.
 */
function isSlip({ inFile, inSuggestion, lines }: Overlap, { anchored, hasParser }: Surroundings): boolean {
  const isInPlace = inFile === inSuggestion;
  return (isInPlace && inFile !== baseOf(anchored)) || (lines > 1 && (isInPlace || !hasParser));
}

const baseOf = (anchored: readonly string[]) => indentOf(anchored.find((line) => !isBlank(line)) ?? "");

/** A line behind the head of a block belongs to that block, whatever stands after the suggestion. */
function tailOverlap(lines: readonly string[], around: Surroundings): Repeat | null {
  const { after, anchored } = around;
  const behind = after.slice(0, 200).toReversed();
  const found = overlap(lines.toReversed(), behind);
  if (!found) return null;
  const first = lines.length - found.count;
  const head = lines.slice(0, first).findLast((line) => !isBlank(line));
  const depth = indentOf(lines[first] ?? "").length;
  const below = indentOf(after.find((line) => !isBlank(line)) ?? "").length;
  const isBody = head !== undefined && opensBlock(head) && depth > indentOf(head).length;
  if (isBody && below < depth) return null;
  if (indentOf(lines[0] ?? "") === baseOf(anchored) && below !== depth) return null;
  const had = overlap(anchored.toReversed(), behind)?.count ?? 0;
  const isFault = found.isTelling || isSlip(found, around);
  return { ...found, isFault: isFault && had < found.count };
}

interface Repeat extends Overlap {
  /** Whether it can only be a slip. */
  isFault: boolean;
}

/** What to leave out at both ends, the likeliest first; something always remains. */
function cuts(length: number, head: Repeat | null, tail: Repeat | null): { from: number; behind: number }[] {
  const ways = (repeat: Repeat | null) => {
    if (repeat === null) return [0];
    return repeat.isFault ? [repeat.count] : [0, repeat.count];
  };
  const found = ways(head).flatMap((from) => ways(tail).map((behind) => ({ from, behind })));
  const left = found.filter(({ from, behind }) => from + behind < length);
  return left.length > 0 ? left : [{ from: 0, behind: 0 }];
}

/** Whether the next line belongs to a block that this one begins. */
export function opensBlock(line: string): boolean {
  return /[{([:,]\s*$|=>\s*$|\b(?:then|do|else|begin)\s*$|\bdo\s*\|[^|]*\|\s*$|^\s*(?:\}\s*)?(?:else\s+)?(?:if|for|while)\b.*\)\s*$/.test(
    line,
  );
}

/** The lines, of which the first is not blank, where the file's indentation wants them: as they are, or moved, or with the first line alone moved. */
function aligned(body: string[], { anchored }: Surroundings): Placement[] {
  const asWritten = { lines: body, repairs: [], wasMoved: false };
  const model = anchored.find((line) => !isBlank(line));
  if (model === undefined || body.length === 0) return [asWritten];
  const base = indentOf(model);
  const [first = "", ...rest] = body;
  const own = indentOf(first);
  if (own === base) return [asWritten];
  const firstOnly = { ...moved, lines: [base + first.trimStart(), ...rest], wasMoved: false };
  const isBehind = own.length < base.length && rest.every((line) => isBlank(line) || line.startsWith(base));
  if (arePlaced(rest, anchored)) {
    if (isBehind && (continues(first, rest, base) || !opensBlock(first))) return [firstOnly];
    // Something may be put at the end of the block that the anchored lines end.
    if (!isBehind && own !== "") return endsBlock(model) ? [asWritten] : [];
  }
  const whole = { ...moved, lines: shifted(body, own, base) };
  return isBehind && continues(first, rest, base) ? [firstOnly, whole] : [whole];
}

const endsBlock = (line: string) =>
  /^\s*(?:[)}\]]|<\/|(?:end|fi|done|esac|else|elif|elsif|except|finally|rescue|ensure|when|case|catch)\b)/.test(
    line,
  );

const moved = { repairs: [indented], wasMoved: true };

/** Whether most of the lines that come back are where they were. */
function arePlaced(lines: readonly string[], anchored: readonly string[]): boolean {
  const texts = new Set(anchored.map((line) => line.trim()));
  const back = lines.filter((line) => /\w/.test(line) && texts.has(line.trim()));
  return back.filter((line) => anchored.includes(line)).length * 2 > back.length;
}

/** Whether the lines after the first are indented as they should be behind it if it stood at the base. */
function continues(first: string, rest: readonly string[], base: string): boolean {
  const second = rest.find((line) => !isBlank(line));
  if (second === undefined) return false;
  return opensBlock(first) ? indentOf(second).length > base.length : indentOf(second) === base;
}
