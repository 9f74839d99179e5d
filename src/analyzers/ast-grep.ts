import { setImmediate as nextTick } from "node:timers/promises";
import type { SgNode } from "@ast-grep/napi";
import type { AnalyzedFile, Analyzer, Candidate } from "./analyzer.ts";
import { grammarOf, isWorthParsing, loadAstGrep, type RuleLanguage, ruleLanguages } from "./languages.ts";
import { configOf, loadRules, type RuleFile } from "./rule-file.ts";
import { isTestFile } from "./test-file.ts";

/** Finds the bugs that the rule files describe. Files of a language nobody changed are never read. */
export function createAstGrepAnalyzer(rulesFolder: string): Analyzer {
  const loaded = new Map<RuleLanguage, Promise<RuleFile[]>>();
  const rulesFor = (language: RuleLanguage) => {
    const rules = loaded.get(language) ?? loadRules(rulesFolder, language);
    loaded.set(language, rules);
    return rules;
  };
  return {
    name: "ast-grep",
    prepare: () => Promise.all(ruleLanguages.map(rulesFor)),
    async analyze(file, signal) {
      const grammar = grammarOf(file.path);
      if (!grammar || file.addedLines.size === 0 || !isWorthParsing(file.text)) return [];
      const rules = (await rulesFor(grammar.language)).filter((rule) => appliesTo(rule, file));
      if (rules.length === 0) return [];
      const astGrep = await loadAstGrep();
      const root = astGrep.parse(grammar.dialect, file.text).root();
      const source: Source = { file, rows: file.text.split("\n") };
      const candidates: Candidate[] = [];
      for (const rule of rules) {
        // Matching is native and cannot be interrupted: between two rules is the place to let time-outs happen.
        await nextTick();
        if (signal.aborted) break;
        for (const match of root.findAll(configOf(rule)))
          candidates.push(...toCandidates(source, rule, match));
      }
      return candidates;
    },
  };
}

interface Source {
  file: AnalyzedFile;
  rows: readonly string[];
}

function appliesTo(rule: RuleFile, file: AnalyzedFile): boolean {
  if (!rule.in_tests && isTestFile(file.path)) return false;
  return rule.file_has.test(file.text) && !rule.file_lacks?.test(file.text);
}

/** Comments by which people tell linters that a line is meant as it is. They do not excuse what is unsafe. */
const suppression =
  /\b(?:noqa|nolint|NOSONAR|noinspection|eslint-disable|biome-ignore|oxlint-disable)\b|\bpylint:\s*disable/;

/**
 * None where the anchor holds no added line, where a person has said that the line is meant as it is, or where the
 * parser did not understand the code around it.
 */
function toCandidates(source: Source, rule: RuleFile, match: SgNode): Candidate[] {
  const { file, rows } = source;
  const anchor = (rule.anchor && match.getMatch(rule.anchor)) || match;
  const line = linesOf(anchor).find((one) => file.addedLines.has(one));
  if (line === undefined || isGuess(match) || isMeant(rows, rule, line)) return [];
  const suggestion = suggestionFor(source, rule, match);
  return [
    {
      path: file.path,
      line: suggestion?.line ?? line,
      startLine: suggestion?.startLine ?? null,
      severity: rule.severity,
      category: rule.category,
      title: rule.title,
      body: rule.message.trim(),
      suggestion: suggestion?.text ?? null,
      source: `ast-grep/${rule.id}`,
    },
  ];
}

function isMeant(rows: readonly string[], rule: RuleFile, line: number): boolean {
  const near = rows.slice(Math.max(0, line - 2), line);
  return rule.category !== "security" && near.some((text) => suppression.test(text));
}

function linesOf(node: SgNode): number[] {
  const { start, end } = node.range();
  return Array.from({ length: end.line - start.line + 1 }, (_, index) => start.line + 1 + index);
}

/** Inside, or holding, what the parser could not read: the shape of the tree is its guess there. */
function isGuess(match: SgNode): boolean {
  const isError = (node: SgNode) => node.kind() === "ERROR";
  return match.ancestors().some(isError) || match.has({ rule: { kind: "ERROR" } });
}

interface Suggestion {
  line: number;
  startLine: number | null;
  text: string;
}

/** Null unless the rule has a fix and the change added every line that it would replace. */
function suggestionFor({ file, rows }: Source, rule: RuleFile, match: SgNode): Suggestion | null {
  const lines = linesOf(match);
  if (rule.fix === undefined || !lines.every((line) => file.addedLines.has(line))) return null;
  const [first, last] = [lines[0] as number, lines.at(-1) as number];
  const { start, end } = match.range();
  const before = rows[first - 1]?.slice(0, start.column) ?? "";
  const after = (rows[last - 1]?.slice(end.column) ?? "").replace(/\r$/, "");
  const text = before + fillIn(rule.fix, match) + after;
  return { line: last, startLine: first === last ? null : first, text };
}

/** `$NAME` and `$$$NAME` of a fix, replaced by what they matched; several nodes keep what stands between them. */
function fillIn(fix: string, match: SgNode): string {
  const source = match.getRoot().root().text();
  return fix.replaceAll(/(\$\$\$|\$)([A-Z][A-Z0-9_]*)/g, (_, sign: string, name: string) => {
    if (sign === "$") return match.getMatch(name)?.text() ?? "";
    const nodes = match.getMultipleMatches(name);
    const [first, last] = [nodes[0], nodes.at(-1)];
    return first && last ? source.slice(first.range().start.index, last.range().end.index) : "";
  });
}
