import type { Language } from "../../../repo/code/languages.ts";
import { grammarOf, loadAstGrep, type NapiConfig, type SgNode } from "../../../repo/code/languages.ts";
import { isTooDeep } from "../../../repo/code/parse.ts";

/** A compile error that the syntax tree shows. Lines are 1-indexed and inclusive. */
export interface SyntaxFault {
  what: string;
  /** True for a parse error: the tree around it is a guess. */
  isGuess: boolean;
  line: number;
  endLine: number;
}

interface SyntaxReading {
  faults: SyntaxFault[];
  /** The nodes that span each end of the lines. If an edit changes them, lines around belong to other blocks. */
  above: string;
  below: string;
}

type Lines = { start: number; end: number };
type AstRule = NapiConfig["rule"];

export const hasGrammar = (path: string) => grammarOf(path) !== null;

/** Parse errors, and errors that only compilers find. Null without a grammar, and for trees that are too deep or wide. */
export async function readSyntax(path: string, text: string, lines: Lines): Promise<SyntaxReading | null> {
  const grammar = grammarOf(path);
  if (!grammar) return null;
  const { dialect, language } = grammar;
  const root = (await loadAstGrep()).parse(dialect, text).root();
  if (isTooWide(root) || isTooDeep(root, text)) return null;
  const read = readLines(root, lines);
  if (!read) return null;
  const found = [...unreadable, ...(misplaced[language] ?? [])].flatMap(({ what, rule }) =>
    root.findAll({ rule }).map((node) => faultAt(node, what)),
  );
  const faults = [...found, ...strangersAtTop(root, language)];
  if (language === "javascript")
    faults.push(...declaredTwice(root), ...(dialect === "TypeScript" ? [] : wrongEndTags(root)));
  return { faults, ...read };
}

function faultAt(node: SgNode, what: string): SyntaxFault {
  const { start, end } = node.range();
  const endLine = end.column === 0 && end.line > start.line ? end.line : end.line + 1;
  return { what, isGuess: unreadable.some((one) => one.what === what), line: start.line + 1, endLine };
}

const unreadable: readonly { what: string; rule: AstRule }[] = [
  { what: "the file would not parse", rule: { kind: "ERROR" } },
  // A token that the parser inserted, or an empty block that its language does not allow.
  { what: "something would be missing", rule: { regex: "^$" } },
];

const outside = (kind: string, around: readonly string[]): AstRule => ({
  kind,
  not: { inside: { stopBy: "end", any: around.map((one) => ({ kind: one })) } },
});

const functions = [
  "function_declaration function_expression generator_function generator_function_declaration",
  "arrow_function method_definition",
].flatMap((line) => line.split(" "));
const loops = ["for_statement", "for_in_statement", "while_statement", "do_statement"];
const javaLoops = ["for_statement", "enhanced_for_statement", "while_statement", "do_statement"];

const returned = "a return would be outside every function";
const broken = "a break or continue would be outside every loop";

/** Statements that grammars allow everywhere and compilers only in some places. */
const misplaced: Partial<Record<Language, readonly { what: string; rule: AstRule }[]>> = {
  javascript: [
    { what: returned, rule: outside("return_statement", [...functions, "class_static_block"]) },
    {
      what: broken,
      rule: outside("break_statement", [...loops, "switch_statement", "labeled_statement"]),
    },
    { what: broken, rule: outside("continue_statement", loops) },
    {
      // Outside of every function it is right in a module.
      what: "an await would be in a function that is not async",
      rule: {
        kind: "await_expression",
        inside: {
          stopBy: { any: functions.map((kind) => ({ kind })) },
          any: functions.map((kind) => ({ kind })),
          not: { regex: "^(?:[@\\w.]+(?:\\([^()]*\\))?\\s+)*?async\\b" },
        },
      },
    },
    {
      what: "an import would be inside a block",
      rule: { kind: "import_statement", not: { inside: { any: [{ kind: "program" }, { kind: "ERROR" }] } } },
    },
  ],
  python: [
    { what: returned, rule: outside("return_statement", ["function_definition"]) },
    { what: broken, rule: outside("break_statement", ["for_statement", "while_statement"]) },
    { what: broken, rule: outside("continue_statement", ["for_statement", "while_statement"]) },
    // These would be Python 2.
    { what: "the file would contain a print statement", rule: { kind: "print_statement" } },
    { what: "the file would contain an exec statement", rule: { kind: "exec_statement" } },
  ],
  go: [{ what: broken, rule: outside("continue_statement", ["for_statement"]) }],
  java: [
    {
      what: broken,
      rule: outside("continue_statement", javaLoops),
    },
  ],
};

/** Languages that allow only declarations at the top, where their grammars allow statements. */
const declarations: Partial<Record<Language, RegExp>> = {
  go: /^(?:package_clause|(?:import|function|method|type|var|const)_declaration|comment|ERROR|\W+)$/,
  java: /^(?:(?:package|import|class|interface|enum|record|annotation_type|module)_declaration|(?:line_|block_)?comment|ERROR|\W+)$/,
};

function strangersAtTop(root: SgNode, language: Language): SyntaxFault[] {
  const known = declarations[language];
  if (!known) return [];
  const strangers = root.children().filter((node) => !known.test(String(node.kind())));
  return strangers.map((node) => faultAt(node, "a statement would be outside every function"));
}

/** The grammar accepts any end tag for any element. */
function wrongEndTags(root: SgNode): SyntaxFault[] {
  const nameOf = (node: SgNode, kind: string) =>
    node
      .children()
      .find((child) => child.is(kind))
      ?.field("name")
      ?.text();
  return root
    .findAll({ rule: { kind: "jsx_element" } })
    .filter((node) => nameOf(node, "jsx_opening_element") !== nameOf(node, "jsx_closing_element"))
    .map((node) => faultAt(node, "a tag would be closed by the end of another tag"));
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

/** The nodes that connect the lines with those around. Null for trees that are too wide. */
function readLines(root: SgNode, lines: Lines): Pick<SyntaxReading, "above" | "below"> | null {
  const above = new Set<string>();
  const below = new Set<string>();
  const open = [...root.children()];
  for (let node = open.pop(); node; node = open.pop()) {
    const reach = reachOf(node, lines);
    if (!reach.fromAbove && !reach.below) continue;
    const kind = String(node.kind());
    const name = reach.line < lines.start ? `${kind} ${reach.line}` : kind;
    if (reach.fromAbove && !lists.has(kind)) above.add(name);
    if (reach.below && !lists.has(kind)) below.add(name);
    if (isTooWide(node)) return null;
    open.push(...node.children());
  }
  return { above: [...above].toSorted().join(), below: [...below].toSorted().join() };
}

/** Each visited child takes memory until the next garbage collection; real code has fewer. */
const mostChildren = 20_000;

const isTooWide = (node: SgNode) => node.child(mostChildren) !== null;

/** Nodes that start at their first statement. */
const lists = new Set(["block", "statement_list", "body_statement", "then"]);

function reachOf(node: SgNode, { start, end }: Lines) {
  const { start: first, end: last } = node.range();
  // The range of a node may include the line feed.
  const lastLine = last.column === 0 ? last.line : last.line + 1;
  const firstLine = first.line + 1;
  return {
    line: firstLine,
    fromAbove: firstLine < start && lastLine >= start,
    below: firstLine <= end && lastLine > end,
  };
}
