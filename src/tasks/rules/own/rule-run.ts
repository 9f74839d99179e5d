import { OWN_RULE } from "../../../core/finding.ts";
import { cutBytes } from "../../../core/text/cut.ts";
import { grammarOf } from "../../../repo/code/languages.ts";
import { isNestedTooDeep, isWorthParsing } from "../../../repo/code/parse.ts";
import type { AnalyzedFile, Diagnostic } from "../analyzers/analyzer.ts";
import { createSuppressionCheck, fillIn, suggestionFor } from "../analyzers/ast-grep.ts";
import type { FoundMatch, RuleAnswer, RuleTask } from "../analyzers/match-rule.ts";
import type { OwnRule, RuleProblem } from "./rule-files.ts";

export interface RuleMatcher extends Disposable {
  /**
   * Answers one task at a time. After `slow` or `died` it answers nothing more.
   *
   * @throws the signal's reason if it is aborted
   */
  ask(
    task: RuleTask,
    milliseconds: number,
    signal: AbortSignal,
  ): Promise<RuleAnswer | { type: "slow" | "died" }>;
}

export interface RuleLimits {
  /** One rule in one file; parsing one file. */
  each: number;
  all: number;
  starts: number;
  /** Matches of one rule that are reported. */
  matches: number;
}

/** A usual rule takes a millisecond in a file of usual size; `each` is for a machine that has other work as well. */
export const ruleLimits: RuleLimits = { each: 2_000, all: 60_000, starts: 10, matches: 30 };

interface FailedRule {
  rule: OwnRule;
  /** The file in which it failed. */
  path: string;
  why: string;
}

/** Matches rules in one file after the other. A rule that fails once is not run again, and the others go on. */
export class RuleRun implements Disposable {
  readonly failed: FailedRule[] = [];
  /** Files that could not be parsed. */
  readonly unread: string[] = [];
  /** Numbers of matches beyond the limit. */
  readonly beyond = new Map<OwnRule, number>();
  readonly #reported = new Map<OwnRule, number>();
  readonly #until: number;
  #left: readonly OwnRule[];
  #starts = 0;
  #process: { matcher: RuleMatcher; opened: AnalyzedFile | null } | null = null;

  readonly #deps: RuleRunDependencies;

  constructor(rules: readonly OwnRule[], deps: RuleRunDependencies) {
    this.#left = rules;
    this.#deps = deps;
    this.#until = performance.now() + deps.limits.all;
  }

  /** The rules that read a file and have not failed. */
  rulesFor(path: string): readonly OwnRule[] {
    const dialect = grammarOf(path)?.dialect;
    return this.#left.filter((rule) => rule.dialect === dialect && rule.appliesTo(path));
  }

  async diagnosticsIn(file: AnalyzedFile): Promise<Diagnostic[]> {
    if (file.addedLines.size === 0 || !isWorthParsing(file.text) || isNestedTooDeep(file.text)) return [];
    const source = sourceOf(file);
    const found: Diagnostic[] = [];
    for (const rule of this.rulesFor(file.path)) {
      const why = this.#whyNoMore();
      const answer = why === null ? await this.#ask(file, rule) : this.#fail(rule, file.path, why);
      if (answer === "unread") {
        this.unread.push(file.path);
        break;
      }
      if (answer) found.push(...this.#take(source, rule, answer));
    }
    return found;
  }

  [Symbol.dispose](): void {
    this.#process?.matcher[Symbol.dispose]();
    this.#process = null;
  }

  #whyNoMore(): string | null {
    if (performance.now() >= this.#until) return NO_TIME;
    return this.#process === null && this.#starts >= this.#deps.limits.starts ? OTHERS_FAILED : null;
  }

  #fail(rule: OwnRule, path: string, why: string): null {
    this.#left = this.#left.filter((one) => one !== rule);
    this.failed.push({ rule, path, why });
    return null;
  }

  /** Null if the rule has failed. */
  async #ask(file: AnalyzedFile, rule: OwnRule): Promise<Matches | "unread" | null> {
    const { limits, signal, startRules } = this.#deps;
    const each = () => Math.max(1, Math.min(limits.each, this.#until - performance.now()));
    if (this.#process === null) {
      this.#starts += 1;
      this.#process = { matcher: startRules(), opened: null };
    }
    const { matcher, opened } = this.#process;
    if (opened !== file) {
      const lines = [...file.addedLines].toSorted((a, b) => a - b);
      const open = { type: "open", dialect: rule.dialect, text: file.text, lines } as const;
      const answer = await matcher.ask(open, each(), signal);
      if (answer.type !== "opened") {
        this[Symbol.dispose]();
        return "unread";
      }
      this.#process.opened = file;
    }
    const { config, variables } = rule;
    const answer = await matcher.ask({ type: "match", config, variables: [...variables] }, each(), signal);
    if (answer.type === "matches") return answer;
    if (answer.type === "refused") return this.#fail(rule, file.path, answer.why);
    this[Symbol.dispose]();
    const isOver = performance.now() >= this.#until;
    const why = answer.type === "slow" ? tooSlow(limits, file.path) : died(file.path);
    return this.#fail(rule, file.path, isOver ? NO_TIME : why);
  }

  #take(source: Source, rule: OwnRule, { matches, lines }: Matches): Diagnostic[] {
    const excused = matches.filter((one) => isIntended(source, rule, one.line));
    const before = this.#reported.get(rule) ?? 0;
    const taken = matches
      .filter((one) => !excused.includes(one))
      .slice(0, Math.max(0, this.#deps.limits.matches - before));
    this.#reported.set(rule, before + taken.length);
    const left = lines - excused.length - taken.length;
    if (left > 0) this.beyond.set(rule, (this.beyond.get(rule) ?? 0) + left);
    return taken.map((match) => toDiagnostic(source, rule, match));
  }
}

type Matches = Extract<RuleAnswer, { type: "matches" }>;

interface RuleRunDependencies {
  limits: RuleLimits;
  startRules(): RuleMatcher;
  signal: AbortSignal;
}

interface Source {
  file: AnalyzedFile;
  rows: readonly string[];
  isSuppressed(line: number): boolean;
}

function sourceOf(file: AnalyzedFile): Source {
  const rows = file.text.split("\n");
  return { file, rows, isSuppressed: createSuppressionCheck(rows) };
}

/** Whether a comment says that the line is intended. The author of the change may have written it, so it does not excuse unsafe code. */
const isIntended = ({ rows, isSuppressed }: Source, { id, category }: OwnRule, line: number) =>
  category !== "security" && (isIgnored(rows, line, id) || isSuppressed(line));

const NO_TIME = "the time for the repository's own rules was over";
const OTHERS_FAILED = "too many rules before it had to be stopped";
const tooSlow = ({ each }: RuleLimits, path: string) =>
  `it took more than ${each / 1_000} seconds on ${path}, and was stopped for this review`;
const died = (path: string) => `the process that matched it ended on ${path}`;

/** ast-grep's own comment, on the line or the one above, for all rules or for those that it names. */
function isIgnored(rows: readonly string[], line: number, id: string): boolean {
  return [rows[line - 1], rows[line - 2]].some((row) => {
    const comment = /\bast-grep-ignore\b(?:\s*:\s*([\w.,\t -]+))?/.exec(row ?? "");
    const named = comment?.[1]?.split(",").map((one) => one.trim().replace(/\s.*$/, ""));
    return comment !== null && (named === undefined || named.includes(id));
  });
}

const longestTitle = 120;
/** Code of the change that may be part of a rule's words: a single name or number. A sentence could speak to a model. */
const oneWord = /^[\w.$@#]{1,60}$/;

function toDiagnostic(
  source: Source,
  rule: OwnRule,
  { start, end, line, variables }: FoundMatch,
): Diagnostic {
  const words = (text: string) =>
    fillIn(text, (variable) => {
      const code = variables[variable] ?? "";
      return oneWord.test(code) ? code : variable;
    }).trim();
  const isComplete = rule.variables.every((variable) => variable in variables);
  const fixed = rule.fix === null || !isComplete ? null : fillIn(rule.fix, (one) => variables[one] ?? "");
  const suggestion = fixed === null ? null : suggestionFor(source, { start, end }, fixed);
  const message = words(rule.message);
  const [first = ""] = message.split("\n");
  const title = first === "" ? `The rule ${rule.id} matches` : cutBytes(first, longestTitle);
  const body = [title === message ? "" : message, words(rule.note), rule.url ?? ""].filter(
    (one) => one !== "",
  );
  return {
    path: source.file.path,
    line: suggestion?.line ?? line,
    start_line: suggestion?.start_line ?? null,
    severity: rule.severity,
    category: rule.category,
    title,
    body: body.length > 0 ? body.join("\n\n") : `The repository's own rule ${rule.id} matches this line.`,
    suggestion: suggestion?.text ?? null,
    source: OWN_RULE + rule.id,
  };
}

/**
 * Tries rules without a change: ast-grep must accept each, and must match its wrong examples and none of its right ones.
 *
 * @throws the signal's reason if it is aborted
 */
export async function checkRules(
  rules: readonly OwnRule[],
  startRules: () => RuleMatcher,
  signal: AbortSignal,
): Promise<RuleProblem[]> {
  const problems: RuleProblem[] = [];
  let matcher = startRules();
  try {
    for (const rule of rules) {
      const { faults, isEnded } = await faultsOf(matcher, rule, signal);
      problems.push(...faults.map((fault) => ({ rule: rule.id, file: rule.file, line: null, ...fault })));
      if (!isEnded) continue;
      matcher[Symbol.dispose]();
      matcher = startRules();
    }
  } finally {
    matcher[Symbol.dispose]();
  }
  return problems;
}

/** `isEnded`: the process answers nothing more. */
async function faultsOf(matcher: RuleMatcher, rule: OwnRule, signal: AbortSignal) {
  const faults: Pick<RuleProblem, "key" | "message">[] = [];
  for (const { text, key, isWrong } of [emptyText, ...trialsOf(rule)]) {
    const found = await tryRule(matcher, rule, text, signal);
    // Every other text would fail as well.
    if (typeof found !== "boolean") return { faults: [...faults, { key, message: found.why }], ...found };
    if (isWrong === null || found === isWrong) continue;
    faults.push({ key, message: found ? "matches the rule, but is right" : "does not match the rule" });
  }
  return { faults, isEnded: false };
}

interface Trial {
  text: string;
  key: string | null;
  /** Null if it does not matter whether the rule matches. */
  isWrong: boolean | null;
}

const emptyText: Trial = { text: "", key: null, isWrong: null };

function trialsOf({ examples: { right, wrong } }: OwnRule): Trial[] {
  const of = (texts: readonly string[], name: string, isWrong: boolean) =>
    texts.map((text, at) => ({ text, key: `metadata.examples.${name}[${at}]`, isWrong }));
  return [...of(right, "right", false), ...of(wrong, "wrong", true)];
}

async function tryRule(
  matcher: RuleMatcher,
  { dialect, config }: Pick<OwnRule, "dialect" | "config">,
  text: string,
  signal: AbortSignal,
): Promise<boolean | { why: string; isEnded: boolean }> {
  const lines = text.split("\n").map((_, at) => at + 1);
  const opened = await matcher.ask({ type: "open", dialect, text, lines }, ruleLimits.each, signal);
  const answer =
    opened.type === "opened"
      ? await matcher.ask({ type: "match", config, variables: [] }, ruleLimits.each, signal)
      : opened;
  if (answer.type === "matches") return answer.lines > 0;
  if (answer.type === "refused") return { why: answer.why, isEnded: false };
  const why =
    answer.type === "slow"
      ? `takes more than ${ruleLimits.each / 1_000} seconds`
      : "ends the process that matches it";
  return { why, isEnded: true };
}
