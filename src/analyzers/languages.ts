import { type Grammar, grammarOf, grammarsOf, loadAstGrep } from "../code/languages.ts";
import { isWorthParsing } from "../code/parse.ts";

/** A rule names one of these. `javascript` is the whole family: JavaScript, TypeScript, JSX and TSX. */
export const ruleLanguages = ["javascript", "python", "go", "java"] as const;
export type RuleLanguage = (typeof ruleLanguages)[number];

/** Nodes whose text is not code. */
const proseKinds: Record<RuleLanguage, readonly string[]> = {
  javascript: ["comment", "string", "template_string", "regex"],
  python: ["comment", "string"],
  go: ["comment", "interpreted_string_literal", "raw_string_literal"],
  java: ["line_comment", "block_comment", "string_literal"],
};

/** The grammar for a path; null if rules cannot read the file. */
export function ruleGrammarOf(path: string): (Grammar & { language: RuleLanguage }) | null {
  const grammar = grammarOf(path);
  const language = ruleLanguages.find((one) => one === grammar?.language);
  return grammar && language ? { ...grammar, language } : null;
}

/** All dialects that the rules of a language must compile for. */
export function dialectsOf(language: RuleLanguage): string[] {
  return grammarsOf(language).map((grammar) => grammar.dialect);
}

/**
 * 1-indexed lines whose first non-blank character is in a string or comment. Empty if this is unknown: for languages without a grammar and
 * for texts that are not worth parsing.
 */
export async function proseLinesOf(path: string, text: string): Promise<Set<number>> {
  const grammar = ruleGrammarOf(path);
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
    // Nodes inside a template are on lines that the template has already covered.
    for (let line = Math.max(start.line, known) + 1; line <= end.line; line++) lines.add(line + 1);
    known = Math.max(known, end.line);
  }
  return lines;
}
