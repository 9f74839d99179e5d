import type * as AstGrep from "@ast-grep/napi";

/** A rule names one of these. `javascript` is the whole family: JavaScript, TypeScript, JSX and TSX. */
export const ruleLanguages = ["javascript", "python", "go", "java"] as const;
export type RuleLanguage = (typeof ruleLanguages)[number];

interface Grammar {
  language: RuleLanguage;
  /** The name ast-grep knows the grammar by. */
  dialect: string;
  extensions: readonly string[];
}

const grammars: readonly Grammar[] = [
  { language: "javascript", dialect: "JavaScript", extensions: ["js", "jsx", "mjs", "cjs"] },
  { language: "javascript", dialect: "TypeScript", extensions: ["ts", "mts", "cts"] },
  { language: "javascript", dialect: "Tsx", extensions: ["tsx"] },
  { language: "python", dialect: "python", extensions: ["py", "pyi"] },
  { language: "go", dialect: "go", extensions: ["go"] },
  { language: "java", dialect: "java", extensions: ["java"] },
];

/** Nodes whose text is not code: words in them are no statements. */
const proseKinds: Record<RuleLanguage, readonly string[]> = {
  javascript: ["comment", "string", "template_string", "regex"],
  python: ["comment", "string"],
  go: ["comment", "interpreted_string_literal", "raw_string_literal"],
  java: ["line_comment", "block_comment", "string_literal"],
};

/** The file name's last extension in lower case, without the dot; empty when there is none. */
export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
}

/** The grammar for a path, or null for files that no rule can read. */
export function grammarOf(path: string): Grammar | null {
  const extension = extensionOf(path);
  return grammars.find((grammar) => grammar.extensions.includes(extension)) ?? null;
}

/** Every dialect that rules of a language must compile for. */
export function dialectsOf(language: RuleLanguage): string[] {
  return grammars.filter((grammar) => grammar.language === language).map((grammar) => grammar.dialect);
}

let engine: Promise<typeof AstGrep> | undefined;

/**
 * ast-grep with all grammars known to it. It honours the first registration of grammars only and ignores later ones
 * without a word, so all come at once; a grammar's library is a memory-mapped file that costs nothing until it parses.
 */
export function loadAstGrep(): Promise<typeof AstGrep> {
  engine ??= (async () => {
    const [astGrep, python, go, java] = await Promise.all([
      import("@ast-grep/napi"),
      import("@ast-grep/lang-python"),
      import("@ast-grep/lang-go"),
      import("@ast-grep/lang-java"),
    ]);
    astGrep.registerDynamicLanguage({ python: python.default, go: go.default, java: java.default });
    return astGrep;
  })();
  return engine;
}

/** A syntax tree takes up to 200 bytes for each character of dense code: beyond this a file costs too much memory. */
const maximumCharacters = 300_000;
/** Longer lines on average are written by machines. */
const maximumAverageLine = 300;

/** Whether a text is small enough to parse and looks as if a person wrote it. */
export function isWorthParsing(text: string): boolean {
  return text.length <= maximumCharacters && text.length / text.split("\n").length <= maximumAverageLine;
}

/**
 * 1-indexed lines whose first character that is not white space lies in a string or comment. None where there is no
 * telling: for languages without a grammar and for texts that are not worth parsing.
 */
export async function proseLinesOf(path: string, text: string): Promise<Set<number>> {
  const grammar = grammarOf(path);
  if (!grammar || !isWorthParsing(text)) return new Set();
  const astGrep = await loadAstGrep();
  const kinds = proseKinds[grammar.language].map((kind) => ({ kind }));
  const nodes = astGrep
    .parse(grammar.dialect, text)
    .root()
    .findAll({ rule: { any: kinds } });
  const indents = text.split("\n").map((row) => row.search(/\S/));
  const lines = new Set<number>();
  let known = 0;
  for (const { start, end } of nodes.map((node) => node.range())) {
    if (start.column <= (indents[start.line] ?? 0)) lines.add(start.line + 1);
    // What lies inside of a template lies on lines that the template has named.
    for (let line = Math.max(start.line, known) + 1; line <= end.line; line++) lines.add(line + 1);
    known = Math.max(known, end.line);
  }
  return lines;
}
