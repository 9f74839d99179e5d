import type { NapiConfig, SgNode } from "@ast-grep/napi";
import { extensionOf, grammarOf, loadAstGrep } from "./languages.ts";
import { isTooDeep } from "./syntax-tree.ts";

/** Something that a compiler would refuse, as far as a syntax tree shows it. Lines are 1-indexed and inclusive. */
export interface SyntaxFault {
  what: string;
  /** Whether the parser could not read it, so that the tree around it is a guess. */
  isGuess: boolean;
  line: number;
  endLine: number;
}

/** A bracket, or a tag of JSX, that opens or closes something that another one ends. */
export interface BlockMark {
  opens: boolean;
  /** Equal for the two that belong together. */
  pair: string;
  /** 1-indexed. */
  line: number;
}

export interface SyntaxReading {
  faults: SyntaxFault[];
  /** The marks of the lines that were asked for, in order. */
  marks: BlockMark[];
  /** What reaches over the last of these lines into the next: the kind of a comment or string, and where it starts. */
  unfinished: string | null;
}

type Lines = { start: number; end: number };
type Rule = NapiConfig["rule"];

/** ast-grep's own grammars, which have no rules of ours. */
const furtherDialects: Record<string, string> = { css: "Css" };

/** The name ast-grep knows a path's grammar by; null where there is none. */
function dialectOf(path: string): string | null {
  return grammarOf(path)?.dialect ?? furtherDialects[extensionOf(path)] ?? null;
}

/** Whether {@link readSyntax} can tell anything about a path. */
export const hasGrammar = (path: string) => dialectOf(path) !== null;

/**
 * What the parser could not read, and what the grammars let pass although no compiler does. Null where there is no telling:
 * without a grammar, and on trees that are too deep to be searched. Only for texts that are worth parsing.
 */
export async function readSyntax(path: string, text: string, lines: Lines): Promise<SyntaxReading | null> {
  const dialect = dialectOf(path);
  if (dialect === null) return null;
  const root = (await loadAstGrep()).parse(dialect, text).root();
  if (isTooDeep(root)) return null;
  const language = grammarOf(path)?.language ?? dialect;
  const found = [...unreadable, ...(misplaced[language] ?? [])].flatMap(({ what, rule }) =>
    root.findAll({ rule }).map((node) => faultAt(node, what)),
  );
  const faults = [...found, ...strangersAtTop(root, language)];
  if (language === "javascript") faults.push(...declaredTwice(root), ...awaitOutsideAsync(root));
  return { faults, ...readLines(root, lines) };
}

function faultAt(node: SgNode, what: string): SyntaxFault {
  const { start, end } = node.range();
  const endLine = end.column === 0 && end.line > start.line ? end.line : end.line + 1;
  return { what, isGuess: unreadable.some((one) => one.what === what), line: start.line + 1, endLine };
}

const unreadable: readonly { what: string; rule: Rule }[] = [
  { what: "the file would not parse", rule: { kind: "ERROR" } },
  // A token that the parser made up to go on, and a block that holds nothing where its language wants something.
  { what: "something would be missing", rule: { regex: "^$" } },
];

const outside = (kind: string, around: readonly string[]): Rule => ({
  kind,
  not: { inside: { stopBy: "end", any: around.map((one) => ({ kind: one })) } },
});

const functions = {
  javascript: [
    "function_declaration",
    "function_expression",
    "generator_function",
    "generator_function_declaration",
    "arrow_function",
    "method_definition",
  ],
  loops: ["for_statement", "for_in_statement", "while_statement", "do_statement"],
};

const returned = "a return would stand outside of every function";
const broken = "a break or continue would stand outside of every loop";

/** What grammars allow everywhere and compilers in places. */
const misplaced: Record<string, readonly { what: string; rule: Rule }[]> = {
  javascript: [
    { what: returned, rule: outside("return_statement", [...functions.javascript, "class_static_block"]) },
    {
      what: broken,
      rule: outside("break_statement", [...functions.loops, "switch_statement", "labeled_statement"]),
    },
    { what: broken, rule: outside("continue_statement", functions.loops) },
    {
      what: "an import would stand inside of a block",
      rule: { kind: "import_statement", not: { inside: { any: [{ kind: "program" }, { kind: "ERROR" }] } } },
    },
  ],
  python: [
    { what: returned, rule: outside("return_statement", ["function_definition"]) },
    { what: broken, rule: outside("break_statement", ["for_statement", "while_statement"]) },
    { what: broken, rule: outside("continue_statement", ["for_statement", "while_statement"]) },
    // These would be Python 2.
    { what: "a print statement would stand in the file", rule: { kind: "print_statement" } },
    { what: "an exec statement would stand in the file", rule: { kind: "exec_statement" } },
  ],
  go: [{ what: broken, rule: outside("continue_statement", ["for_statement"]) }],
  java: [
    {
      what: broken,
      rule: outside("continue_statement", [
        "for_statement",
        "enhanced_for_statement",
        "while_statement",
        "do_statement",
      ]),
    },
  ],
};

/** Grammars that take statements where their languages take declarations. */
const declarations: Record<string, RegExp> = {
  go: /^(?:package_clause|(?:import|function|method|type|var|const)_declaration|comment|ERROR|\W+)$/,
  java: /^(?:(?:package|import|class|interface|enum|record|annotation_type|module)_declaration|(?:line_|block_)?comment|ERROR|\W+)$/,
};

function strangersAtTop(root: SgNode, language: string): SyntaxFault[] {
  const known = declarations[language];
  if (!known) return [];
  const strangers = root.children().filter((node) => !known.test(String(node.kind())));
  return strangers.map((node) => faultAt(node, "a statement would stand outside of every function"));
}

/** Names that `const`, `let` or `class` declare in a block that has them already. */
function declaredTwice(root: SgNode): SyntaxFault[] {
  const declarators = root.findAll({
    rule: {
      any: [
        { kind: "class_declaration" },
        { kind: "variable_declarator", inside: { kind: "lexical_declaration" } },
      ],
    },
  });
  const seen = new Set<string>();
  return declarators.flatMap((node) => {
    const statement = node.is("class_declaration") ? node : node.parent();
    const scope = scopeOf(statement);
    const name = node.field("name")?.text();
    if (scope === null || name === undefined || !/^[\w$]+$/.test(name)) return [];
    const key = `${scope.id()} ${name}`;
    if (!seen.has(key)) {
      seen.add(key);
      return [];
    }
    return [faultAt(node, "a name would be declared twice in the same block")];
  });
}

function scopeOf(statement: SgNode | null): SgNode | null {
  const parent = statement?.parent() ?? null;
  return parent?.is("export_statement") ? parent.parent() : parent;
}

/** Outside of every function `await` is right in a module. */
function awaitOutsideAsync(root: SgNode): SyntaxFault[] {
  const functionKinds = new Set<string>(functions.javascript);
  return root.findAll({ rule: { kind: "await_expression" } }).flatMap((node) => {
    let around = node.parent();
    while (around && !functionKinds.has(String(around.kind()))) around = around.parent();
    const isAsync = around === null || around.children().some((child) => child.kind() === "async");
    return isAsync ? [] : [faultAt(node, "an await would stand in a function that is not async")];
  });
}

const pairs: Record<string, string> = { "(": "()", "[": "[]", "{": "{}", "${": "{}" };
const closers: Record<string, string> = { ")": "()", "]": "[]", "}": "{}" };

/** The marks of some lines, and what they leave open, read off the leaves of the tree. */
function readLines(root: SgNode, { start, end }: Lines): Pick<SyntaxReading, "marks" | "unfinished"> {
  const marks: BlockMark[] = [];
  let unfinished: string | null = null;
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    const { start: first, end: last } = node.range();
    if (first.line + 1 > end || last.line + 1 < start) continue;
    const kind = String(node.kind());
    if (first.line + 1 >= start) marks.push(...markOf(node, kind));
    if (!node.isLeaf()) {
      open.push(...node.children().reverse());
      continue;
    }
    const reachesOver = last.line + 1 > end && !(last.line === end && last.column === 0);
    if (reachesOver) unfinished = `${kind} ${first.line + 1 < start ? "from before" : "from here"}`;
  }
  return { marks, unfinished };
}

function markOf(node: SgNode, kind: string): BlockMark[] {
  const line = node.range().start.line + 1;
  if (kind === "jsx_opening_element" || kind === "jsx_closing_element") {
    const name = node.field("name")?.text() ?? "";
    return [{ opens: kind === "jsx_opening_element", pair: `<${name}>`, line }];
  }
  const opened = pairs[kind];
  if (opened !== undefined) return [{ opens: true, pair: opened, line }];
  const closed = closers[kind];
  return closed === undefined ? [] : [{ opens: false, pair: closed, line }];
}
