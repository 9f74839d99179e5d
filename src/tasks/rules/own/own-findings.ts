import { configText } from "../../../config/load-config.ts";
import { AppError } from "../../../core/errors.ts";
import { type Finding, OWN_RULE } from "../../../core/finding.ts";
import { count } from "../../../core/text/count.ts";
import { grammarOf } from "../../../repo/code/languages.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import type { Workspace } from "../../../repo/git/workspace.ts";
import type { Diagnostic } from "../analyzers/analyzer.ts";
import { analyzedFiles, createRuleIds, findingsOf } from "../rule-matches.ts";
import { isRuleFile, parseRuleFiles, type RuleFile, type RuleProblem, whyNot } from "./rule-files.ts";
import { type RuleLimits, type RuleMatcher, RuleRun, ruleLimits } from "./rule-run.ts";

interface OwnFindings {
  /** By rule, then by path and line. */
  findings: Finding[];
  silenced: Finding[];
  /** What did not run, and why. */
  warnings: string[];
  /** The grammars for which there are rules. */
  dialects: ReadonlySet<string>;
}

interface OwnRulesDependencies {
  workspace: Workspace;
  diffs: DiffSource;
  signal: AbortSignal;
  isPrivate(path: string): boolean;
  isOff(finding: Pick<Finding, "source" | "path">): boolean;
  /** Starts a process; omitted where own rules cannot run. */
  startRules?: (() => RuleMatcher) | undefined;
  /** What is left for own rules of the review's time. */
  milliseconds?: number;
  limits?: RuleLimits | undefined;
}

/** Runs the rules of the base on the changed files. A rule that is invalid, fails or takes too long is named. */
export async function ownFindings(
  files: readonly ChangedFile[],
  deps: OwnRulesDependencies,
): Promise<OwnFindings> {
  const present = files.filter(
    ({ change, reviewable }) => reviewable && change.type !== "deleted" && grammarOf(change.path),
  );
  if (present.length === 0 || deps.startRules === undefined)
    return { findings: [], silenced: [], warnings: [], dialects: new Set() };
  const { rules, problems } = await parseRuleFiles(await filesOfBase(deps));
  const { startRules, signal, milliseconds = Infinity, limits = ruleLimits } = deps;
  const all = Math.min(limits.all, milliseconds);
  using run = new RuleRun(rules, { startRules, signal, limits: { ...limits, all } });
  const isOff = (rule: string, path: string) => deps.isOff({ source: OWN_RULE + rule, path });
  const findings = await runRules(run, present, deps);
  return {
    dialects: new Set(rules.map(({ dialect }) => dialect)),
    findings: findings.filter((one) => !deps.isOff(one)),
    silenced: findings.filter((one) => deps.isOff(one)),
    warnings: [
      ...failureLines([
        ...problems.filter(
          ({ rule }) => rule === null || present.some((one) => !isOff(rule, one.change.path)),
        ),
        ...run.failed
          .filter(({ rule, path }) => !isOff(rule.id, path))
          .map(({ rule: { id, file }, why }) => ({ rule: id, file, line: null, key: null, message: why })),
      ]),
      ...unreadLine(run.unread),
      ...beyondLine(run.beyond),
    ],
  };
}

/** Maximum lines about rules that did not run. */
const MOST_NAMED = 5;

/** The first texts, and a text for the number of the others. */
const firstOf = (texts: readonly string[], others: (count: string) => string): readonly string[] =>
  texts.length <= MOST_NAMED
    ? texts
    : [...texts.slice(0, MOST_NAMED), others(count(texts.length - MOST_NAMED, "more rule"))];

/** One line for each rule, or for each file if no rule is known. */
function failureLines(problems: readonly RuleProblem[]): readonly string[] {
  const first = new Map(problems.toReversed().map((one) => [`${one.file} ${one.rule ?? one.line}`, one]));
  const all = [...first.values()].toReversed().map((one) => {
    const what = one.rule === null ? "A rule" : `The rule ${one.rule}`;
    return `${what} of ${one.file} did not run: ${whyNot(one)}.`;
  });
  return firstOf(
    all,
    (more) => `${more} did not run; \`hunkwise config check\` names what is wrong in the files.`,
  );
}

function unreadLine(paths: readonly string[]): string[] {
  const [first] = paths;
  if (first === undefined) return [];
  const others = paths.length > 1 ? ` and ${count(paths.length - 1, "more file")}` : "";
  return [`The repository's own rules did not run on ${first}${others}: parsing failed or took too long.`];
}

function beyondLine(beyond: RuleRun["beyond"]): string[] {
  if (beyond.size === 0) return [];
  const rules = [...beyond].map(([{ id }, lines]) => `${lines.toLocaleString("en")} of ${id}`);
  const named = firstOf(rules, (more) => `those of ${more}`).join(", ");
  return [`More matches of the repository's own rules are not part of the review: ${named}.`];
}

/** The rule files of the base. What no model may see is not read, because a model reads what rules say. */
async function filesOfBase({ workspace, isPrivate }: OwnRulesDependencies): Promise<RuleFile[]> {
  const tree = await workspace.tree("base");
  const files: RuleFile[] = [];
  for (const { path, mode, oid } of tree.values()) {
    if (!isRuleFile(path) || isPrivate(path)) continue;
    files.push({ path, text: mode.startsWith("100") ? await textOf(workspace, oid) : null });
  }
  return files;
}

export async function textOf(workspace: Pick<Workspace, "readBlob">, oid: string): Promise<string | null> {
  try {
    return configText(await workspace.readBlob(oid));
  } catch (error) {
    if (error instanceof AppError && error.code === "too_large") return null;
    throw error;
  }
}

/** Files read at a time; their whole texts are in memory. */
const BATCH = 16;

async function runRules(
  run: RuleRun,
  files: readonly ChangedFile[],
  { workspace, diffs }: OwnRulesDependencies,
) {
  const idOf = createRuleIds();
  // A rule is stopped where it is too slow. What the change adds to a file is the easiest to make slow, so small additions come first.
  const inOrder = files.toSorted((a, b) => (a.change.additions ?? 0) - (b.change.additions ?? 0));
  const findings: Finding[] = [];
  for (let at = 0; at < inOrder.length; at += BATCH) {
    const batch = inOrder.slice(at, at + BATCH).filter(({ change }) => run.rulesFor(change.path).length > 0);
    const read = await analyzedFiles(batch, workspace, diffs);
    const found: Diagnostic[] = [];
    for (const file of read) found.push(...(await run.diagnosticsIn(file)));
    findings.push(...(await findingsOf(found, read, idOf)));
  }
  const order = new Map(files.map(({ change }, index) => [change.path, index]));
  const placeOf = ({ path }: Finding) => order.get(path) ?? 0;
  return findings
    .map((finding) => ({ ...finding, confidence: CONFIDENCE }))
    .toSorted((a, b) => placeOf(a) - placeOf(b) || a.line - b.line);
}

/** How often these rules are right is not known. */
const CONFIDENCE = 0.5;
