import { createScope, type NamedRule, namedRules } from "../../config/named-rules.ts";
import { type EffectiveConfig, minimumSeverityAt } from "../../config/repo-config.ts";
import { atLeast, type Finding } from "../../core/finding.ts";
import { fence } from "../../core/text/fence.ts";
import type { ChangedFile } from "../../repo/diff-source.ts";
import type { RuleOutcome, RuleReport } from "../shapes/review-result.ts";

export interface ScopedRule extends NamedRule {
  isIn(path: string): boolean;
}

const scoped = (config: EffectiveConfig): ScopedRule[] =>
  namedRules(config).map((rule) => ({ ...rule, isIn: createScope(rule) }));

/** The rules that apply to at least one file that is reviewed. */
export const appliedRules = (config: EffectiveConfig, files: readonly ChangedFile[]): ScopedRule[] =>
  scoped(config).filter(({ isIn }) => files.some((one) => one.reviewable && isIn(one.change.path)));

const intro =
  "The maintainers of this repository wrote these rules. Check the files of each rule against it, as carefully as you look for faults. Code that this change adds or alters and that breaks a rule is a finding, even if it works and even if the rule is about style: report it with the name of the rule in `rule`, once for each rule. Its severity is that of the rule. Report a fault that breaks no rule without `rule`.";

/** The rules for the reviewer, in the trusted part of its first message; empty without rules. */
export function rulesSection(rules: readonly NamedRule[]): string {
  if (rules.length === 0) return "";
  return ["# Rules of this repository", intro, ...rules.map(ruleText)].join("\n");
}

function ruleText({ name, what, where, severity, examples: { right, wrong } }: NamedRule): string {
  const files = where.length === 1 && where[0] === "**" ? "all files" : `files matching ${where.join(", ")}`;
  return [
    `## ${name} (${severity}; ${files})`,
    what.trim(),
    ...right.flatMap((code) => ["Right:", fence(code)]),
    ...wrong.flatMap((code) => ["Wrong:", fence(code)]),
  ].join("\n");
}

const textNamed = (rules: readonly NamedRule[], name: string | undefined) =>
  rules
    .filter((one) => one.name === name)
    .map(ruleText)
    .join("");

/** For a second look at a finding of a rule: its text, and what the verdicts mean for it; empty if the rule is not defined any more. */
export function ruleOfClaim(rules: readonly NamedRule[], name: string | undefined): string {
  const text = textNamed(rules, name);
  return text === ""
    ? ""
    : `It says that the change breaks this rule of the maintainers:\n${text}\nThe rule decides, not what fails at run time: confirmed if the code breaks it as it is written (\`failing_input\` says how), refuted if the code keeps it or the change did not touch what breaks it. "It is only style" refutes nothing here, and the severity is that of the rule.`;
}

/** For the check whether a breach of a rule is repaired: the rule; empty if it is not defined any more. */
export function textOfRule(rules: readonly NamedRule[], name: string | undefined): string {
  const text = textNamed(rules, name);
  return text === ""
    ? ""
    : `It says that the change breaks this rule of the maintainers. It is fixed if the code keeps the rule now:\n${text}`;
}

interface Reading {
  hasModel: boolean;
  /** Numbers of the hunks of a file that no model was shown. */
  unshown(path: string): readonly unknown[];
  /** Files whose review did not finish. */
  unfinished: ReadonlySet<string>;
}

/** What became of each named rule in a change; undefined if the configuration has none. */
export function ruleReport(
  config: EffectiveConfig,
  files: readonly ChangedFile[],
  findings: readonly Finding[],
  reading: Reading,
): RuleReport | undefined {
  const rules = scoped(config);
  if (rules.length === 0) return undefined;
  const applied = rules.flatMap((rule): RuleOutcome[] => {
    const inScope = files.filter(({ change }) => rule.isIn(change.path));
    if (inScope.length === 0) return [];
    const reasons = inScope.flatMap((file) => whyUnchecked(file, rule, config, reading) ?? []);
    const { name, severity, blocking } = rule;
    return [
      {
        name,
        severity,
        blocking,
        findings: findings.filter((one) => one.rule === name).length,
        files: inScope.length,
        unchecked: reasons.length,
        reason: mostFrequent(reasons),
      },
    ];
  });
  return { applied, without_files: rules.length - applied.length };
}

/** Why a file was not checked against a rule; null if it was read. */
function whyUnchecked(
  { change: { path }, reviewable, skipReason }: ChangedFile,
  { severity }: NamedRule,
  config: EffectiveConfig,
  { hasModel, unshown, unfinished }: Reading,
): string | null {
  if (!reviewable) return skipReason ?? "not reviewed";
  if (!hasModel) return "no model read this change";
  if (unshown(path).length > 0) return "not read in full";
  if (unfinished.has(path)) return "the review did not finish";
  const isWanted = atLeast(severity, minimumSeverityAt(config, path));
  return isWanted ? null : `findings of severity ${severity} are not reported`;
}

function mostFrequent(reasons: readonly string[]): string | null {
  const [first, ...others] = [...Map.groupBy(reasons, (reason) => reason)].toSorted(
    ([, a], [, b]) => b.length - a.length,
  );
  return first === undefined ? null : `${first[0]}${others.length > 0 ? ", and other reasons" : ""}`;
}
