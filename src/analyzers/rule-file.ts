import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { Category, Severity } from "../finding.ts";
import type { NapiConfig } from "../syntax/grammars.ts";
import { type RuleLanguage, ruleLanguages } from "./languages.ts";

const AstGrepRule = z.record(z.string(), z.unknown());

/** Text of an ECMAScript regular expression; `^` and `$` stand for the ends of lines. */
const RegularExpression = z.string().transform((text, context) => {
  try {
    return new RegExp(text, "m");
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
});

const ValidCase = z.strictObject({ name: z.string(), code: z.string() });

const InvalidCase = z.strictObject({
  name: z.string(),
  /** 1-indexed line of `code` that the finding must stand on. */
  line: z.int().min(1),
  code: z.string(),
  /** The whole `code` after the suggestion was applied; given exactly for rules with a `fix`. */
  fixed: z.string().optional(),
});

/** Each paragraph on one line: in comments GitHub shows every line feed as a line break. */
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

/** What to find, and what to say about it: the first document of a file of `rules/<language>/`. */
export const RuleFile = z.strictObject({
  id: z.string().regex(/^[a-z]+(-[a-z0-9]+)+$/),
  language: z.enum(ruleLanguages),
  severity: Severity,
  category: Category,
  title: z.string().min(1).max(120),
  /** Paragraphs of Markdown: what happens and when, what to do instead. Lines may be broken anywhere in the file. */
  message: z.string().min(1).transform(unwrapped),
  /** False: the rule is silent in test files, where the pattern is common and harmless. */
  in_tests: z.boolean().default(true),
  /** Expression that a file matches wherever the rule can find something: most files need no parser then. */
  file_has: RegularExpression,
  /** Expression of files in which the rule is silent: what a search of the whole tree would find slowly. */
  file_lacks: RegularExpression.optional(),
  rule: AstGrepRule,
  constraints: z.record(z.string(), AstGrepRule).optional(),
  utils: z.record(z.string(), AstGrepRule).optional(),
  /** Metavariable whose node shows the problem; by default the whole match. */
  anchor: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/)
    .optional(),
  /** Replacement for the whole match with its metavariables; only where it is certain to be right. */
  fix: z.string().optional(),
});
export type RuleFile = z.infer<typeof RuleFile>;

/** The cases that prove a rule: the second document of its file. Only tests read it. */
export const RuleCases = z.strictObject({
  valid: z.array(ValidCase).min(1),
  invalid: z.array(InvalidCase).min(1),
});
export type RuleCases = z.infer<typeof RuleCases>;

/** The rule as ast-grep takes it. */
export function configOf(rule: RuleFile): NapiConfig {
  return {
    rule: rule.rule,
    ...(rule.constraints && { constraints: rule.constraints }),
    ...(rule.utils && { utils: rule.utils }),
  } as NapiConfig;
}

/**
 * Reads `<folder>/<language>/*.yml` in the order of their names. What ast-grep says of a rule shows when it is used.
 * @throws AppError `config_invalid` that names the file and the key at fault.
 */
export async function loadRules(folder: string, language: RuleLanguage): Promise<RuleFile[]> {
  const names = (await readdir(join(folder, language))).filter((name) => name.endsWith(".yml")).sort();
  return Promise.all(names.map((name) => loadRule(join(folder, language, name), language)));
}

async function loadRule(file: string, language: RuleLanguage): Promise<RuleFile> {
  // The cases are more than half of a file, and a parser of YAML is slow while it is not warm.
  const rule = await readDocument(file, 0, RuleFile);
  if (rule.id !== basename(file, ".yml")) throw broken(file, `id: "${rule.id}" is not the file's name`);
  if (rule.language !== language) throw broken(file, `language: "${rule.language}" is not the folder's name`);
  return rule;
}

/** The cases of a rule, which tests run. */
export function loadCases(folder: string, { language, id }: RuleFile): Promise<RuleCases> {
  return readDocument(join(folder, language, `${id}.yml`), 1, RuleCases);
}

async function readDocument<Document>(
  file: string,
  index: number,
  schema: z.ZodType<Document>,
): Promise<Document> {
  const documents = (await readFile(file, "utf8")).split(/^---$/m);
  const parsed = schema.safeParse(readYaml(file, documents[index] ?? ""));
  if (!parsed.success) throw broken(file, z.prettifyError(parsed.error));
  return parsed.data;
}

/** What ast-grep had to say against a rule. */
export function refused({ language, id }: RuleFile, error: unknown): AppError {
  return broken(`${language}/${id}.yml`, `rule: ${(error as Error).message}`, error);
}

function readYaml(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw broken(file, (error as Error).message, error);
  }
}

function broken(file: string, why: string, cause?: unknown): AppError {
  return new AppError("config_invalid", `The rule file ${file} is broken: ${why}`, {
    remedy: "Mend or delete the file",
    cause,
  });
}
