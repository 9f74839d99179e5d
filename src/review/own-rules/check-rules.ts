import type { OwnRule, RuleProblem } from "./rule-files.ts";
import { type RuleMatcher, ruleLimits } from "./rule-run.ts";

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

interface Faults {
  faults: Pick<RuleProblem, "key" | "message">[];
  /** Whether the process answers nothing more. */
  isEnded: boolean;
}

async function faultsOf(matcher: RuleMatcher, rule: OwnRule, signal: AbortSignal): Promise<Faults> {
  const faults: Faults["faults"] = [];
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

/** Shows whether ast-grep accepts a rule. */
const emptyText: Trial = { text: "", key: null, isWrong: null };

function trialsOf({ examples: { right, wrong } }: OwnRule): Trial[] {
  const of = (texts: readonly string[], name: string, isWrong: boolean) =>
    texts.map((text, at) => ({ text, key: `metadata.examples.${name}[${at}]`, isWrong }));
  return [...of(right, "right", false), ...of(wrong, "wrong", true)];
}

interface Failure {
  why: string;
  /** Whether the process answers nothing more. */
  isEnded: boolean;
}

/** Whether the rule matches in a text. */
async function tryRule(
  matcher: RuleMatcher,
  { dialect, config }: Pick<OwnRule, "dialect" | "config">,
  text: string,
  signal: AbortSignal,
): Promise<boolean | Failure> {
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
