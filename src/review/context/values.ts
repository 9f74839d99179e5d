import { fullName, isRun } from "../../code/code-file.ts";
import { closeness, isCommonName, isMember, nearestFirst } from "../../code/names.ts";
import { definitionsAt } from "../../code/source.ts";
import { isTestFile } from "../../code/test-file.ts";
import { type Changed, shareOf } from "./changed.ts";
import { joined, type Lookup, type Mention } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const PRODUCER = 0.7;
const CONSUMER = 0.55;
const OTHER_USE = 0.55;
/** A function up to this length is shown whole. */
const WHOLE_LINES = 30;
const AROUND = 3;
/** A value that is assigned or read in more places is too common. */
const MAX_PLACES = 15;
/** Maximum places of one name, and of other uses in one file. */
const SHOWN = 3;
const USES_IN_FILE = 2;
const REPEATED = 0.15;
const MAX_HEAD_LINES = 2;

/** Code that sets the names that added lines newly rely on: assignments, keywords, keys, fields, defaults. */
export function producerPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) =>
    one.newNames.flatMap((name) =>
      placesOf(one, name, lookup, isProducer).map((place, at, all) => {
        const title = `sets ${name}${whereOf(place)}${becauseOf(one, "now reads")}`;
        return pieceOf("producer", name, place, title, scoreOf(one, place, PRODUCER, at, all.length));
      }),
    ),
  );
}

/** How other code uses what added lines call or name for the first time. */
export function otherUsePieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => {
    const called = one.calls.filter(({ line }) => one.added.includes(line)).map(({ name }) => name);
    return [...new Set([...called, ...one.newNames])].flatMap((name) =>
      firstOfFiles(placesOf(one, name, lookup, isOtherUse)).map((place, at, all) => {
        const title = `uses ${name} too${whereOf(place)}`;
        return pieceOf(
          "sibling",
          name,
          place,
          title,
          scoreOf(one, place, OTHER_USE * shareOf(changed), at, all.length),
        );
      }),
    );
  });
}

/** Code that reads the members and keys that added lines assign. */
export function consumerPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) =>
    one.setNames.flatMap((name) =>
      placesOf(one, name, lookup, isConsumer).map((place, at, all) => {
        const title = `reads ${name}${whereOf(place)}${becauseOf(one, "now sets")}`;
        return pieceOf("consumer", name, place, title, scoreOf(one, place, CONSUMER, at, all.length));
      }),
    ),
  );
}

function firstOfFiles(mentions: readonly Mention[]): Mention[] {
  const counts = new Map<string, number>();
  return mentions.filter(({ file: { path } }) => {
    counts.set(path, (counts.get(path) ?? 0) + 1);
    return (counts.get(path) ?? 0) <= USES_IN_FILE;
  });
}

type Wanted = (mention: Mention, name: string) => boolean;

/** `namedPieces` and `memberPieces` show definitions. */
const isProducer: Wanted = ({ role }) => role === "write";

const isOtherUse: Wanted = ({ role }) => role === "call" || role === "read";

/** It must be read as a member: a variable with the same name is a different one. */
const isConsumer: Wanted = ({ file, line, role }, name) =>
  role === "read" && isMember(file.lines[line - 1] ?? "", name);

function placesOf(one: Changed, name: string, lookup: Lookup, wanted: Wanted): Mention[] {
  if (isCommonName(name) || lookup.isCommon(name)) return [];
  const found = lookup
    .mentions(name)
    .filter((mention) => wanted(mention, name) && !isInside(one, mention) && !isTestFile(mention.file.path));
  if (found.length > MAX_PLACES) return [];
  const own = (one.after ?? one.before)?.definition.start ?? 0;
  return nearestFirst(one.path, found, ({ file, line }) =>
    file.path === one.path ? Math.abs(line - own) : line,
  );
}

function isInside({ path, after }: Changed, { file, line }: Mention): boolean {
  return (
    after !== null && file.path === path && line >= after.definition.start && line <= after.definition.end
  );
}

/** Rare names say the most. After the first few, a place is only named. */
function scoreOf(one: Changed, { file }: Mention, weight: number, at: number, count: number): number {
  if (at >= SHOWN) return 0;
  const rarity = 1 / (1 + Math.log2(1 + count) / 4);
  return (one.risk * weight * rarity * closeness(one.path, file.path)) / (1 + at * REPEATED);
}

const functionAround = ({ file, line }: Mention) =>
  definitionsAt(file.definitions, line).filter(isRun).at(-1);

function whereOf(mention: Mention): string {
  const around = functionAround(mention);
  return around ? ` in ${fullName(around)}` : "";
}

const becauseOf = ({ after }: Changed, what: string) =>
  after === null ? "" : `, which ${fullName(after.definition)} ${what}`;

function pieceOf(
  kind: "producer" | "consumer" | "sibling",
  name: string,
  mention: Mention,
  title: string,
  score: number,
): Piece {
  const { file, line } = mention;
  const around = functionAround(mention);
  const isShort = around !== undefined && around.end - around.start < WHOLE_LINES;
  const head = around
    ? [{ start: around.start, end: Math.min(around.signatureEnd, around.start + MAX_HEAD_LINES - 1) }]
    : [];
  const ranges = isShort
    ? [{ start: around.start, end: around.end }]
    : [...head, { start: line - AROUND, end: line + AROUND }];
  return {
    ...{ kind, file, line, title, score },
    ranges: joined(ranges, file.lines.length),
    extent: null,
    subject: name,
    mayBeCut: false,
  };
}
