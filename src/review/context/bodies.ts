import { type DefinitionSite, fullName, isRun, isType } from "../../code/code-file.ts";
import { bodyOf, type Changed } from "./changed.ts";
import { joined, type LineSpan } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const BODY = 1;

/** A body up to this length is shown whole. Of a longer one, the parts around its changed lines come first. */
const WHOLE_LINES = 150;
/** Weight and maximum length of the rest of a longer body. */
const REST = 0.4;
const REST_LINES = 300;
const HEAD_LINES = 8;
const TAIL_LINES = 3;
/** Lines shown around a changed line: in a function, and in a type, where only the neighbours matter. */
const AROUND_RUN = 20;
const AROUND_TYPE = 8;
const WHOLE_TYPE_LINES = 60;
/** Neighbours shown of a changed field, and maximum lines of a constant whose value is shown whole. */
const AROUND_FIELD = 4;
const WHOLE_VALUE_LINES = 30;
const MAX_DOC_LINES = 20;

/** The whole of each changed definition with the comment above it, because the diff shows only a part of it. */
export function bodyPieces(changed: readonly Changed[]): Piece[] {
  return changed.flatMap(({ after, spots, risk }) => {
    if (after === null) return [];
    const { file, definition } = after;
    const { start, end } = definition;
    const piece = (ranges: readonly LineSpan[], score: number): Piece => ({
      ...{ kind: "body", file, ranges, score },
      title: `${definition.kind} ${fullName(definition)}`,
      extent: { start, end },
      line: start,
      subject: definition.name,
      mayBeCut: true,
    });
    const rest = isRun(definition) && end - start < REST_LINES ? [piece([{ start, end }], risk * REST)] : [];
    return [piece(readableRanges(after, spots), risk * BODY), ...rest];
  });
}

/** The whole body; if it is long, its head, its end and the lines around the spots. */
function readableRanges(place: DefinitionSite, spots: readonly number[]): LineSpan[] {
  const { file, definition } = place;
  const body = bodyOf(place);
  if (values.has(definition.kind)) return valueRanges(place, body, spots);
  const isTypeBody = isType(definition);
  const length = body.end - body.start + 1;
  const doc = { start: Math.max(definition.docStart, body.start - MAX_DOC_LINES), end: body.start };
  if (length <= (isTypeBody ? WHOLE_TYPE_LINES : WHOLE_LINES)) return joined([doc, body], file.lines.length);
  const around = isTypeBody ? AROUND_TYPE : AROUND_RUN;
  const near = spots.map((line) => ({
    start: Math.max(body.start, line - around),
    end: Math.min(body.end, line + around),
  }));
  const head = { start: body.start, end: body.start + HEAD_LINES - 1 };
  const tail = isTypeBody ? [] : [{ start: body.end - TAIL_LINES + 1, end: body.end }];
  return joined([doc, head, ...near, ...tail], file.lines.length);
}

const values: ReadonlySet<string> = new Set(["field", "constant", "variable"]);

/** The declaration with its comment among its neighbours, and the head of its type, without the rest of that type. */
function valueRanges(
  { file, definition }: DefinitionSite,
  body: LineSpan,
  spots: readonly number[],
): LineSpan[] {
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
