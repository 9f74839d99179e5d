import { setImmediate as nextTick } from "node:timers/promises";
import type { Finding } from "../../../core/finding.ts";
import { loadAstGrep, type NapiConfig, type SgNode } from "../../../repo/code/languages.ts";
import { isTooDeep, isWorthParsing } from "../../../repo/code/parse.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { firstIndex } from "../../../repo/code/tree.ts";
import type { AnalyzedFile, Analyzer, Diagnostic } from "./analyzer.ts";
import {
  configOf,
  type RuleFile,
  type RuleLanguage,
  refused,
  ruleGrammarOf,
  ruleLanguages,
} from "./rule-file.ts";

/** Possible matches times characters: a rule can search the whole file for each. About half a second of work. */
const maximumUninterrupted = 10_000_000;
const stride = 50;

/** The matches of a rule. Native matching cannot be interrupted, so a long search tests one possible match at a time. */
export async function* matchesOf(
  root: SgNode,
  characters: number,
  rule: RuleFile,
  signal: AbortSignal,
): AsyncGenerator<SgNode> {
  const config = configOf(rule);
  const isQuick = !searches(config) || characters ** 2 / shortestMatch <= maximumUninterrupted;
  const possible = isQuick ? [] : root.findAll(shapeOf(config));
  const isStepwise = possible.length * characters > maximumUninterrupted;
  const nodes = isStepwise ? possible : root.findAll(config);
  for (const [index, node] of nodes.entries()) {
    if (index % stride === 0) await nextTick();
    if (signal.aborted) return;
    const match = isStepwise ? matchAt(node, config) : node;
    if (match) yield match;
  }
}

const shortestMatch = 4;

/** Whether the rule searches beyond the neighbors of a node, which only `stopBy` allows. */
const searches = (config: NapiConfig) => JSON.stringify(config).includes('"stopBy"');

/** Only a match has its metavariables, and only a search returns a match: it begins with the node itself. */
const matchAt = (node: SgNode, config: NapiConfig) => (node.matches(config) ? node.find(config) : null);

/** The rule without its conditions about other nodes: it matches no less, and needs one walk over the tree. */
function shapeOf({ rule, constraints }: NapiConfig): NapiConfig {
  const shape = shapeOfRule(rule as AstRule) ?? { regex: "" };
  const text = JSON.stringify(shape);
  // The shape must not mention variables that only the rest of the rule binds.
  const bound = Object.entries((constraints ?? {}) as Record<string, AstRule>).filter(([name]) =>
    text.includes(`$${name}`),
  );
  const limits = bound.map(([name, constraint]) => [name, shapeOfRule(constraint) ?? { regex: "" }]);
  return { rule: shape, constraints: Object.fromEntries(limits) } as NapiConfig;
}

type AstRule = Readonly<Record<string, unknown>>;

/** Null if it matches every node. */
function shapeOfRule(rule: AstRule): AstRule | null {
  const shape: Record<string, unknown> = {};
  for (const key of ["pattern", "kind", "regex"]) if (key in rule) shape[key] = rule[key];
  const all = rulesOf(rule, "all").flatMap((one) => shapeOfRule(one) ?? []);
  if (all.length > 0) shape.all = all;
  const any = rulesOf(rule, "any").map(shapeOfRule);
  if (any.length > 0 && !any.includes(null)) shape.any = any;
  return Object.keys(shape).length === 0 ? null : shape;
}

const rulesOf = (rule: AstRule, key: string) => (rule[key] ?? []) as readonly AstRule[];

/** Checks whether a node is in, or contains, code that the parser could not read. The tree is searched once for all nodes. */
export function createGuessCheck(root: SgNode): (node: SgNode) => boolean {
  const errors = outermost(root.findAll({ rule: { kind: "ERROR" } }).map(spanOf));
  return (node) => {
    const { start, end } = spanOf(node);
    const error = errors[firstIndex(errors, (one) => one.end > start)];
    return error !== undefined && error.start < end;
  };
}

interface Span {
  start: number;
  /** The index after its last character. */
  end: number;
}

function spanOf(node: SgNode): Span {
  const { start, end } = node.range();
  return { start: start.index, end: end.index };
}

/** Nodes are in order of their starts, each before the nodes within it. */
function outermost(spans: readonly Span[]): Span[] {
  const kept: Span[] = [];
  for (const span of spans) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span);
  return kept;
}

/** Finds the bugs that the rules describe. The rules of a language are loaded once. */
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
      return isTooDeep(root, file.text) ? [] : diagnosticsIn(root, file, rules, signal);
    },
  };
}

async function diagnosticsIn(
  root: SgNode,
  file: AnalyzedFile,
  rules: readonly RuleFile[],
  signal: AbortSignal,
): Promise<Diagnostic[]> {
  const rows = file.text.split("\n");
  const source: Source = {
    file,
    rows,
    isGuess: createGuessCheck(root),
    isSuppressed: createSuppressionCheck(rows),
  };
  const found: Diagnostic[] = [];
  for (const rule of rules) {
    try {
      for await (const match of matchesOf(root, file.text.length, rule, signal)) {
        const diagnostic = toDiagnostic(source, rule, match);
        if (diagnostic) found.push(diagnostic);
      }
    } catch (error) {
      throw refused(rule, error);
    }
    if (signal.aborted) break;
  }
  return found;
}

interface Source {
  file: AnalyzedFile;
  rows: readonly string[];
  isGuess(node: SgNode): boolean;
  isSuppressed(line: number): boolean;
}

function appliesTo(rule: RuleFile, file: AnalyzedFile): boolean {
  if (!rule.in_tests && isTestFile(file.path)) return false;
  return rule.file_has.test(file.text) && !rule.file_lacks?.test(file.text);
}

/** Comments that tell linters that a line is intended. They do not excuse unsafe code. */
const suppression =
  /\b(?:noqa|nolint|NOSONAR|noinspection|eslint-disable|biome-ignore|oxlint-disable)\b|\bpylint:\s*disable/;

/** Null without an added line, on a line that is marked as intended, and where the parser did not understand the code. */
function toDiagnostic(source: Source, rule: RuleFile, match: SgNode): Diagnostic | null {
  const { file, isGuess, isSuppressed } = source;
  const anchor = (rule.anchor && match.getMatch(rule.anchor)) || match;
  const { start, end } = anchor.range();
  const line = firstOf(start.line + 1, end.line + 1, (one) => file.addedLines.has(one));
  if (line === undefined || isGuess(match) || (rule.category !== "security" && isSuppressed(line)))
    return null;
  const { fix } = rule;
  const replacement =
    fix === undefined ? null : fillIn(fix, (variable) => variableText(match, variable, file.text));
  const suggestion = replacement === null ? null : suggestionFor(source, match.range(), replacement);
  return {
    path: file.path,
    line: suggestion?.line ?? line,
    start_line: suggestion?.start_line ?? null,
    severity: rule.severity,
    category: rule.category,
    title: rule.title,
    body: rule.message.trim(),
    suggestion: suggestion?.text ?? null,
    source: `ast-grep/${rule.id}`,
  };
}

/** Whether such a comment is on a line or the line above. Each line is read once. */
export function createSuppressionCheck(rows: readonly string[]): (line: number) => boolean {
  const known = new Map<number, boolean>();
  const isComment = (line: number) => {
    const answer = known.get(line) ?? suppression.test(rows[line - 1] ?? "");
    known.set(line, answer);
    return answer;
  };
  return (line) => isComment(line) || isComment(line - 1);
}

function firstOf(first: number, last: number, holds: (line: number) => boolean): number | undefined {
  for (let line = first; line <= last; line++) if (holds(line)) return line;
  return undefined;
}

/** A place in a text; both numbers count from 0. */
interface Place {
  line: number;
  column: number;
}

/** The replacement of a match as whole lines; null unless the change added every line that it replaces. */
export function suggestionFor(
  { file, rows }: { file: Pick<AnalyzedFile, "addedLines">; rows: readonly string[] },
  { start, end }: { start: Place; end: Place },
  replacement: string,
): (Pick<Finding, "line" | "start_line"> & { text: string }) | null {
  const [first, last] = [start.line + 1, end.line + 1];
  if (firstOf(first, last, (line) => !file.addedLines.has(line)) !== undefined) return null;
  const before = rows[first - 1]?.slice(0, start.column) ?? "";
  const after = (rows[last - 1]?.slice(end.column) ?? "").replace(/\r$/, "");
  return { line: last, start_line: first === last ? null : first, text: before + replacement + after };
}

/** `$NAME` and `$$$NAME` in a text of a rule. */
const metavariable = /\$(?:\$\$)?[A-Z][A-Z0-9_]*/g;

/** The metavariables that a text of a rule names, with their signs. */
export const variablesIn = (text: string): string[] => text.match(metavariable) ?? [];

export const fillIn = (text: string, textOf: (variable: string) => string): string =>
  text.replaceAll(metavariable, textOf);

/** The text that a metavariable has matched, or into which `transform` has changed it; several nodes keep the text between them. */
export function variableText(match: SgNode, variable: string, source: string): string {
  const name = variable.replace(/^\$+/, "");
  if (!variable.startsWith("$$$")) return match.getMatch(name)?.text() ?? match.getTransformed(name) ?? "";
  const nodes = match.getMultipleMatches(name);
  const [first, last] = [nodes[0], nodes.at(-1)];
  return first && last ? source.slice(first.range().start.index, last.range().end.index) : "";
}
