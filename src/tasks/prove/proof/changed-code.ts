import type { ExecutedFunction } from "../../../agent/record/test-end.ts";
import { parseSource } from "../../../repo/code/parse.ts";
import type { Definition, Source } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import type { FileDiff } from "../../../repo/diff/file-diff.ts";
import type { Change } from "../../../repo/git/workspace.ts";

/** The code that a change touches, as far as running it can be noticed: its functions, and the statements of its files. */
export interface ChangedCode {
  /** Whether a function that ran is one of them. */
  includes(executed: ExecutedFunction): boolean;
  /** Whether a line of the head, as a trace names it, is in one of them. */
  includesLine(place: { path: string; line: number }): boolean;
  /** The key of the changed function with a name; null if there is none, or several. */
  named(name: string): string | null;
  /** Whether an error comes from a `throw` that the change adds, by its trace or its text: then it is meant for some input. */
  isThrownOnPurpose(error: { frames: readonly { path: string; line: number }[]; output: string }): boolean;
  /** Only that of one file, if functions of it changed; otherwise all. */
  about(path: string): ChangedCode;
  /**
   * The functions among these that are changed, or that call a changed function at the head, by {@link keyOf}.
   *
   * @param read the text of a file at the head; null if there is none
   */
  leadingTo(
    executed: readonly ExecutedFunction[],
    read: (path: string) => Promise<string | null>,
  ): Promise<ReadonlySet<string>>;
}

/** Identifies a function on both sides of a change, where its line may differ. */
export const keyOf = ({ path, name }: Pick<ExecutedFunction, "path" | "name">): string =>
  `${path}\n${lastName(name)}`;

interface ChangedFunctions {
  /** Names as programs report them: the last one of `Cart.total`. */
  names: ReadonlySet<string>;
  ranges: readonly { start: number; end: number }[];
  /** Whether code outside of all definitions changed, imports and comments left out: statements, and functions without a name. */
  isChangedOutside: boolean;
  named: readonly { start: number; end: number }[];
}

export interface ChangedFileText {
  change: Pick<Change, "path">;
  diff: FileDiff;
  text: string;
}

const runs = new Set<Definition["kind"]>(["function", "method"]);

type CodeByPath = ReadonlyMap<string, ChangedFunctions>;

/** Finds the changed functions of the head. Files of tests, and those that no parser reads, have none. Holds the text of one file at a time. */
export async function findChangedCode(
  files: Iterable<ChangedFileText> | AsyncIterable<ChangedFileText>,
): Promise<ChangedCode> {
  const byPath = new Map<string, ChangedFunctions>();
  const thrown: AddedThrows[] = [];
  const removed: string[] = [];
  for await (const file of files) {
    const { change, diff, text } = file;
    removed.push(...linesOf(diff, "removed").map((one) => one.text));
    if (isTestFile(change.path)) continue;
    thrown.push(addedThrows(file));
    const source = await parseSource(change.path, text);
    if (source?.isParsed) byPath.set(change.path, functionsIn(source, diff, text));
  }
  const before = removed.join("\n");
  const words = thrown.flatMap((one) => one.words).filter((word) => !before.includes(word));
  const isThrownOnPurpose: ChangedCode["isThrownOnPurpose"] = ({ frames: [first], output }) => {
    const isThere = ({ path, lines }: AddedThrows) => path === first?.path && lines.has(first.line);
    return thrown.some(isThere) || words.some((word) => output.includes(word));
  };
  const codeOf = (some: CodeByPath): ChangedCode => ({
    ...codeIn(some),
    isThrownOnPurpose,
    about(path) {
      const own = some.get(path);
      return own && own.names.size > 0 ? codeOf(new Map([[path, own]])) : this;
    },
  });
  return codeOf(byPath);
}

function codeIn(byPath: CodeByPath): Omit<ChangedCode, "isThrownOnPurpose" | "about"> {
  const called = new Set([...byPath.values()].flatMap(({ names }) => [...names]));
  const includes = ({ path, name, line }: ExecutedFunction) => {
    const changed = byPath.get(path);
    if (!changed) return false;
    if (changed.names.has(lastName(name)) || isWithin(changed.ranges, line)) return true;
    return changed.isChangedOutside && (name === "" || !isWithin(changed.named, line));
  };
  return {
    includes,
    named(name) {
      const [path, ...others] = [...byPath].flatMap(([path, { names }]) => (names.has(name) ? [path] : []));
      return path === undefined || others.length > 0 ? null : keyOf({ path, name });
    },
    async leadingTo(executed, read) {
      const leading = new Set(executed.filter(includes).map(keyOf));
      for (const [path, functions] of Map.groupBy(executed, (one) => one.path)) {
        const text = (await read(path)) ?? "";
        // A test may run much of a repository, and to parse all of it takes minutes.
        const source = [...called].some((name) => text.includes(name)) ? await parseSource(path, text) : null;
        for (const one of functions) if (source && callsOneOf(source, one, called)) leading.add(keyOf(one));
      }
      return leading;
    },
    includesLine({ path, line }) {
      const changed = byPath.get(path);
      return changed !== undefined && isWithin(changed.ranges, line);
    },
  };
}

function callsOneOf(source: Source, { name }: ExecutedFunction, called: ReadonlySet<string>): boolean {
  if (name === "") return false;
  const own = source.definitions.filter((one) => runs.has(one.kind) && one.name === lastName(name));
  return own.some(({ start, end }) => source.calls(start, end).some((call) => called.has(call.name)));
}

const isWithin = (ranges: readonly { start: number; end: number }[], line: number) =>
  ranges.some(({ start, end }) => start <= line && line <= end);

/** "get total" and "Cart.total" are reported for `total`. */
const lastName = (name: string) => name.split(/[ .#]/).at(-1) ?? name;

function functionsIn(source: Source, diff: FileDiff, text: string): ChangedFunctions {
  const names = new Set<string>();
  const ranges: { start: number; end: number }[] = [];
  const lines = text.split("\n");
  const imported = new Set(source.imports.map(({ line }) => line));
  let isChangedOutside = false;
  for (const line of changedLines(diff)) {
    const around = source.enclosing(line).filter(({ kind }) => runs.has(kind));
    const innermost = around.at(-1);
    if (innermost) {
      names.add(innermost.name);
      // V8 reports a constructor under the name of its class.
      if (innermost.name === "constructor" && innermost.container !== null) names.add(innermost.container);
      ranges.push({ start: innermost.start, end: innermost.end });
    } else isChangedOutside ||= !imported.has(line) && hasCode(lines[line - 1] ?? "");
  }
  const named = source.definitions.filter(({ kind }) => runs.has(kind));
  return { names, ranges, isChangedOutside, named };
}

const hasCode = (line: string) => /[^\s{}()[\];,]/.test(line.replace(/^\s*(?:\/\/|#|\/?\*).*$/, ""));

interface AddedThrows {
  path: string;
  /** Lines with an added `throw`, unless the change only moves them. */
  lines: ReadonlySet<number>;
  words: readonly string[];
}

const throwing = /\b(?:throw|raise|panic)\b/;
/** Lines of one statement that throws. */
const THROW_LINES = 4;
/** Shorter words are in every output. */
const MIN_WORD = 8;

function addedThrows({ change: { path }, diff }: ChangedFileText): AddedThrows {
  const removed = new Set(linesOf(diff, "removed").map(({ text }) => text.trim()));
  const added = linesOf(diff, "added");
  const lines = added.filter(({ text }) => throwing.test(text) && !removed.has(text.trim()));
  const words = lines.flatMap(({ line }) => {
    const statement = added.filter((one) => one.line >= line && one.line < line + THROW_LINES);
    return statement.flatMap(({ text }) => wordsIn(text));
  });
  return { path, lines: new Set(lines.map(({ line }) => line)), words };
}

/** The part of a line in which words are looked for: quotes without an end make that quadratic. */
const MAX_WORDS_LINE = 2_000;

/** The fixed parts of the string literals of a line. A backslash is read in one way only: in two, a literal without an end takes for ever. */
const wordsIn = (text: string): string[] =>
  [...text.slice(0, MAX_WORDS_LINE).matchAll(/(["'`])((?:\\.|(?!\1)[^\\])*)\1/g)]
    .flatMap(([, , literal = ""]) => literal.split(/\$?\{[^}]*\}|%[a-z]/i))
    .map((word) => word.trim())
    .filter((word) => word.length >= MIN_WORD);

/** The added or removed lines of a diff, with their numbers at the head or at the merge base. */
const linesOf = ({ hunks }: FileDiff, kind: "added" | "removed"): { line: number; text: string }[] =>
  hunks.flatMap(({ lines }) =>
    lines.flatMap((one) =>
      one.kind === kind ? [{ text: one.text, line: one.kind === "added" ? one.newLine : one.oldLine }] : [],
    ),
  );

/** Lines of the head that were added, or that are next to removed ones. */
function changedLines({ hunks }: FileDiff): Set<number> {
  const changed = new Set<number>();
  for (const { lines, newStart } of hunks) {
    let next = newStart;
    for (const line of lines) {
      if (line.kind === "removed") for (const beside of [next - 1, next]) changed.add(Math.max(1, beside));
      else {
        if (line.kind === "added") changed.add(next);
        next += 1;
      }
    }
  }
  return changed;
}
