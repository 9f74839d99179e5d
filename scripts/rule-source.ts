import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { broken, parsed, RuleFile, type RuleLanguage } from "../src/tasks/rules/analyzers/rule-file.ts";

/** Rules in their source format. Reviews read the lists generated from them. */

const ValidCase = z.strictObject({
  name: z.string(),
  /** The code has types, which the JavaScript grammar cannot parse. */
  typescript: z.literal(true).optional(),
  code: z.string(),
});

const InvalidCase = ValidCase.extend({
  /** 1-indexed line of `code` with the expected finding. */
  line: z.int().min(1),
  /** The complete `code` with the suggestion applied; required exactly for rules with a `fix`. */
  fixed: z.string().optional(),
});

/** The test cases of a rule: the second document of its file. Only tests read it. */
export const RuleCases = z.strictObject({
  valid: z.array(ValidCase).min(1),
  invalid: z.array(InvalidCase).min(1),
});
export type RuleCases = z.infer<typeof RuleCases>;

/**
 * Reads `<folder>/<language>/*.yml` in the order of their names. ast-grep reports errors in a rule only on use.
 * @throws AppError `config_invalid` with the file and the invalid key.
 */
export async function readRules(folder: string, language: RuleLanguage): Promise<RuleFile[]> {
  return (await readBoth(folder, language)).map(({ rule }) => rule);
}

/** The text of `<folder>/<language>.json`. */
export async function ruleList(folder: string, language: RuleLanguage): Promise<string> {
  const rules = (await readBoth(folder, language)).map(({ source }) => JSON.stringify(source));
  return `[\n${rules.join(",\n")}\n]\n`;
}

async function readBoth(folder: string, language: RuleLanguage) {
  const names = (await readdir(join(folder, language))).filter((name) => name.endsWith(".yml")).sort();
  return Promise.all(names.map((name) => readRule(join(folder, language, name), language)));
}

async function readRule(file: string, language: RuleLanguage): Promise<{ source: unknown; rule: RuleFile }> {
  // Skips the cases, which are more than half of a file.
  const source = await readDocument(file, 0);
  const rule = parsed(file, RuleFile, source);
  if (rule.id !== basename(file, ".yml")) throw broken(file, `id: "${rule.id}" is not the file's name`);
  if (rule.language !== language) throw broken(file, `language: "${rule.language}" is not the folder's name`);
  return { source, rule };
}

/** The test cases of a rule. */
export async function readCases(folder: string, { language, id }: RuleFile): Promise<RuleCases> {
  const file = join(folder, language, `${id}.yml`);
  return parsed(file, RuleCases, await readDocument(file, 1));
}

async function readDocument(file: string, index: number): Promise<unknown> {
  const documents = (await readFile(file, "utf8")).split(/^---$/m);
  try {
    return parse(documents[index] ?? "");
  } catch (error) {
    throw broken(file, (error as Error).message, error);
  }
}
