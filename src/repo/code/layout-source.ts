import { bindingsOfImports } from "./bindings.ts";
import { hasImports, importsOf } from "./imports.ts";
import { extensionOf } from "./languages.ts";
import {
  type Call,
  type Definition,
  type DefinitionKind,
  definitionsAt,
  once,
  type Reference,
  type ReferenceRole,
  type Source,
  tellingLiterals,
  within,
} from "./source.ts";
import { docStartOf } from "./tree.ts";

const longestHead = 400;

const modifiers =
  "(?:(?:export|default|public|private|protected|internal|open|override|final|static|local|abstract|sealed|case|async|inline|implicit|lazy|mutating|pub|class|indirect|data|@\\w+)\\s+)*";

/** The beginnings of definitions in languages without a grammar here. The first group is the word, the second the name. */
const heads: readonly RegExp[] = [
  // Shell: `name() {`, `function name {`.
  /^\s*()([\w:.-]+)\s*\(\s*\)\s*(?:\{|$)/,
  new RegExp(
    `^\\s*${modifiers}(function|func|fun|fn|def|defp|defmacrop?|sub|proc|method|class|struct|enum|record|trait|interface|protocol|actor|object|module|defmodule|package|namespace|extension|impl|typealias|type)\\s+([\\w$.:?!-]*[\\w$?!])`,
  ),
  // Swift: `init(`, and languages that name the constructor.
  /^\s*(?:(?:public|private|internal|required|convenience|override)\s+)*(init|deinit|constructor)()\b/,
  // JavaScript inside other files, and Lua: `name = function (`, `const name = (…) =>`.
  /^\s*(?:export\s+)?(?:local|const|let|var)?\s*()([\w$.:]+)\s*=\s*(?:async\s+)?(?:function\b|\([^()]*\)\s*=>)/,
];

const kinds: Readonly<Record<string, DefinitionKind>> = {
  class: "class",
  struct: "class",
  record: "class",
  actor: "class",
  object: "class",
  enum: "type",
  type: "type",
  typealias: "type",
  trait: "interface",
  interface: "interface",
  protocol: "interface",
  module: "module",
  defmodule: "module",
  package: "module",
  namespace: "module",
  extension: "extension",
  impl: "extension",
};

const commentLine = /^(\/\/|#(?!\[)|--|;|%|"""|\*|\/\*)/;

/** Guesses the definitions of a text: each has the lines that are indented deeper than its head, and the line that closes it. */
export function outlineByLayout(text: string): Definition[] {
  const lines = text.split("\n");
  const definitions: Definition[] = [];
  const open: { definition: Definition; indent: number }[] = [];
  const depth = createDepth(lines);
  for (const [at, line] of lines.entries()) {
    const head = headOf(line);
    if (!head) continue;
    const indent = indentOf(line);
    while (open.length > 0 && (open.at(-1)?.definition.end ?? 0) < at + 1) open.pop();
    const outer = open.at(-1)?.definition;
    const inner = outer !== undefined && outer.kind !== "function" && outer.kind !== "method";
    const definition: Definition = {
      name: head.name,
      kind: head.kind === "function" && inner && outer.kind !== "module" ? "method" : head.kind,
      start: at + 1,
      end: Math.min(endOf(depth, at, indent), outer?.end ?? lines.length),
      docStart: docStartOf(lines, at + 1, commentLine),
      signatureEnd: at + 1,
      container: inner ? outer.name : null,
      exported: !/\b(private|local|fileprivate|defp)\b/.test(line.slice(0, longestHead)),
      type: null,
    };
    definitions.push(definition);
    open.push({ definition, indent });
  }
  return definitions;
}

function headOf(line: string): { name: string; kind: DefinitionKind } | null {
  const start = line.slice(0, longestHead);
  if (commentLine.test(start.trimStart())) return null;
  for (const head of heads) {
    const match = head.exec(start);
    if (!match) continue;
    const word = match[1] ?? "";
    return { name: match[2] || word, kind: kinds[word] ?? "function" };
  }
  return null;
}

const indentOf = (line: string) => line.length - line.trimStart().length;

const closers = /^\s*([)}\]]|end\b|fi\b|done\b|esac\b)/;

interface Depth {
  lines: readonly string[];
  /** For each line, the next non-blank line that is not indented deeper; the number of lines if there is none. */
  next: readonly number[];
}

/** Finds the end of the block of every line at once: the time grows with the number of lines, not with their nesting. */
function createDepth(lines: readonly string[]): Depth {
  const next = new Array<number>(lines.length).fill(lines.length);
  const waiting: { at: number; indent: number }[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const indent = indentOf(line);
    while (waiting.length > 0 && (waiting.at(-1)?.indent ?? 0) >= indent) next[waiting.pop()?.at ?? 0] = at;
    waiting.push({ at, indent });
  }
  return { lines, next };
}

/** Maximum lines at the margin of a block, such as those of a here-document, that are skipped in search of its end. */
const maximumStrays = 50;

/** The last line of the block that begins at an index, 1-indexed. */
function endOf({ lines, next }: Depth, at: number, indent: number): number {
  const first = next[at] ?? lines.length;
  // A brace on its own line opens the block.
  const opensBelow = lines[first]?.trim() === "{" && indentOf(lines[first] ?? "") === indent;
  const opener = opensBelow ? first : at;
  const strays = (lines[opener] ?? "").trimEnd().endsWith("{") ? maximumStrays : 1;
  let end = next[opener] ?? lines.length;
  for (let left = strays; left > 0; left--) {
    const line = lines[end];
    if (line === undefined || headOf(line)) break;
    if (closers.test(line) && indentOf(line) === indent) return end + 1;
    end = next[end] ?? lines.length;
  }
  return lastInk(lines, at, next[opener] ?? lines.length) + 1;
}

function lastInk(lines: readonly string[], from: number, to: number): number {
  let last = to - 1;
  while (last > from && lines[last]?.trim() === "") last -= 1;
  return last;
}

/** Files that are not code: they define nothing. */
const prose = new Set([
  "",
  ..."md mdx txt rst adoc json jsonc yaml yml toml ini cfg csv tsv lock xml svg html css scss less po snap patch diff properties env".split(
    " ",
  ),
]);

/** The comment at the end of a line, by extension; both `//` and `#` for unknown languages. */
const comments = new Map(
  (
    [
      ["lua sql hs elm", /--.*$/],
      ["swift scala dart zig groovy", /\/\/.*$/],
      ["vue svelte", /(?<!:)\/\/.*$/],
      ["clj el", /;.*$/],
      ["erl", /%.*$/],
    ] as const
  ).flatMap(([extensions, comment]) => extensions.split(" ").map((one) => [one, comment] as const)),
);
const anyComment = /(^|\s)(#|\/\/).*$/;

const longestLine = 1_000;

const strings = /"([^"\n]{0,200})"|'([^'\n]{0,200})'/g;
const words = /[\p{L}_$][\p{L}\p{N}_$]*/gu;
const notCalled = new Set(
  "if for while switch catch return function func fn def match until elseif elif unless when and or not in".split(
    " ",
  ),
);

/** The facts of a text without a parser: words are taken for names. */
export function createLayoutSource(path: string, text: string): Source {
  const extension = extensionOf(path);
  const lines = once(() => readLines(text, extension));
  const definitions = once(() => (prose.has(extension) && !/^#!/.test(text) ? [] : outlineByLayout(text)));
  const heads = once(() => new Set(definitions().map((one) => headKey(one.start, one.name))));
  const imports = once(() => (prose.has(extension) && !hasImports(path) ? [] : importsOf(path, text)));
  const importLines = once(() => new Set(imports().map(({ line }) => line)));
  const namesIn = (some: readonly CodeLine[], names: ReadonlySet<string> | null) =>
    referencesIn(some, names, heads(), importLines());
  const calls = once((): Call[] =>
    namesIn(lines(), null).flatMap(({ name, line, role, receiver = null }) =>
      role === "call" ? [{ name, line, receiver }] : [],
    ),
  );
  return {
    isParsed: false,
    get definitions() {
      return definitions();
    },
    get imports() {
      return imports();
    },
    enclosing: (line) => definitionsAt(definitions(), line),
    calls: (start, end) => within(calls(), start, end),
    references: (names, { start, end } = { start: 1, end: Number.POSITIVE_INFINITY }) =>
      namesIn(within(lines(), start, end), names),
    readNames: (start, end, among) => {
      const found = namesIn(within(lines(), start, end), among ?? null);
      const made = new Set(
        found.filter(({ role }) => role !== "read" && role !== "call").map(({ name }) => name),
      );
      return new Set(
        found.filter(({ name, role }) => role === "read" && !made.has(name)).map(({ name }) => name),
      );
    },
    literals: (start, end) => tellingLiterals(within(lines(), start, end).flatMap((line) => line.literals)),
    uses: () => calls().map((call) => ({ ...call, role: "call", variable: null })),
    bindings: () => bindingsOfImports(imports()),
  };
}

interface CodeLine {
  line: number;
  /** Without comments; strings are replaced by blanks. */
  code: string;
  literals: string[];
}

function readLines(text: string, extension: string): CodeLine[] {
  const comment = comments.get(extension) ?? anyComment;
  return text.split("\n").map((row, at) => {
    const whole = row.slice(0, longestLine);
    const literals: string[] = [];
    const blank = whole.replace(strings, (match, double: string | undefined, single: string | undefined) => {
      literals.push(double ?? single ?? "");
      return `"${" ".repeat(match.length - 2)}"`;
    });
    const code = blank.replace(comment, "");
    return { line: at + 1, code, literals: code.includes('"') ? literals : [] };
  });
}

const headKey = (line: number, name: string) => `${line} ${name}`;

function referencesIn(
  lines: readonly CodeLine[],
  names: ReadonlySet<string> | null,
  heads: ReadonlySet<string>,
  importLines: ReadonlySet<number>,
): Reference[] {
  return lines.flatMap(({ line, code }) =>
    [...code.matchAll(words)].flatMap((match): Reference[] => {
      const [name] = match;
      if (names && !names.has(name)) return [];
      const rest = code.slice(match.index + name.length, match.index + name.length + 20);
      if (heads.has(headKey(line, name))) return [{ name, line, role: "definition" }];
      const role = importLines.has(line) ? "import" : roleBefore(rest);
      if (role !== "call") return [{ name, line, role }];
      const receiver = /([\w$.]{1,80})[.:]$/.exec(code.slice(0, match.index))?.[1] ?? null;
      return notCalled.has(name) ? [] : [{ name, line, role, receiver }];
    }),
  );
}

function roleBefore(rest: string): ReferenceRole {
  if (/^\s?\(/.test(rest)) return "call";
  return /^\s*(?:[:+-]?=(?![=~>])|:(?![:=]))/.test(rest) ? "write" : "read";
}
