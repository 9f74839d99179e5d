import { setImmediate } from "node:timers/promises";
import { distance } from "fastest-levenshtein";
import { z } from "zod";
import type { FileProblem } from "../../../config/load-config.ts";
import { type ConfigProblem, parseDocuments, tooLarge, wholeFile } from "../../../config/parse-config.ts";
import { Category, Severity } from "../../../core/finding.ts";
import { dialectNamed } from "../../../repo/code/languages.ts";
import { createPathMatcher, patternFault } from "../../../repo/diff/paths.ts";
import { variablesIn } from "../analyzers/ast-grep.ts";
import { AstGrepRule, keys } from "../analyzers/rule-file.ts";
import { categoryOf } from "../tool-results/tool-findings.ts";

export const ownRulesFolder = ".github/hunkwise/rules";

/** Whether a path is a file of own rules: directly in the folder. */
export const isRuleFile = (path: string): boolean =>
  path.startsWith(`${ownRulesFolder}/`) && /^[^/]+\.ya?ml$/s.test(path.slice(ownRulesFolder.length + 1));

/** Maximum files and rules of a repository; the rest does not run. */
const most = { files: 50, rules: 200 };
/** ast-grep reads rules recursively. */
const deepest = 60;

const shortName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$/;
const Transform = z.looseObject({
  replace: keys("source", "replace", "by").optional(),
  substring: keys("source", "startChar", "endChar").optional(),
  convert: keys("source", "toCase", "separatedBy").optional(),
});
/** Braces have no meaning in patterns of gitignore, so their alternatives are written out. */
const Glob = z
  .string()
  .min(1)
  .max(200)
  .refine((glob) => !/^[!#]/.test(glob), "must not begin with ! or #")
  .transform((glob, context) => {
    const all = withoutBraces(glob.replace(/^\.\//, ""));
    const fault = all.map((one) => patternFault(one, false)).find((one) => one !== null);
    if (all.length <= mostAlternatives && fault === undefined) return all;
    const message = fault
      ? `can match no file: it ${fault}`
      : `must have at most ${mostAlternatives} alternatives`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
const mostAlternatives = 64;
const Globs = z
  .array(Glob)
  .max(50)
  .transform((all) => all.flat());
const Examples = z.array(z.string().max(10_000)).max(20).default([]);

/** A document of a rule file, in ast-grep's format: https://ast-grep.github.io/reference/yaml.html */
const RuleDocument = z.strictObject({
  id: z.string().regex(shortName, "must be at most 60 letters, digits, dots, hyphens and underscores"),
  language: z.string().max(40),
  rule: AstGrepRule,
  constraints: z.record(z.string(), AstGrepRule).optional(),
  utils: z.record(z.string(), AstGrepRule).optional(),
  transform: z
    .record(z.string(), z.union([z.string(), Transform]))
    .refine((all) => Object.values(all).every(isPlain), "must only use replace, substring and convert")
    .optional(),
  message: z.string().max(1_000).optional(),
  note: z.string().max(4_000).nullish(),
  severity: z.enum(["hint", "info", "warning", "error", "off"]).default("hint"),
  files: Globs.optional(),
  ignores: Globs.optional(),
  url: z.string().max(500).optional(),
  fix: z.string().max(4_000).optional(),
  /** ast-grep leaves it to its users. The keys below are ours. */
  metadata: z
    .looseObject({
      severity: Severity.optional(),
      category: Category.optional(),
      examples: z.strictObject({ right: Examples, wrong: Examples }).optional(),
    })
    .superRefine((given, context) => {
      for (const key of Object.keys(given)) {
        const near = ["severity", "category", "examples"].find((it) => distance(it, key.toLowerCase()) <= 2);
        const message = `is not a known key (did you mean ${near}?)`;
        if (near && near !== key) context.addIssue({ code: "custom", path: [key], message });
      }
    })
    .optional(),
});
type RuleDocument = z.infer<typeof RuleDocument>;

/** The patterns of a glob with `{a,b}`, the inner braces first; a few more than the maximum if there are too many. */
function withoutBraces(glob: string): string[] {
  const done: string[] = [];
  const open = [glob];
  while (open.length > 0 && done.length + open.length <= mostAlternatives) {
    const next = open.pop() ?? "";
    const braces = /\{([^{}]*)\}/.exec(next);
    if (braces === null) done.push(next);
    else open.push(...(braces[1] ?? "").split(",").map((one) => next.replace(braces[0], () => one)));
  }
  return [...done, ...open];
}

/** Only the command line of ast-grep knows rewriters. */
function isPlain(transform: string | Record<string, unknown>): boolean {
  const names = typeof transform === "string" ? [transform.replace(/\(.*$/s, "")] : Object.keys(transform);
  return names.length === 1 && /^(?:replace|substring|convert)$/.test(names[0]?.trim() ?? "");
}

const onlyOfAstGrep = new Set(["rewriters", "labels"]);

const severityOf = { error: "high", warning: "medium", info: "low", hint: "low" } as const;

export interface OwnRule {
  id: string;
  file: string;
  /** The grammar of the files that it reads. */
  dialect: string;
  config: Readonly<Record<string, unknown>>;
  severity: Severity;
  category: Category;
  message: string;
  note: string;
  url: string | null;
  fix: string | null;
  /** The metavariables of its texts, with their signs. */
  variables: readonly string[];
  examples: { right: readonly string[]; wrong: readonly string[] };
  /** gitignore-style patterns of the only files that it reads, and of files that it does not read. */
  files: readonly string[] | null;
  ignores: readonly string[] | null;
  appliesTo(path: string): boolean;
}

/** A problem that keeps a rule, or a whole file of rules, from running. */
export interface RuleProblem extends FileProblem {
  /** The id of the rule; null if it is unknown. */
  rule: string | null;
}

/** A file of rules; text is null if it is not a regular file, or too large. */
export interface RuleFile {
  path: string;
  text: string | null;
}

/** Parses files of rules. A rule with a problem is left out, and the others stay. Never throws. */
export async function parseRuleFiles(files: readonly RuleFile[]) {
  const rules = new Map<string, OwnRule>();
  const problems: RuleProblem[] = [];
  for (const [at, { path, text }] of files.entries()) {
    const refuse = (rule: string | null, ...found: ConfigProblem[]) =>
      problems.push(...found.map((problem) => ({ rule, file: path, ...problem })));
    const why = whyUnread(at, text);
    if (why !== null) refuse(null, wholeFile(why));
    for (const { value, ...parsed } of why === null ? parseDocuments(text ?? "", RuleDocument) : []) {
      const rule = parsed.ok ? ownRule(path, parsed.config, rules) : parsed.problems.map(inAstGrepsWords);
      if (Array.isArray(rule)) refuse(idOf(value), ...rule);
      else if (rule !== null) rules.set(rule.id, rule);
    }
    // Parsing each file may take time, and the process has other work.
    await setImmediate();
  }
  return { rules: [...rules.values()], problems };
}

function whyUnread(at: number, text: string | null): string | null {
  if (at >= most.files) return `is one of more than ${most.files} files of rules`;
  return text === null ? `is not a regular file, or ${tooLarge.message}` : null;
}

function idOf(value: unknown): string | null {
  const id = typeof value === "object" && value !== null && "id" in value ? value.id : null;
  return typeof id === "string" && shortName.test(id) ? id : null;
}

const inAstGrepsWords = (problem: ConfigProblem): ConfigProblem =>
  onlyOfAstGrep.has(problem.key ?? "")
    ? { ...problem, message: "is a key of ast-grep that only its command line honors" }
    : problem;

/** The rule, or why it cannot run beside the others; null if it is off. */
function ownRule(
  file: string,
  document: RuleDocument,
  others: ReadonlyMap<string, OwnRule>,
): OwnRule | ConfigProblem[] | null {
  const { id, language, rule, constraints, utils, transform, metadata, files, ignores } = document;
  const { message = "", fix = null, url = null } = document;
  const note = document.note ?? "";
  if (document.severity === "off") return null;
  const dialect = dialectNamed(language);
  if (dialect === null)
    return [wholeFile(`needs the language ${JSON.stringify(language)}, which is not installed`)];
  const config = plainCopy({ rule, constraints, utils, transform });
  if (config === null) return [wholeFile("refers to itself")];
  if (depthOf(config) > deepest) return [wholeFile(`is nested deeper than ${deepest} levels`)];
  const known = others.get(id);
  if (known) return [{ line: null, key: "id", message: `occurs twice: a rule of ${known.file} has it` }];
  if (others.size >= most.rules) return [wholeFile(`is one of more than ${most.rules} rules`)];
  const severity = metadata?.severity ?? severityOf[document.severity];
  const isIncluded = files && createPathMatcher(files);
  const isIgnored = ignores && createPathMatcher(ignores);
  return {
    id,
    file,
    dialect,
    config,
    severity,
    message,
    note,
    url,
    fix,
    category: metadata?.category ?? categoryOf({ severity }),
    variables: [...new Set([message, note, fix ?? ""].flatMap(variablesIn))],
    examples: metadata?.examples ?? { right: [], wrong: [] },
    files: files ?? null,
    ignores: ignores ?? null,
    appliesTo: (path) => (isIncluded?.(path).matched ?? true) && !isIgnored?.(path).matched,
  };
}

/** Without aliases, by which a value may contain itself: then null. */
function plainCopy(value: Record<string, unknown>): Record<string, unknown> | null {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return null;
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** A problem in words: "line 3: color is not a known key". */
export const whyNot = ({ key, message, line }: ConfigProblem): string =>
  `${line === null ? "" : `line ${line}: `}${key === null ? "" : `${key} `}${message}`;
