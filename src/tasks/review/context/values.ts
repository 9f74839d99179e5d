import { fullName, isRun } from "../../../repo/code/code-file.ts";
import { closeness, isCommonName, isMember, nearestFirst } from "../../../repo/code/names.ts";
import { type Definition, definitionsAt } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isWithin, shareOf } from "./changed.ts";
import { firstOfFiles, type LineSpan, type Lookup, type Mention, rarity } from "./lookup.ts";
import { type Piece, placePiece } from "./pieces.ts";

const WHOLE_LINES = 30;
const AROUND = 3;
/** A value that is assigned or read in more places is too common. */
const MAX_PLACES = 15;
const SHOWN = 3;
const USES_IN_FILE = 2;
const REPEATED = 0.15;
const MAX_HEAD_LINES = 2;

/** Code that passes values to the changed code, or takes them from it. */
interface Passing {
  kind: "producer" | "consumer" | "sibling";
  weight: number;
  isWanted(mention: Mention, name: string): boolean;
  title(name: string, where: string, one: Changed): string;
}

/** Code that sets the names that added lines newly rely on. `namedPieces` and `memberPieces` show definitions. */
const producer: Passing = {
  kind: "producer",
  weight: 0.7,
  isWanted: ({ role }) => role === "write",
  title: (name, where, one) => `sets ${name}${where}${becauseOf(one, "now reads")}`,
};

const consumer: Passing = {
  kind: "consumer",
  weight: 0.55,
  isWanted: ({ file, line, role }, name) => role === "read" && isMember(file.lines[line - 1] ?? "", name),
  title: (name, where, one) => `reads ${name}${where}${becauseOf(one, "now sets")}`,
};

const otherUse: Passing = {
  kind: "sibling",
  weight: 0.55,
  isWanted: ({ role }) => role === "call" || role === "read",
  title: (name, where) => `uses ${name} too${where}`,
};

export function valuePieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  const other = { ...otherUse, weight: otherUse.weight * shareOf(changed) };
  return changed.flatMap((one) => {
    const piecesOf = (names: Iterable<string>, passing: Passing) =>
      [...names].flatMap((name) => passingPieces(one, name, passing, lookup));
    const called = one.calls.filter(({ line }) => one.added.includes(line)).map(({ name }) => name);
    return [
      ...piecesOf(one.newNames, producer),
      ...piecesOf(one.setNames, consumer),
      ...piecesOf(new Set([...called, ...one.newNames]), other),
    ];
  });
}

function passingPieces(one: Changed, name: string, passing: Passing, lookup: Lookup): Piece[] {
  const all = placesOf(one, name, lookup, passing.isWanted);
  const places = passing.kind === "sibling" ? firstOfFiles(all, ({ file }) => file.path, USES_IN_FILE) : all;
  return places.map((place, at) => {
    const around = functionAround(place);
    const title = passing.title(name, around ? ` in ${fullName(around)}` : "", one);
    const score = scoreOf(one, place, passing.weight, at, places.length);
    return placePiece(passing.kind, place, rangesOf(place, around), { subject: name, title, score });
  });
}

function placesOf(one: Changed, name: string, lookup: Lookup, isWanted: Passing["isWanted"]): Mention[] {
  if (isCommonName(name) || lookup.isCommon(name)) return [];
  const found = lookup.mentions(name).filter((mention) => {
    const { path } = mention.file;
    return isWanted(mention, name) && !isWithin(one, { path, line: mention.line }) && !isTestFile(path);
  });
  if (found.length > MAX_PLACES) return [];
  const own = one.site.definition.start;
  return nearestFirst(one.path, found, ({ file, line }) =>
    file.path === one.path ? Math.abs(line - own) : line,
  );
}

/** After the first few, a place is only named. */
function scoreOf(one: Changed, { file }: Mention, weight: number, at: number, count: number): number {
  if (at >= SHOWN) return 0;
  return (one.risk * weight * rarity(count) * closeness(one.path, file.path)) / (1 + at * REPEATED);
}

const functionAround = ({ file, line }: Mention) =>
  definitionsAt(file.definitions, line).filter(isRun).at(-1);

const becauseOf = ({ after }: Changed, what: string) =>
  after === null ? "" : `, which ${fullName(after.definition)} ${what}`;

function rangesOf({ line }: Mention, around: Definition | undefined): LineSpan[] {
  const near = { start: line - AROUND, end: line + AROUND };
  if (around === undefined) return [near];
  const { start, end, signatureEnd } = around;
  if (end - start < WHOLE_LINES) return [{ start, end }];
  return [{ start, end: Math.min(signatureEnd, start + MAX_HEAD_LINES - 1) }, near];
}
