import { extensionOf } from "./grammars.ts";
import { outlineByLayout } from "./layout-outline.ts";
import { definitionsAt, once, tellingLiterals, within } from "./ranges.ts";
import type { Call, Import, Reference, ReferenceRole, Source } from "./source.ts";

/** Files whose words are no code: they define nothing. */
const prose = new Set([
  ...[
    "md",
    "mdx",
    "txt",
    "rst",
    "adoc",
    "json",
    "jsonc",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "csv",
    "tsv",
    "lock",
  ],
  ...["xml", "svg", "html", "css", "scss", "less", "po", "snap", "patch", "diff", "properties", "env", ""],
]);

/** What begins a comment that reaches to the end of the line; both `//` and `#` where the language is not known. */
const comments: Readonly<Record<string, RegExp>> = {
  lua: /--.*$/,
  sql: /--.*$/,
  hs: /--.*$/,
  elm: /--.*$/,
  swift: /\/\/.*$/,
  scala: /\/\/.*$/,
  dart: /\/\/.*$/,
  zig: /\/\/.*$/,
  groovy: /\/\/.*$/,
  vue: /(?<!:)\/\/.*$/,
  svelte: /(?<!:)\/\/.*$/,
  clj: /;.*$/,
  el: /;.*$/,
  erl: /%.*$/,
};
const anyComment = /(^|\s)(#|\/\/).*$/;

/** Characters of a line that are looked at. */
const longestLine = 1_000;

const strings = /"([^"\n]{0,200})"|'([^'\n]{0,200})'/g;
const words = /[\p{L}_$][\p{L}\p{N}_$]*/gu;
const importLine =
  /^\s*(?:(?:from|import|use|using|require|include|source|alias)\b|\.\s)\s*[("'<]*([\w@./:\\-]+)/;
const notCalled = new Set(
  "if for while switch catch return function func fn def match until elseif elif unless when and or not in".split(
    " ",
  ),
);

/** What a text tells without a parser: words where one would know names. */
export function createLayoutSource(path: string, text: string): Source {
  const extension = extensionOf(path);
  const lines = once(() => readLines(text, extension));
  const definitions = once(() => (prose.has(extension) && !/^#!/.test(text) ? [] : outlineByLayout(text)));
  const heads = once(() => new Set(definitions().map((one) => headKey(one.start, one.name))));
  const calls = once(() => lines().flatMap((line) => callsIn(line, heads())));
  const imports = once(() => (prose.has(extension) ? [] : lines().flatMap(importsIn)));
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
    references: (names) => referencesIn(lines(), names, heads()),
    readNames: (start, end) => {
      const found = referencesIn(within(lines(), start, end), null, heads());
      const made = new Set(
        found.filter(({ role }) => role !== "read" && role !== "call").map(({ name }) => name),
      );
      return new Set(
        found.filter(({ name, role }) => role === "read" && !made.has(name)).map(({ name }) => name),
      );
    },
    literals: (start, end) => tellingLiterals(within(lines(), start, end).flatMap((line) => line.literals)),
  };
}

interface CodeLine {
  line: number;
  /** Without comments; strings are blanks. */
  code: string;
  /** As it stands in the file. */
  whole: string;
  literals: string[];
}

function readLines(text: string, extension: string): CodeLine[] {
  const comment = comments[extension] ?? anyComment;
  return text.split("\n").map((row, at) => {
    const whole = row.slice(0, longestLine);
    const literals: string[] = [];
    const blank = whole.replace(strings, (match, double: string | undefined, single: string | undefined) => {
      literals.push(double ?? single ?? "");
      return `"${" ".repeat(match.length - 2)}"`;
    });
    const code = blank.replace(comment, "");
    return { line: at + 1, code, whole, literals: code.includes('"') ? literals : [] };
  });
}

const headKey = (line: number, name: string) => `${line} ${name}`;

function callsIn({ line, code }: CodeLine, heads: ReadonlySet<string>): Call[] {
  return [...code.matchAll(/(?:([\w$.]{1,80})[.:])?([A-Za-z_$][\w$]*)\s?\(/g)].flatMap(
    ([, receiver, name]) => {
      if (!name || notCalled.has(name) || heads.has(headKey(line, name))) return [];
      return [{ name, line, receiver: receiver ?? null }];
    },
  );
}

function importsIn({ line, code, whole }: CodeLine): Import[] {
  const specifier = code.trim() === "" ? undefined : importLine.exec(whole)?.[1];
  return specifier ? [{ specifier, line }] : [];
}

function referencesIn(
  lines: readonly CodeLine[],
  names: ReadonlySet<string> | null,
  heads: ReadonlySet<string>,
): Reference[] {
  return lines.flatMap(({ line, code, whole }) => {
    const isImport = importLine.test(whole);
    return [...code.matchAll(words)].flatMap((match) => {
      const name = match[0];
      if (names && !names.has(name)) return [];
      const rest = code.slice(match.index + name.length, match.index + name.length + 20);
      const role = heads.has(headKey(line, name)) ? "definition" : isImport ? "import" : roleBefore(rest);
      return [{ name, line, role }];
    });
  });
}

function roleBefore(rest: string): ReferenceRole {
  if (/^\s?\(/.test(rest)) return "call";
  return /^\s*(?:[:+-]?=(?![=~>])|:(?![:=]))/.test(rest) ? "write" : "read";
}
