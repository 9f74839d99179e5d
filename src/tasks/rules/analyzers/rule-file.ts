import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../../core/errors.ts";
import { Category, Severity } from "../../../core/finding.ts";
import { type Grammar, grammarOf, loadAstGrep, type NapiConfig } from "../../../repo/code/languages.ts";
import { isWorthParsing } from "../../../repo/code/parse.ts";

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

/** 1-indexed lines that begin in a string or comment. Empty without a grammar, and for texts not worth parsing. */
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

const any = z.unknown().optional();

export const keys = <const Names extends string>(...names: Names[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, any])) as Record<Names, typeof any>);

/** ast-grep ignores unknown keys, so every key is named here: https://ast-grep.github.io/reference/rule.html */
export const AstGrepRule: z.ZodType<Readonly<Record<string, unknown>>> = z.lazy(() => RuleObject);
const RuleObject = z.strictObject({
  pattern: z.union([z.string(), keys("context", "selector", "strictness")]).optional(),
  kind: any,
  regex: any,
  nthChild: z
    .union([z.string(), z.number(), keys("position", "reverse").extend({ ofRule: AstGrepRule.optional() })])
    .optional(),
  range: z.strictObject({ start: keys("line", "column"), end: keys("line", "column") }).optional(),
  matches: z.union([z.string(), z.record(z.string(), z.record(z.string(), AstGrepRule))]).optional(),
  all: z.array(AstGrepRule).optional(),
  any: z.array(AstGrepRule).optional(),
  not: AstGrepRule.optional(),
  inside: z.lazy(() => Relation).optional(),
  has: z.lazy(() => Relation).optional(),
  precedes: z.lazy(() => Relation).optional(),
  follows: z.lazy(() => Relation).optional(),
});
const Relation: z.ZodType<Readonly<Record<string, unknown>>> = RuleObject.extend({
  stopBy: z.union([z.string(), AstGrepRule]).optional(),
  field: any,
});

/** Text of an ECMAScript regular expression; `^` and `$` match at line ends. */
const RegularExpression = z.string().transform((text, context) => {
  try {
    return new RegExp(text, "m");
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
});

/** Joins each paragraph into one line: in comments GitHub shows every line feed as a line break. */
function unwrapped(text: string): string {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .split("\n")
        .map((line) => line.trim())
        .join(" "),
    )
    .join("\n\n");
}

/** What to find, and the message for it: the first document of a file of `rules/<language>/`, and an entry of its list. */
export const RuleFile = z.strictObject({
  id: z.string().regex(/^[a-z]+(-[a-z0-9]+)+$/),
  language: z.enum(ruleLanguages),
  severity: Severity,
  category: Category,
  title: z.string().min(1).max(120),
  /** Paragraphs of Markdown: what happens and when, and what to do instead. Lines may be broken anywhere in the file. */
  message: z.string().min(1).transform(unwrapped),
  /** False: the rule is silent in test files, where the pattern is common and harmless. */
  in_tests: z.boolean().default(true),
  /** Regular expression that matches every file with a possible match: other files are not parsed. */
  file_has: RegularExpression,
  /** Regular expression of files in which the rule is silent: for searches that are slow in the tree. */
  file_lacks: RegularExpression.optional(),
  rule: AstGrepRule,
  constraints: z.record(z.string(), AstGrepRule).optional(),
  utils: z.record(z.string(), AstGrepRule).optional(),
  /** Metavariable whose node shows the problem; by default the whole match. */
  anchor: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/)
    .optional(),
  /** Replacement for the whole match, with its metavariables; only if it is certainly right. */
  fix: z.string().optional(),
});
export type RuleFile = z.infer<typeof RuleFile>;

export function configOf(rule: RuleFile): NapiConfig {
  return {
    rule: rule.rule,
    ...(rule.constraints && { constraints: rule.constraints }),
    ...(rule.utils && { utils: rule.utils }),
  } as NapiConfig;
}

/**
 * Loads the rules of `<folder>/<language>.json`, which `npm run docs` builds from the files of the folder: reading each of them as YAML
 * took a review process longer than everything else that it loads.
 *
 * @throws AppError `config_invalid` that names the rule and the invalid key.
 */
export async function loadRules(folder: string, language: RuleLanguage): Promise<RuleFile[]> {
  const rules: unknown[] = JSON.parse(await readFile(join(folder, `${language}.json`), "utf8"));
  return rules.map((rule, at) => parsed(`${language}.json, rule ${at + 1}`, RuleFile, rule));
}

export function parsed<Document>(file: string, schema: z.ZodType<Document>, value: unknown): Document {
  const result = schema.safeParse(value);
  if (!result.success) throw broken(file, z.prettifyError(result.error));
  return result.data;
}

export function refused({ language, id }: RuleFile, error: unknown): AppError {
  return broken(`${language}/${id}.yml`, `rule: ${(error as Error).message}`, error);
}

export function broken(file: string, why: string, cause?: unknown): AppError {
  return new AppError("config_invalid", `The rule file ${file} is invalid: ${why}`, {
    remedy: "Correct or delete the file",
    cause,
  });
}
