import { loadAstGrep, type SgNode } from "../code/languages.ts";
import { isTooDeep, isWorthParsing } from "../code/parse.ts";
import { isTestFile } from "../code/test-file.ts";
import type { AnalyzedFile, Analyzer, Candidate } from "./analyzer.ts";
import { type RuleLanguage, ruleGrammarOf, ruleLanguages } from "./languages.ts";
import { type RuleFile, refused } from "./rule-file.ts";
import { matchesOf } from "./rule-matches.ts";
import { createGuessCheck } from "./syntax-tree.ts";

/** Finds the bugs that the rules describe. Those of a language are loaded once. */
export function createAstGrepAnalyzer(load: (language: RuleLanguage) => Promise<RuleFile[]>): Analyzer {
  const loaded = new Map<RuleLanguage, Promise<RuleFile[]>>();
  const rulesFor = (language: RuleLanguage) => {
    const rules = loaded.get(language) ?? load(language);
    loaded.set(language, rules);
    return rules;
  };
  return {
    name: "ast-grep",
    prepare: () => Promise.all([loadAstGrep(), ...ruleLanguages.map(rulesFor)]),
    async analyze(file, signal) {
      const grammar = ruleGrammarOf(file.path);
      if (!grammar || file.addedLines.size === 0 || !isWorthParsing(file.text)) return [];
      const rules = (await rulesFor(grammar.language)).filter((rule) => appliesTo(rule, file));
      if (rules.length === 0) return [];
      const astGrep = await loadAstGrep();
      const root = astGrep.parse(grammar.dialect, file.text).root();
      return isTooDeep(root) ? [] : candidatesIn(root, file, rules, signal);
    },
  };
}

async function candidatesIn(
  root: SgNode,
  file: AnalyzedFile,
  rules: readonly RuleFile[],
  signal: AbortSignal,
): Promise<Candidate[]> {
  const rows = file.text.split("\n");
  const source: Source = { file, rows, isGuess: createGuessCheck(root), isMeant: createMeantCheck(rows) };
  const candidates: Candidate[] = [];
  for (const rule of rules) {
    try {
      for await (const match of matchesOf(root, file.text.length, rule, signal)) {
        const candidate = toCandidate(source, rule, match);
        if (candidate) candidates.push(candidate);
      }
    } catch (error) {
      throw refused(rule, error);
    }
    if (signal.aborted) break;
  }
  return candidates;
}

interface Source {
  file: AnalyzedFile;
  rows: readonly string[];
  isGuess(node: SgNode): boolean;
  isMeant(line: number): boolean;
}

function appliesTo(rule: RuleFile, file: AnalyzedFile): boolean {
  if (!rule.in_tests && isTestFile(file.path)) return false;
  return rule.file_has.test(file.text) && !rule.file_lacks?.test(file.text);
}

/** Comments by which people tell linters that a line is meant as it is. They do not excuse what is unsafe. */
const suppression =
  /\b(?:noqa|nolint|NOSONAR|noinspection|eslint-disable|biome-ignore|oxlint-disable)\b|\bpylint:\s*disable/;

/**
 * Null where the anchor holds no added line, where a person has said that the line is meant as it is, or where the
 * parser did not understand the code around it.
 */
function toCandidate(source: Source, rule: RuleFile, match: SgNode): Candidate | null {
  const { file, isGuess, isMeant } = source;
  const anchor = (rule.anchor && match.getMatch(rule.anchor)) || match;
  const line = firstLine(anchor, (one) => file.addedLines.has(one));
  if (line === undefined || isGuess(match) || (rule.category !== "security" && isMeant(line))) return null;
  const suggestion = suggestionFor(source, rule, match);
  return {
    path: file.path,
    line: suggestion?.line ?? line,
    startLine: suggestion?.startLine ?? null,
    severity: rule.severity,
    category: rule.category,
    title: rule.title,
    body: rule.message.trim(),
    suggestion: suggestion?.text ?? null,
    source: `ast-grep/${rule.id}`,
  };
}

/** Whether such a comment stands on a line or on the one above. Each line is read once, however much matches on it. */
function createMeantCheck(rows: readonly string[]): (line: number) => boolean {
  const known = new Map<number, boolean>();
  const isComment = (line: number) => {
    const answer = known.get(line) ?? suppression.test(rows[line - 1] ?? "");
    known.set(line, answer);
    return answer;
  };
  return (line) => isComment(line) || isComment(line - 1);
}

function linesOf(node: SgNode): { first: number; last: number } {
  const { start, end } = node.range();
  return { first: start.line + 1, last: end.line + 1 };
}

/** The first line of a node for which `holds` is true. */
function firstLine(node: SgNode, holds: (line: number) => boolean): number | undefined {
  const { first, last } = linesOf(node);
  for (let line = first; line <= last; line++) if (holds(line)) return line;
  return undefined;
}

interface Suggestion {
  line: number;
  startLine: number | null;
  text: string;
}

/** Null unless the rule has a fix and the change added every line that it would replace. */
function suggestionFor({ file, rows }: Source, rule: RuleFile, match: SgNode): Suggestion | null {
  if (rule.fix === undefined || firstLine(match, (line) => !file.addedLines.has(line))) return null;
  const { first, last } = linesOf(match);
  const { start, end } = match.range();
  const before = rows[first - 1]?.slice(0, start.column) ?? "";
  const after = (rows[last - 1]?.slice(end.column) ?? "").replace(/\r$/, "");
  const text = before + fillIn(rule.fix, match, file.text) + after;
  return { line: last, startLine: first === last ? null : first, text };
}

/** `$NAME` and `$$$NAME` of a fix, replaced by what they matched; several nodes keep what stands between them. */
function fillIn(fix: string, match: SgNode, source: string): string {
  return fix.replaceAll(/(\$\$\$|\$)([A-Z][A-Z0-9_]*)/g, (_, sign: string, name: string) => {
    if (sign === "$") return match.getMatch(name)?.text() ?? "";
    const nodes = match.getMultipleMatches(name);
    const [first, last] = [nodes[0], nodes.at(-1)];
    return first && last ? source.slice(first.range().start.index, last.range().end.index) : "";
  });
}
