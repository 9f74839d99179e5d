import { isExample, isTestFile } from "../../analyzers/test-file.ts";
import { type Call, type Definition, definitionsAt } from "../../code/source.ts";
import type { DiffLine, FileDiff } from "../../diff/file-diff.ts";
import {
  type CodeFile,
  definitionAt,
  isDeclaration,
  isType,
  type ParsedFile,
  type Place,
  parseFile,
} from "./code-file.ts";
import { type Half, halfOf, type Touched } from "./half.ts";
import type { RepositoryFiles } from "./repository-files.ts";
import { tellingLines } from "./telling-lines.ts";
import type { Range } from "./text-file.ts";

/** A function, method, type, constant or field that the change touches, and what its code says. */
export interface Changed {
  /** The file at head. */
  path: string;
  name: string;
  /** Null where the change took it away. */
  after: Place | null;
  before: Place | null;
  /** Changed lines in it: added ones at head, removed ones at the merge base. */
  added: readonly number[];
  removed: readonly number[];
  /** Lines at head where something changed: added ones, and those behind removed ones. */
  spots: readonly number[];
  /** Those of these three that differ in more than names and comments. */
  telling: { added: readonly number[]; removed: readonly number[]; spots: readonly number[] };
  /** What it calls at head; of what it called before, the calls of names that it calls no more. */
  calls: readonly Call[];
  droppedCalls: readonly Call[];
  /** Values that added lines read and the old code did not. */
  newNames: readonly string[];
  /** Members and keys that added lines give a value to. */
  setNames: readonly string[];
  /** String literals on changed lines of either side. */
  literals: readonly string[];
  /** String literals on lines at head that give a value to a variable which changed lines read. */
  sourceLiterals: readonly string[];
  /** What a fault in it may cost, from its place and the size of its change; about 0.2 to 1.1. */
  risk: number;
}

/** What is looked at in one file; more of it is a rewrite that context does not help with. */
const MAX_DEFINITIONS = 60;

/** What the changed lines of the shown files belong to. Stops at the time limit. */
export async function changedDefinitions(
  diffs: readonly FileDiff[],
  files: RepositoryFiles,
  timeLeft: () => number,
): Promise<Changed[]> {
  const all: Changed[] = [];
  const telling = tellingLines(diffs);
  for (const diff of diffs) {
    if (timeLeft() <= 0) break;
    const lines = diff.hunks.flatMap((hunk) => hunk.lines);
    const added = lines.flatMap((line) => (line.kind === "added" ? [line.newLine] : []));
    const removed = lines.flatMap((line) => (line.kind === "removed" ? [line.oldLine] : []));
    const [head, base] = [
      await files.read(diff.path, "head"),
      await files.read(diff.oldPath ?? diff.path, "merge_base"),
    ];
    const tell = telling.get(diff.path) ?? { added: new Set(), removed: new Set() };
    const isTelling = (line: DiffLine) =>
      line.kind === "added"
        ? tell.added.has(line.newLine)
        : line.kind === "removed" && tell.removed.has(line.oldLine);
    const spots = { all: spotsOf(lines, () => true), telling: spotsOf(lines, isTelling) };
    // Both trees are let go at once: only what is taken out of them stays in memory.
    const found = changedIn(
      diff.path,
      spots,
      { parsed: await parseFile(head), lines: added, telling: tell.added },
      { parsed: await parseFile(base), lines: removed, telling: tell.removed },
    );
    for (const one of found) all.push(one);
  }
  return all;
}

interface Side {
  parsed: ParsedFile | null;
  /** Changed lines. */
  lines: readonly number[];
  telling: ReadonlySet<number>;
}

interface Spots {
  all: readonly number[];
  telling: readonly number[];
}

/** Added lines, and the lines behind removed ones. */
function spotsOf(lines: readonly DiffLine[], isWanted: (line: DiffLine) => boolean): number[] {
  return lines.flatMap((line, at) => {
    if (line.kind === "added") return isWanted(line) ? [line.newLine] : [];
    const before = lines[at - 1];
    return line.kind === "context" && before?.kind === "removed" && isWanted(before) ? [line.newLine] : [];
  });
}

function changedIn(path: string, spots: Spots, head: Side, base: Side): Changed[] {
  const [news, olds] = [byDefinition(head), byDefinition(base)];
  const keys = [...new Set([...news.keys(), ...olds.keys()])];
  const all = keys.map((key) => {
    const after = halfOf(head.parsed, news.get(key) ?? find(head, key));
    const before = halfOf(base.parsed, olds.get(key) ?? find(base, key));
    return changedOf(
      path,
      spots,
      { half: after, telling: head.telling },
      { half: before, telling: base.telling },
    );
  });
  return all.sort((a, b) => b.risk - a.risk).slice(0, MAX_DEFINITIONS);
}

/** Which of the same name it is by kind, type and order: by this the two sides of a definition find each other. */
function keysOf(code: CodeFile): Map<Definition, string> {
  const counts = new Map<string, number>();
  return new Map(
    code.definitions.map((definition) => {
      const { kind, name, container } = definition;
      const declares = isDeclaration({ file: code, definition });
      const key = [kind, container ?? "", name, declares].join(" ");
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return [definition, `${key} ${count}`];
    }),
  );
}

function byDefinition({ parsed, lines }: Side): Map<string, Touched> {
  const all = new Map<string, Touched>();
  if (parsed === null || lines.length === 0) return all;
  const keys = keysOf(parsed.code);
  for (const line of lines) {
    // Blank lines and brackets between members would make their whole type a changed one.
    if (!/[\p{L}\p{N}]/u.test(parsed.code.lines[line - 1] ?? "")) continue;
    const definition = definitionAt(parsed.code, line);
    const key = definition && keys.get(definition);
    if (!definition || !key) continue;
    const known = all.get(key) ?? { definition, lines: [] };
    known.lines.push(line);
    all.set(key, known);
  }
  return all;
}

function find({ parsed }: Side, key: string): Touched | null {
  if (parsed === null) return null;
  const [definition] = [...keysOf(parsed.code)].find(([, one]) => one === key) ?? [];
  return definition ? { definition, lines: [] } : null;
}

interface TellingHalf {
  half: Half | null;
  telling: ReadonlySet<number>;
}

function changedOf(path: string, spots: Spots, head: TellingHalf, base: TellingHalf): Changed {
  const [after, before] = [head.half, base.half];
  const body = after && bodyOf(after.place);
  const called = new Set(after?.calls.map(({ name }) => name));
  // What the whole definition reads leaves out what it defines itself.
  const isNew = (name: string) => after?.names.has(name) && !before?.names.has(name);
  const isInside = (line: number) => body !== null && line >= body.start && line <= body.end;
  const one = {
    path,
    name: (after ?? before)?.place.definition.name ?? "",
    after: after?.place ?? null,
    before: before?.place ?? null,
    added: after?.lines ?? [],
    removed: before?.lines ?? [],
    spots: spots.all.filter(isInside),
    telling: {
      added: (after?.lines ?? []).filter((line) => head.telling.has(line)),
      removed: (before?.lines ?? []).filter((line) => base.telling.has(line)),
      spots: spots.telling.filter(isInside),
    },
    calls: after?.calls ?? [],
    droppedCalls: (before?.calls ?? []).filter(({ name }) => !called.has(name)),
    setNames: after?.setNames ?? [],
    newNames: [...(after?.changedNames ?? [])].filter(isNew),
    sourceLiterals: after?.sourceLiterals ?? [],
    literals: [...new Set([...(after?.literals ?? []), ...(before?.literals ?? [])])],
  };
  return { ...one, risk: riskOf(one) };
}

const TEST_RISK = 0.3;
const EXAMPLE_RISK = 0.3;
/** More changed lines make nothing riskier. */
const MANY_LINES = 20;

function riskOf({ path, after, added, removed }: Omit<Changed, "risk">): number {
  const place = isTestFile(path) ? TEST_RISK : isExample(path) ? EXAMPLE_RISK : 1;
  const size = Math.min(1, (added.length + removed.length) / MANY_LINES);
  // What was taken away may still be used.
  return place * (0.6 + 0.4 * size) * (after === null ? 1.1 : 1);
}

/** The lines that are read with a definition: of a field those of its whole type. */
export function bodyOf({ file, definition }: Place): Range {
  if (definition.kind !== "field") return { start: definition.start, end: definition.end };
  const around = definitionsAt(file.definitions, definition.start).filter(isType).at(-1) ?? definition;
  return { start: around.start, end: around.end };
}
