import { sparesIn } from "../../config/load-config.ts";
import { patternWarnings } from "../../config/parse-config.ts";
import {
  type Finding,
  holdsSecret,
  isCertain,
  isIssuedSecret,
  isOfOwnRule,
  toolOf,
} from "../../core/finding.ts";
import { isLiteral, secretFormsIn } from "../../core/secrets/forms.ts";
import { type TextRange, withoutRanges } from "../../core/secrets/ranges.ts";
import { formsInWhole } from "../../core/secrets/redact.ts";
import { grammarOf } from "../../repo/code/languages.ts";
import { addedLinesOf } from "../../repo/diff/file-diff.ts";
import type { ChangedFile } from "../../repo/diff-source.ts";
import { createAnchorFiles } from "../anchor/anchor.ts";
import { milderWarning, placeFindings } from "../anchor/placement.ts";
import { withCheckedSuggestion } from "../anchor/suggestion/check-suggestion.ts";
import {
  type AnalyzedChange,
  type AnalyzedRun,
  type ReviewDependencies,
  startRun,
} from "../loop/review-run.ts";
import {
  countReviewed,
  fileMark,
  findReviewedHunks,
  keyUnder,
  lookAgain,
  reviewedNow,
  servedHashes,
} from "../reviewed/known-change.ts";
import { withSurroundings } from "../reviewed/surroundings.ts";
import { hasRules } from "../rules/analyzers/analyze-change.ts";
import { lineAt, lineEnds } from "../rules/analyzers/analyzer.ts";
import { findConfigChanges } from "../rules/config-changes.ts";
import { ruleReport } from "../rules/named-rules.ts";
import { ownFindings } from "../rules/own/own-findings.ts";
import {
  createRuleSwitch,
  mayLackCertain,
  ruleMatches,
  runAnalyzers,
  unfinishedWarning,
} from "../rules/rule-matches.ts";
import { leftWarnings, toolFindings } from "../rules/tool-results/tool-findings.ts";
import type { History, ReviewInput } from "../shapes/review-input.ts";
import {
  type Coverage,
  type LedgerUpdate,
  MAX_UNPLACED,
  type MaskedLine,
  type ReviewResult,
  type Unplaced,
} from "../shapes/review-result.ts";
import { createReviewCoverage } from "./find/coverage-gate.ts";
import { laterFindingsOffline } from "./followup/later-findings.ts";
import { type ModelReview, reviewWithModel } from "./model-review.ts";

/** A line with a secret that a rule found; `isIssued`: by its own form. */
interface FoundSecret {
  path: string;
  line: number;
  isIssued: boolean;
}

/**
 * The first line of each added value that was masked for the model, and that no secret found by a rule explains: reported, rejected by a model, or
 * accepted by the base's configuration. The model could not read it, so it must not count as reviewed. If only a name makes it a secret, it
 * must be all of a literal: anything else may be code.
 */
async function maskedLines(
  files: readonly ChangedFile[],
  found: readonly FoundSecret[],
  deps: Pick<ReviewDependencies, "workspace" | "diffs" | "masking" | "models">,
): Promise<MaskedLine[]> {
  if (!deps.models) return [];
  const all: MaskedLine[] = [];
  for (const file of files) {
    const { path, type } = file.change;
    if (!file.reviewable) continue;
    // A path is shown in headings, where it is masked as well.
    const inPath = secretFormsIn(path);
    if (inPath.length > 0) all.push({ path: withoutRanges(path, inPath), line: 1 });
    if (type === "deleted" || file.reading === "line") continue;
    const here = found.filter((one) => one.path === path);
    all.push(...(await maskedIn(file, here, deps)).map((line) => ({ path, line })));
  }
  return all;
}

async function maskedIn(
  { change, reading }: ChangedFile,
  found: readonly FoundSecret[],
  { workspace, diffs, masking }: Pick<ReviewDependencies, "workspace" | "diffs" | "masking">,
): Promise<number[]> {
  const file = await workspace.readBlob(change.newOid).catch(() => null);
  if (!masking || file === null || file.binary) return [];
  const forms = await formsInWhole(file.text);
  if (forms.length === 0 && !masking.masks.holdsSecret(file.text)) return [];
  const { hunks } = await diffs.fileDiff(change, 0);
  const added = new Set(addedLinesOf(hunks));
  const isIssued = ({ start, end }: TextRange) =>
    forms.some((form) => form.isIssued && form.start <= start && end <= form.end);
  const ends = lineEnds(file.text);
  const byLine = Map.groupBy(found, ({ line }) => line);
  const firsts = (await masking.masks.secretsIn(file.text)).flatMap((range) => {
    const lines = linesOf(ends, range);
    const first = reading === "whole" && !isIssued(range) ? lines[0] : lines.find((line) => added.has(line));
    const here = lines.flatMap((line) => byLine.get(line) ?? []);
    const isExplained = here.some(({ isIssued: is }) => is || isLiteral(change.path, file.text, range));
    return first === undefined || isExplained ? [] : [first];
  });
  return [...new Set(firsts)];
}

function linesOf(ends: readonly number[], { start, end }: TextRange): number[] {
  const first = lineAt(ends, start);
  return Array.from({ length: lineAt(ends, end) - first + 1 }, (_, at) => first + at);
}

/** Opens the graph and lists the trees while the diff is read. Later steps await them and report their errors. */
function readAhead({ models, graph, workspace }: ReviewDependencies): void {
  workspace.tree("head").catch(() => {});
  // Without a model, the base is needed only if a changed file may have rules of the repository.
  if (!models) return;
  graph?.open().catch(() => {});
  workspace.tree("base").catch(() => {});
}

/** Reviews a change, from the checkout to placed findings. Shared by jobs and the command line. */
export async function reviewChange(input: ReviewInput, deps: ReviewDependencies): Promise<ReviewResult> {
  deps.progress({ type: "phase", phase: "context" });
  readAhead(deps);
  const changed = await deps.diffs.files();
  const files = input.history ? await withSurroundings(changed, deps) : changed;
  deps.progress({ type: "phase", phase: "analyzers" });
  const isOff = createRuleSwitch(input.config);
  const found = await runAnalyzers(files, { ...deps, isOff, key: input.history?.key });
  const { history, config, refused = null } = input;
  const others = await toolFindings(refused === null ? (input.results ?? []) : [], files, { ...deps, isOff });
  // Last, so that they take no time from the analyzers above.
  const timeLeft = Math.max(0, input.limits.milliseconds - (deps.now() - deps.startedAt));
  const milliseconds = timeLeft * OWN_RULES_SHARE;
  const own = await ownFindings(refused === null ? files : [], { ...deps, isOff, milliseconds });
  const ofAnalyzers = refused === null ? found.findings : found.findings.filter(isCertain);
  const analysis = {
    ...found,
    findings: [...ofAnalyzers, ...own.findings, ...others.findings],
    silenced: [...found.silenced, ...own.silenced],
  };
  const known = findReviewedHunks(
    files,
    history && { ...history, key: keyUnder(config, history.key) },
    deps.diffs,
  );
  // Without a model no hunk is read, and earlier reading does not count.
  const coverage = createReviewCoverage(files, null, deps.models && known);
  const anchorFile = createAnchorFiles(deps.workspace, deps.diffs);
  const run = { input, deps, change: { files, coverage, known, analysis, anchorFile } };
  const review = await reviewFiles(run, others.messages);

  deps.progress({ type: "phase", phase: "placing" });
  const placed = await placeFindings(review.findings, input.config, anchorFile, review.quiet, review.choice);
  const rules = ruleReport(
    config,
    files,
    placed.map(({ finding }) => finding),
    {
      hasModel: deps.models !== null,
      unshown: coverage.unshown,
      unfinished: review.unfinished ?? new Set(),
    },
  );
  const { head, base, mergeBase, mergeBases = 1, headTree = null, baseTree } = deps.workspace.shas;
  const secrets = [
    ...[...review.findings, ...analysis.silenced],
    ...review.dropped.map(({ path, line, rule }) => ({ path, line, source: rule ?? "" })),
  ].flatMap((one) => (holdsSecret(one) ? [{ ...one, isIssued: isIssuedSecret(one) }] : []));
  const masked = await maskedLines(files, secrets, deps);
  const hidden = masked.map(({ path }) => path);
  const read = { ...review, unfinished: new Set([...hidden, ...(review.unfinished ?? [])]) };
  const ledger = history && ledgerOf(run, read, refused === null ? null : history);
  return {
    head_sha: head,
    head_tree: headTree,
    base_sha: baseTree ?? base,
    merge_base_sha: baseTree ?? mergeBase,
    merge_bases: mergeBases,
    mode: deps.models ? "model" : "offline",
    model: review.model ?? deps.models?.review.name ?? null,
    summary: review.summary,
    findings: placed,
    coverage: {
      ...coverageOf(files, coverage),
      ...(deps.models === null && { without_rules: withoutRules(files, own.dialects) }),
    },
    usage: review.usage,
    stop_reason: review.stopReason,
    duration_ms: deps.now() - deps.startedAt,
    warnings: [
      ...deps.diffs.warnings(),
      ...patternWarnings(config),
      ...sparesIn(await deps.workspace.tree("base")).map((path) => `${path} is not read as a configuration.`),
      ...review.warnings,
      ...unfinishedWarning(analysis.unfinished),
      ...own.warnings,
      ...leftWarnings(others),
      ...milderWarning(review.findings, input.config),
    ],
    effort: input.config.effort,
    dropped: [...review.dropped],
    masked,
    predicted: review.predicted && { ...review.predicted, cost_usd: null },
    ledger,
    unplaced: unplacedOf(run.change, review, ledger),
    config_changes: await findConfigChanges(deps.workspace, input.config),
    refused,
    unanalyzed: analysis.unfinished.filter(mayLackCertain).map(({ path }) => path),
    ...(rules && { rules }),
  };
}

const OWN_RULES_SHARE = 0.25;

/** @param said the words of other tools by the id of their finding */
async function reviewFiles(
  { input, deps, change }: AnalyzedRun,
  said: ReadonlyMap<string, string>,
): Promise<ModelReview> {
  const { history } = input;
  const isEmpty = change.coverage.counts().total === 0;
  // Only files that no model may see have findings then.
  if (isEmpty && history === null) return { ...nothingToReview, findings: change.analysis.findings };
  const findings = await checked(change.analysis.findings, change.anchorFile);
  const analyzed = { ...change, analysis: { ...change.analysis, findings } };
  if (!deps.models) {
    // If the configuration was refused, it is unknown whether there was something to review.
    const isNothing = isEmpty && input.refused === undefined;
    const review = isNothing ? nothingToReview : offlineReview(findings);
    if (history === null) return review;
    return { ...review, ...(await laterFindingsOffline({ input, deps, change: analyzed }, review.findings)) };
  }
  const matches = ruleMatches(findings, said);
  const run = await startRun(input, { ...deps, models: deps.models }, { ...analyzed, matches });
  const review = await reviewWithModel(run);
  // No new code was read, so the last summary still holds.
  if (isEmpty || !change.files.some((file) => change.known.hasNew(file.change.path)))
    return { ...review, summary: isEmpty ? "" : (history?.summary ?? "") };
  return review;
}

/**
 * What the next review must know about this one.
 *
 * @param kept the earlier state, if the configuration was refused: it was recorded under other rules and stays as it is
 */
function ledgerOf(
  { deps, change: { files, coverage, known } }: AnalyzedRun,
  review: ModelReview,
  kept: Pick<History, "reviewed"> | null,
): LedgerUpdate {
  // A file that this review did not finish keeps what earlier reviews have read of it.
  const before = createReviewCoverage(files, null, known);
  const isRead = (path: string) => deps.models !== null && !review.unfinished?.has(path);
  const read = { unshown: (path: string) => (isRead(path) ? coverage : before).unshown(path) };
  const { due = [], ...ledger } = review.ledger ?? { repeats: [], resolutions: [], carried: [], settled: [] };
  const nothing = { unit: "change" as const, hashes: [] as string[] };
  const { unit, hashes } = kept ? (kept.reviewed ?? nothing) : reviewedNow(files, read, known.contentHash);
  // A hash occurs once for each hunk with that content; the mark of a file to check again occurs once.
  const looks = [...due].map((path) => lookAgain(fileMark(path))).filter((look) => !hashes.includes(look));
  return {
    known_hunks: deps.models ? countReviewed(files, known) : 0,
    reviewed: { unit, hashes: [...hashes, ...looks] },
    ...ledger,
  };
}

function unplacedOf(
  { files, coverage, known }: AnalyzedChange,
  { unplaced = { texts: [], paths: new Set() } }: ModelReview,
  ledger: LedgerUpdate | null,
): Unplaced {
  const { texts, paths } = unplaced;
  const own = files.filter(({ change }) => paths.has(change.path));
  return {
    texts: texts.slice(0, MAX_UNPLACED),
    total: texts.length,
    hashes: ledger ? servedHashes(own, ledger.reviewed.unit, coverage, known.contentHash) : [],
  };
}

const noUsage = { requests: 0, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, cost_usd: 0 };

const nothingToReview: ModelReview = {
  findings: [],
  dropped: [],
  predicted: null,
  summary: "",
  usage: noUsage,
  stopReason: "finished",
  warnings: [],
};

async function checked(
  findings: readonly Finding[],
  anchorFile: AnalyzedChange["anchorFile"],
): Promise<Finding[]> {
  const all: Finding[] = [];
  for (const finding of findings) {
    const file = finding.suggestion === null ? undefined : await anchorFile(finding.path);
    all.push(file ? (await withCheckedSuggestion(finding, file)).finding : finding);
  }
  return all;
}

function offlineReview(findings: readonly Finding[]): ModelReview {
  const ours = findings.filter(({ source }) => toolOf(source) === null).length;
  const own = findings.filter(isOfOwnRule).length;
  const lines = (number: number) => (number === 1 ? "1 line" : `${number} lines`);
  const more = own > 0 ? ` The repository's own rules matched ${lines(own)}.` : "";
  return {
    ...nothingToReview,
    findings,
    summary: `No model read this change. Only the built-in analyzers checked it, and they matched ${lines(ours - own)}.${more}`,
    stopReason: "no_model",
  };
}

/** The reviewable files that no rule is about, of ours or of the repository. */
const withoutRules = (files: readonly ChangedFile[], ownDialects: ReadonlySet<string>): string[] =>
  files.flatMap(({ change: { path, type }, reviewable }) => {
    const isOwn = ownDialects.has(grammarOf(path)?.dialect ?? "");
    return !reviewable || type === "deleted" || isOwn || hasRules(path) ? [] : [path];
  });

function coverageOf(files: readonly ChangedFile[], counter: AnalyzedChange["coverage"]): Coverage {
  const { total, served, unserved } = counter.counts();
  return {
    hunks_total: total,
    hunks_served: served,
    unserved,
    files_total: files.length,
    files_skipped: files.flatMap(({ change: { path }, skipReason: reason, account }) =>
      reason === null || account === null ? [] : [{ path, reason, account }],
    ),
  };
}
