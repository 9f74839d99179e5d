import { loadAstGrep, type NapiConfig, type SgNode } from "../syntax/grammars.ts";
import { isTooDeep } from "../syntax/worth-parsing.ts";
import { type RuleLanguage, ruleGrammarOf } from "./languages.ts";

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
  /** The innermost nodes that hold both the line above and the first of these lines, and the last one and the line below. */
  seams: string;
}

type Lines = { start: number; end: number };
type Rule = NapiConfig["rule"];

/** Whether {@link readSyntax} can tell anything about a path. */
export const hasGrammar = (path: string) => ruleGrammarOf(path) !== null;

/**
 * What the parser could not read, and what the grammars let pass although no compiler does. Null where there is no telling:
 * without a grammar, and on trees that are too deep or too wide to be searched. Only for texts that are worth parsing.
 */
export async function readSyntax(path: string, text: string, lines: Lines): Promise<SyntaxReading | null> {
  const grammar = ruleGrammarOf(path);
  if (!grammar) return null;
  const { dialect, language } = grammar;
  const root = (await loadAstGrep()).parse(dialect, text).root();
  if (isTooWide(root) || isTooDeep(root)) return null;
  const read = readLines(root, lines);
  if (!read) return null;
  const found = [...unreadable, ...misplaced[language]].flatMap(({ what, rule }) =>
    root.findAll({ rule }).map((node) => faultAt(node, what)),
  );
  const faults = [...found, ...strangersAtTop(root, language)];
  if (language === "javascript") faults.push(...declaredTwice(root));
  return { faults, ...read };
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
const misplaced: Record<RuleLanguage, readonly { what: string; rule: Rule }[]> = {
  javascript: [
    { what: returned, rule: outside("return_statement", [...functions.javascript, "class_static_block"]) },
    {
      what: broken,
      rule: outside("break_statement", [...functions.loops, "switch_statement", "labeled_statement"]),
    },
    { what: broken, rule: outside("continue_statement", functions.loops) },
    {
      // Outside of every function it is right in a module.
      what: "an await would stand in a function that is not async",
      rule: {
        kind: "await_expression",
        inside: {
          stopBy: { any: functions.javascript.map((kind) => ({ kind })) },
          any: functions.javascript.map((kind) => ({ kind })),
          not: { regex: "^(?:[@\\w.]+(?:\\([^()]*\\))?\\s+)*?async\\b" },
        },
      },
    },
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
const declarations: Partial<Record<RuleLanguage, RegExp>> = {
  go: /^(?:package_clause|(?:import|function|method|type|var|const)_declaration|comment|ERROR|\W+)$/,
  java: /^(?:(?:package|import|class|interface|enum|record|annotation_type|module)_declaration|(?:line_|block_)?comment|ERROR|\W+)$/,
};

function strangersAtTop(root: SgNode, language: RuleLanguage): SyntaxFault[] {
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

const pairs: Record<string, string> = { "(": "()", "[": "[]", "{": "{}", "${": "{}" };
const closers: Record<string, string> = { ")": "()", "]": "[]", "}": "{}" };

/** The marks of some lines, and what joins them to those around. */
function readLines(root: SgNode, lines: Lines): Pick<SyntaxReading, "marks" | "seams"> | null {
  const marks: BlockMark[] = [];
  let above = "";
  let below = "";
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    const reach = reachOf(node, lines);
    if (reach.isOutside) continue;
    const kind = String(node.kind());
    // Text that begins in the lines is not the text that began before them.
    const whole = node.isLeaf() && reach.fromAbove ? `${kind} from before` : kind;
    if (!reach.fromAbove) marks.push(...markOf(node, kind));
    if (reach.fromAbove && !lists.has(kind)) above = whole;
    if (reach.below && !lists.has(kind)) below = whole;
    if (isTooWide(node)) return null;
    open.push(...node.children().reverse());
  }
  return { marks, seams: `${above}, ${below}` };
}

/** Each child that is looked at takes memory until the next collection; nobody writes as many. */
const mostChildren = 20_000;

const isTooWide = (node: SgNode) => node.child(mostChildren) !== null;

/** Nodes that begin with the first of the statements they hold. */
const lists = new Set(["block", "statement_list"]);

function reachOf(node: SgNode, { start, end }: Lines) {
  const { start: first, end: last } = node.range();
  // A node that ends with its line's end may count the line feed.
  const lastLine = last.column === 0 ? last.line : last.line + 1;
  const firstLine = first.line + 1;
  return {
    isOutside: firstLine > end || lastLine < start,
    fromAbove: firstLine < start,
    below: lastLine > end,
  };
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
