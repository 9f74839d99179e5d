import type { Rejection, ReportAnswer, ReportedFinding, ReportPort } from "../../../agent/tools/tool.ts";
import { mildestMinimum } from "../../../config/repo-config.ts";
import { atLeast, type Finding, type Severity } from "../../../core/finding.ts";
import { unescapeAsIn } from "../../../core/text/escape-invisible.ts";
import { WITHHELD } from "../../../repo/diff/filter.ts";
import { showPath } from "../../../repo/show.ts";
import { type Anchor, type AnchorFile, resolveAnchor } from "../../anchor/anchor.ts";
import { createIdentities, isSameFinding } from "../../anchor/fingerprint.ts";
import { withCheckedSuggestion, withoutSuggestion } from "../../anchor/suggestion/check-suggestion.ts";
import { symbolAt } from "../../anchor/symbols.ts";
import type { ReviewRun } from "../../loop/review-run.ts";
import type { ScopedRule } from "../../rules/named-rules.ts";
import { createRuleMatchAnswers, type RuleMatchAnswers } from "../../rules/rule-matches.ts";

interface CollectorOptions {
  anchorFile(path: string): Promise<AnchorFile | undefined>;
  /** Why the review may not finish yet, for the model; null if it may. */
  refuseToFinish(): string | null;
  /** Records the answers to rule matches; omitted if there are none to answer. */
  answers?: RuleMatchAnswers;
  minimumSeverity: Severity;
  /** The named rules that a finding may be of; default: none. */
  rules?: readonly (Pick<ScopedRule, "name" | "severity" | "where" | "isIn"> & { blocking?: boolean })[];
  isPrivate(path: string): boolean;
  /** Whether an earlier review has read a finding's code and all of its evidence; default: no. */
  isOldNews?(finding: Finding): Promise<boolean>;
  onFinding(finding: Finding): void;
}

interface FindingCollector extends ReportPort {
  findings(): readonly Finding[];
  /** Findings that were not kept, because an earlier review has read their code. */
  readBefore(): readonly Finding[];
  summary(): string | null;
}

/** Anchors, checks and keeps the findings that the model reports. Nothing accepted here is dropped later without a reason. */
export function createFindingCollector(options: CollectorOptions): FindingCollector {
  const { answers = createRuleMatchAnswers([]), rules = [] } = options;
  const findings: Finding[] = [];
  const readBefore: Finding[] = [];
  const identify = createIdentities();
  let summary: string | null = null;

  async function report(stated: ReportedFinding, candidates: readonly string[] = []): Promise<ReportAnswer> {
    const given = showPath(stated.path);
    const file = await options.anchorFile(stated.path);
    // An answer quotes lines of both sides, so both paths of a renamed file must be public.
    if ([stated.path, ...(file?.paths ?? [])].some(options.isPrivate))
      return { ok: false, reason: `'${given}' is ${WITHHELD}`, isWithheld: true };
    if (!file)
      return {
        ok: false,
        reason: `no such file '${given}' on either side of the change; use a path as changed_files gives it`,
      };
    const rule = rules.find(({ name }) => name === stated.rule);
    const why = whyNotOfRule(stated, rule, file) ?? answers.whyNot(candidates, file.path);
    if (why !== null) return { ok: false, reason: why };
    const reported = underRule(stated, rule);
    if (!rule?.blocking && !atLeast(reported.severity, options.minimumSeverity)) {
      const whose = rule ? `The severity of the rule ${rule.name} is` : "The model calls it";
      const wanted = `this repository wants findings of severity ${options.minimumSeverity} and above only`;
      const reason = `${whose} ${reported.severity}, and ${wanted}.`;
      answers.reject(candidates.map((candidate) => ({ candidate, reason })));
      return {
        ok: true,
        finding: null,
        note: `${wanted}. Do not report it again`,
      };
    }
    const resolved = resolveAnchor(file, reported);
    if (!resolved.ok) return resolved;
    return keep(reported, file, resolved.anchor, candidates);
  }

  async function keep(
    reported: ReportedFinding,
    file: AnchorFile,
    anchor: Anchor,
    candidates: readonly string[],
  ): Promise<ReportAnswer> {
    const anchored = anchoredAt(anchor, { ...reported, path: file.path });
    const symbol = await symbolAt(file.path, file.lines[anchor.side], anchor.line);
    // By the name at the merge base: if a later push renames the file, the finding keeps its fingerprint.
    const id = identify({ ...anchored, symbol, path: file.paths.at(-1) ?? file.path });
    const checked = await withCheckedSuggestion(anchored, file);
    const finding: Finding = {
      ...checked.finding,
      id,
      symbol,
      source: "model",
      verification: "unverified",
      verification_note: null,
      places: answers.placesBeside(candidates, file.path),
    };
    if (await isOld(finding)) return notRaised(finding);
    answers.report(candidates, finding);
    const why = reported.suggestion && (anchor.asStated ? checked.note : FOR_OTHER_LINES);
    const isProse = reported.suggestion !== null && finding.suggestion === null;
    const outside = file.hunkAt(finding.side, finding.line) === undefined;
    // GitHub only accepts suggestions on lines that the diff shows at head.
    const isOfferable = finding.side === "RIGHT" && !outside;
    const onSuggestion = [why, isProse && isOfferable && TRY_AGAIN];
    const place = findings.findIndex((one) => one.id === id || isSameFinding(one, finding));
    if (place >= 0) return keptAlready(place, finding, isProse ? onSuggestion : []);
    findings.push(finding);
    options.onFinding(finding);
    return { ok: true, finding, note: joined([anchor.note, ...onSuggestion, outside && outsideNote(file)]) };
  }

  const isOld = async (finding: Finding) =>
    !atLeast(finding.severity, "high") &&
    !rules.some(({ name, blocking }) => blocking && name === finding.rule) &&
    (await options.isOldNews?.(finding)) === true;

  function notRaised(finding: Finding): ReportAnswer {
    if (!readBefore.some((one) => one.id === finding.id || isSameFinding(one, finding)))
      readBefore.push(finding);
    return { ok: true, finding: null, note: READ_BEFORE };
  }

  /** A repeated finding replaces the first one only if it adds a suggestion or a rule. */
  function keptAlready(place: number, again: Finding, notes: readonly Note[]): ReportAnswer {
    const kept = findings[place];
    const addsRule = kept?.rule === undefined && again.rule !== undefined;
    const addsSuggestion = kept?.suggestion === null && again.suggestion !== null;
    if (!kept || !(addsRule || addsSuggestion)) {
      return { ok: true, finding: kept ?? again, note: joined(["already reported; kept once", ...notes]) };
    }
    const { rule, severity, reached } = kept;
    const finding = rule === undefined ? again : { ...again, rule, severity, reached };
    findings[place] = finding;
    const added = addsRule ? `of the rule ${again.rule}` : "with this suggestion";
    return { ok: true, finding, note: `already reported; now ${added}` };
  }

  async function finish(text: string, rejected: readonly Rejection[] = []): ReturnType<ReportPort["finish"]> {
    const reason = answers.reject(rejected) ?? options.refuseToFinish();
    if (reason !== null) return { ok: false, reason };
    summary = text;
    return { ok: true };
  }

  return {
    report,
    finish,
    findings: () => findings,
    readBefore: () => readBefore,
    summary: () => summary,
  };
}

/** The finding with the severity of its rule, about which the maintainers decide. */
const underRule = (
  reported: ReportedFinding,
  rule: Pick<ScopedRule, "severity"> | undefined,
): ReportedFinding => (rule ? { ...reported, severity: rule.severity, reached: true } : reported);

/** Why this is no finding of the rule that it names, for the model; null if it names none, or may be of it. */
function whyNotOfRule(
  { rule: named }: ReportedFinding,
  rule: Pick<ScopedRule, "where" | "isIn"> | undefined,
  { path }: AnchorFile,
): string | null {
  if (named === undefined) return null;
  if (rule === undefined)
    return `no rule of this repository is named '${named.slice(0, 60)}'; report the finding without \`rule\` if it is a fault`;
  return rule.isIn(path)
    ? null
    : `the rule ${named} applies to files matching ${rule.where.join(", ")}, not to ${showPath(path)}; report it there, or without \`rule\` if it is a fault of its own`;
}

const READ_BEFORE =
  "read by an earlier review; only high and critical problems, or problems with evidence in new code, are raised there. Do not report it again";

const MEANT_OTHERWISE = "it may be meant for other lines";
const FOR_OTHER_LINES = `the suggestion becomes prose, because ${MEANT_OTHERWISE}`;
const TRY_AGAIN = "report the same finding again, with the same title, to replace it by one that fits";
const outsideNote = ({ hidden }: AnchorFile) =>
  `${hidden ?? "the line is outside the diff"}, so it is posted on the file or in the summary`;

type Note = string | null | false;
const joined = (notes: readonly Note[]) => notes.filter((note) => note).join("; ") || null;

/** The finding on its real lines. A suggestion for other lines becomes prose. */
function anchoredAt({ note: _, asStated, ...lines }: Anchor, reported: ReportedFinding): ReportedFinding {
  const { suggestion } = reported;
  const finding = {
    ...reported,
    ...lines,
    // The model sees invisible characters escaped; the suggestion must hold the characters themselves.
    suggestion: suggestion === null ? null : unescapeAsIn(suggestion, lines.quote),
  };
  return asStated ? finding : withoutSuggestion(finding, MEANT_OTHERWISE);
}

/** @param answers records the answers to rule matches; omitted if the loop has none to answer */
export function collectFindings(
  { change: { anchorFile, known, rules }, input, deps }: ReviewRun,
  answers?: RuleMatchAnswers,
  refuseToFinish: () => string | null = () => null,
): FindingCollector {
  return createFindingCollector({
    anchorFile,
    refuseToFinish,
    rules,
    ...(answers && { answers }),
    // Verification may raise the severity of a mild finding.
    minimumSeverity: input.config.effort === "low" ? mildestMinimum(input.config) : "low",
    isPrivate: deps.isPrivate,
    isOldNews: known.isOldNews,
    onFinding: ({ severity, path, line, title }) =>
      deps.progress({ type: "finding", severity, path, line, title }),
  });
}
