import { z } from "zod";
import { Severity } from "../core/finding.ts";
import { createPathMatcher } from "../repo/diff/paths.ts";
import { builtInRules } from "./built-in-rules.ts";

/** Longest name of a named rule. */
const mostNameCharacters = 60;
const mostRules = 50;
/** Most characters of the definitions together: every loop of a review reads them. */
const mostCharacters = 24_000;

const patterns = z.array(z.string().min(1).max(500)).min(1).max(100);
const example = z.string().min(1).max(2_000);

export const RuleDefinition = z.strictObject({
  what: z
    .string()
    .min(1)
    .max(2_000)
    .describe("What the code must or must not do, as an instruction to the model."),
  where: patterns
    .default(["**"])
    .describe("gitignore-style patterns of the files to which the rule applies."),
  severity: Severity.default("medium").describe("Severity of its findings. No model changes it."),
  blocking: z
    .boolean()
    .default(false)
    .describe(
      "The check run concludes with `failure` while a finding of the rule is open, whatever `check` says.",
    ),
  examples: z
    .strictObject({
      right: z.array(example).max(5).default([]).describe("Code that keeps the rule."),
      wrong: z.array(example).max(5).default([]).describe("Code that breaks the rule."),
    })
    .prefault({})
    .describe("Code for the model; `hunkwise config check` tries it."),
});

/** A value of the key `rules`: an analyzer rule or a named rule is off, or the definition of a named rule. */
export const RuleSetting = z.union([
  z.literal("off"),
  z.strictObject({ off: z.array(z.string().min(1)).min(1).describe("gitignore-style patterns") }),
  RuleDefinition,
]);
export type RuleSetting = z.infer<typeof RuleSetting>;
type RuleDefinition = z.infer<typeof RuleDefinition>;

type Rules = Readonly<Record<string, RuleSetting>>;

/** A rule that the maintainers define in the configuration. */
export interface NamedRule extends RuleDefinition {
  name: string;
}

export const isDefinition = (setting: RuleSetting): setting is RuleDefinition =>
  typeof setting === "object" && "what" in setting;

/** The rules that a configuration defines, in its order; those that are off are not among them. */
export const namedRules = ({ rules }: { rules: Rules }): NamedRule[] =>
  Object.entries(rules).flatMap(([name, setting]) => (isDefinition(setting) ? [{ name, ...setting }] : []));

/** Names of the rules whose open findings turn a check run red. */
export const blockingRules = (config: { rules: Rules }): ReadonlySet<string> =>
  new Set(namedRules(config).flatMap(({ name, blocking }) => (blocking ? [name] : [])));

/** The policy for check runs: the key `check`, and the blocking rules. */
export const checkPolicy = <Check>(config: { check: Check; rules: Rules }) => ({
  ...config.check,
  blocking: blockingRules(config),
});

/** Returns a check whether a rule applies to a file. One with a path that is too long to be matched is in the scope of every rule. */
export function createScope({ where }: Pick<NamedRule, "where">): (path: string) => boolean {
  const matches = createPathMatcher(where, true);
  return (path) => matches(path).matched;
}

/** Checks what concerns several settings together, and the names of definitions. */
export function checkRules(rules: Rules, context: z.RefinementCtx): void {
  const defined = namedRules({ rules });
  const refuse = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
  if (defined.length > mostRules) refuse([], `defines ${defined.length} rules; the limit is ${mostRules}`);
  const characters = defined.reduce((sum, rule) => sum + charactersOf(rule), 0);
  if (characters > mostCharacters)
    refuse([], `has definitions of ${characters} characters together; the limit is ${mostCharacters}`);
  for (const { name } of defined) {
    const why = whyNoName(name);
    if (why !== null) refuse([name], why);
  }
}

const charactersOf = ({ name, what, where, examples: { right, wrong } }: NamedRule) =>
  [name, what, ...where, ...right, ...wrong].reduce((sum, text) => sum + text.length, 0);

function whyNoName(name: string): string | null {
  if (builtInRules().has(name))
    return "is the name of a built-in rule or analyzer, which can be switched off but not defined; choose another name";
  return name.length <= mostNameCharacters && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)
    ? null
    : `is not a rule name: use lower-case letters, digits and single hyphens between them, at most ${mostNameCharacters} characters`;
}
