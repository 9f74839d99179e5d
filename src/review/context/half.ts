import { isTestFile } from "../../analyzers/test-file.ts";
import type { Call, Definition, Source } from "../../code/source.ts";
import { type CodeFile, isRun, type ParsedFile, type Place } from "./code-file.ts";
import { isMember, rangesOf } from "./text-file.ts";

/** A definition with changed lines in it, or without where only the other side has some. */
export interface Touched {
  definition: Definition;
  lines: number[];
}

/** What one side says of a definition. */
export interface Half {
  place: Place;
  lines: readonly number[];
  calls: readonly Call[];
  names: ReadonlySet<string>;
  changedNames: ReadonlySet<string>;
  setNames: readonly string[];
  literals: readonly string[];
  sourceLiterals: readonly string[];
}

/** Stretches of changed lines that are asked for one by one; more are asked for from the first to the last. */
const MAX_RANGES = 6;

export function halfOf(parsed: ParsedFile | null, touched: Touched | null): Half | null {
  if (parsed === null || touched === null) return null;
  const { code, source } = parsed;
  const { definition, lines } = touched;
  const half = { place: { file: code, definition }, lines };
  // Nothing is looked up for tests.
  if (isTestFile(code.path)) return { ...half, ...nothing };
  const ranges = rangesOf(lines);
  const changed = ranges.length > MAX_RANGES ? [{ start: lines[0] ?? 0, end: lines.at(-1) ?? 0 }] : ranges;
  const changedNames = new Set(changed.flatMap(({ start, end }) => [...source.readNames(start, end)]));
  return {
    ...half,
    // What a whole type calls is not the change's doing.
    calls: (isRun(definition) ? [definition] : changed).flatMap(({ start, end }) => source.calls(start, end)),
    names: source.readNames(definition.start, definition.end),
    changedNames,
    setNames: setOn(lines, code, source),
    literals: changed.flatMap(({ start, end }) => source.literals(start, end)),
    sourceLiterals: literalsBehind(changedNames, half.place, source),
  };
}

const nothing = {
  calls: [],
  names: new Set<string>(),
  changedNames: new Set<string>(),
  setNames: [],
  literals: [],
  sourceLiterals: [],
};

const word = /[\p{L}_$][\p{L}\p{N}_$]{2,60}/gu;

function setOn(lines: readonly number[], { lines: texts }: CodeFile, source: Source): string[] {
  const members = lines.flatMap((line) => {
    const text = beginningOf(texts, line);
    return [...new Set(text.match(word))]
      .filter((name) => isMember(text, name))
      .map((name) => ({ name, line }));
  });
  if (members.length === 0) return [];
  const written = source
    .references(new Set(members.map(({ name }) => name)))
    .filter(({ role }) => role === "write")
    .map(({ name, line }) => `${line} ${name}`);
  const isWritten = new Set(written);
  return [
    ...new Set(members.filter(({ name, line }) => isWritten.has(`${line} ${name}`)).map(({ name }) => name)),
  ];
}

/** Lines of a definition that are searched for where its variables come from. */
const MAX_SEARCHED = 400;

/** A variable that is given a value, with words such as `const` or a type in front. */
const given =
  /^\s*(?:[\p{L}\p{N}_$<>[\].*&?]{1,60}\s+){0,3}([\p{L}_$][\p{L}\p{N}_$]*)(?:,\s*\w+)?\s*(?::[^=]{0,60})?:?=(?![=>~])/u;

/** Literals on lines that give a value to one of the names: `paths = config.get("search-paths")`. */
function literalsBehind(names: ReadonlySet<string>, { file, definition }: Place, source: Source): string[] {
  if (names.size === 0 || !isRun(definition)) return [];
  const last = Math.min(definition.end, definition.start + MAX_SEARCHED);
  const found: string[] = [];
  for (let line = definition.start; line <= last; line++) {
    const text = beginningOf(file.lines, line);
    if (!/["'`]/.test(text)) continue;
    const name = given.exec(text)?.[1];
    if (name !== undefined && names.has(name)) found.push(...source.literals(line, line));
  }
  return found;
}

/** The beginning of a line; what is longer is data. */
const beginningOf = (texts: readonly string[], line: number) => (texts[line - 1] ?? "").slice(0, 500);
