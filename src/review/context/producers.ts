import { isTestFile } from "../../analyzers/test-file.ts";
import { definitionsAt } from "../../syntax/ranges.ts";
import type { Changed } from "./changed.ts";
import { closeness } from "./closeness.ts";
import { fullName, isRun } from "./code-file.ts";
import type { Lookup, Mention } from "./lookup.ts";
import type { Piece } from "./pieces.ts";
import { joined } from "./text-file.ts";

const PRODUCER = 0.65;
/** A value that is given in more places is nothing special. */
const MAX_WRITES = 40;
/** Places of one name. */
const SHOWN = 5;
const MAX_HEAD_LINES = 2;

/** Who gives a value to the names that added lines newly rely on: assignments, keywords, keys, fields, defaults. */
export function producerPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => one.newNames.flatMap((name) => producersOf(one, name, lookup)));
}

function producersOf(one: Changed, name: string, lookup: Lookup): Piece[] {
  const writes = lookup.mentions(name).filter((mention) => isWrite(mention, name) && !isInside(one, mention));
  const telling = writes.filter(({ file }) => isTestFile(one.path) || !isTestFile(file.path));
  if (telling.length > MAX_WRITES) return [];
  const rarity = 1 / (1 + Math.log2(1 + telling.length) / 4);
  const near = telling.toSorted(
    (a, b) =>
      closeness(one.path, b.file.path) - closeness(one.path, a.file.path) ||
      (a.file.path < b.file.path ? -1 : Number(a.file.path > b.file.path)) ||
      a.line - b.line,
  );
  return near.slice(0, SHOWN).map((mention, at) => {
    const score = (one.risk * PRODUCER * rarity * closeness(one.path, mention.file.path)) / (1 + at * 0.15);
    return pieceOf(one, name, mention, score);
  });
}

const valueKinds: ReadonlySet<string> = new Set(["constant", "variable", "field"]);

function isWrite({ file, line, role }: Mention, name: string): boolean {
  if (role === "write") return true;
  if (role !== "definition") return false;
  return file.definitions.some((one) => one.start === line && one.name === name && valueKinds.has(one.kind));
}

function isInside({ path, after }: Changed, { file, line }: Mention): boolean {
  return (
    after !== null && file.path === path && line >= after.definition.start && line <= after.definition.end
  );
}

function pieceOf(one: Changed, name: string, { file, line }: Mention, score: number): Piece {
  const around = definitionsAt(file.definitions, line).filter(isRun).at(-1);
  const head = around
    ? [{ start: around.start, end: Math.min(around.signatureEnd, around.start + MAX_HEAD_LINES - 1) }]
    : [];
  const reader = one.after === null ? "" : `, which ${fullName(one.after.definition)} now reads`;
  return {
    kind: "producer",
    file,
    ranges: joined([...head, { start: line - 1, end: line + 1 }], file.lines.length),
    line,
    subject: name,
    title: `sets ${name}${around ? ` in ${fullName(around)}` : ""}${reader}`,
    score,
    mayBeCut: false,
  };
}
