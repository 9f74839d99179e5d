import { type DefinitionSite, fullName, isType } from "../../code/code-file.ts";
import { bodyOf, type Changed } from "./changed.ts";
import { joined, type Range, rangesOf } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const BODY = 1;
const BEFORE = 0.75;

/** A body up to this length is shown whole, a longer one around its changed lines. */
const WHOLE_LINES = 150;
const HEAD_LINES = 8;
const TAIL_LINES = 3;
/** Lines around a changed one in a function, and in a type, where only neighbours matter. */
const AROUND_RUN = 20;
const AROUND_TYPE = 8;
const WHOLE_TYPE_LINES = 60;
/** Neighbours of a changed field, and lines up to which the value of a constant is shown whole. */
const AROUND_FIELD = 4;
const WHOLE_VALUE_LINES = 30;
const MAX_DOC_LINES = 10;
/** Lines around removed ones in the old body; the rest of it is that of the new one. */
const AROUND_REMOVED = 4;

/** Of each changed definition the whole body, of which the diff shows a part. */
export function bodyPieces(changed: readonly Changed[]): Piece[] {
  return changed.flatMap((one) => {
    if (one.after === null) return [];
    const title = `${one.after.definition.kind} ${fullName(one.after.definition)}`;
    return [pieceOf("body", one.after, readableRanges(one.after, one.spots), title, one.risk * BODY)];
  });
}

/** What was rewritten as it was before, where the diff shows it in shreds among the new lines. */
export function beforePieces(changed: readonly Changed[]): Piece[] {
  return changed.flatMap((one) => {
    const { before, after, removed, risk } = one;
    if (before === null || after === null || !isRewritten(one)) return [];
    const body = bodyOf(before);
    const near = removed.map((line) => ({
      start: Math.max(body.start, line - AROUND_REMOVED),
      end: Math.min(body.end, line + AROUND_REMOVED),
    }));
    const head = { start: body.start, end: body.start };
    const title = `${before.definition.kind} ${fullName(before.definition)}, where lines were removed`;
    return [pieceOf("before", before, joined([head, ...near], body.end), title, risk * BEFORE)];
  });
}

/** Removed lines that are too few to have dropped anything unseen. */
const FEW_REMOVED = 3;
const LARGE_PART = 0.3;
const MANY_PLACES = 3;

function isRewritten({ before, telling: { removed } }: Changed): boolean {
  if (before === null || removed.length <= FEW_REMOVED) return false;
  const { start, end } = bodyOf(before);
  const places = rangesOf(removed).length;
  // What was removed in one stretch can be read in the diff.
  return places >= MANY_PLACES || (places > 1 && removed.length >= LARGE_PART * (end - start + 1));
}

function pieceOf(
  kind: "body" | "before",
  { file, definition }: DefinitionSite,
  ranges: readonly Range[],
  title: string,
  score: number,
): Piece {
  return {
    ...{ kind, file, ranges, title, score },
    extent: { start: definition.start, end: definition.end },
    line: definition.start,
    subject: definition.name,
    mayBeCut: true,
  };
}

/** The body, or its head, its end and what is around the spots where it is long. */
function readableRanges(place: DefinitionSite, spots: readonly number[]): Range[] {
  const { file, definition } = place;
  const body = bodyOf(place);
  if (values.has(definition.kind)) return valueRanges(place, body, spots);
  const isTypeBody = isType(definition);
  const length = body.end - body.start + 1;
  if (length <= (isTypeBody ? WHOLE_TYPE_LINES : WHOLE_LINES)) return [body];
  const around = isTypeBody ? AROUND_TYPE : AROUND_RUN;
  const near = spots.map((line) => ({
    start: Math.max(body.start, line - around),
    end: Math.min(body.end, line + around),
  }));
  const head = { start: body.start, end: body.start + HEAD_LINES - 1 };
  const tail = isTypeBody ? [] : [{ start: body.end - TAIL_LINES + 1, end: body.end }];
  return joined([head, ...near, ...tail], file.lines.length);
}

const values: ReadonlySet<string> = new Set(["field", "constant", "variable"]);

/** The declaration with its comment among its neighbours, and the head of its type: the rest of that is another matter. */
function valueRanges({ file, definition }: DefinitionSite, body: Range, spots: readonly number[]): Range[] {
  const { start, end, docStart } = definition;
  const around = { start: start - AROUND_FIELD, end: end + AROUND_FIELD };
  const near = spots
    .filter((line) => line >= start && line <= end)
    .map((line) => ({ start: line - AROUND_TYPE, end: line + AROUND_TYPE }));
  const isShort = end - start < WHOLE_VALUE_LINES;
  const own = isShort ? [around] : [{ start: around.start, end: start + HEAD_LINES }, ...near];
  const doc = { start: Math.max(docStart, start - MAX_DOC_LINES), end: start };
  const all = joined([{ start: body.start, end: body.start }, doc, ...own], file.lines.length);
  if (definition.kind !== "field") return all;
  return all.flatMap((range) => {
    const [first, last] = [Math.max(range.start, body.start), Math.min(range.end, body.end)];
    return first > last ? [] : [{ start: first, end: last }];
  });
}
