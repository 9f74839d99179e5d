import { createHmac } from "node:crypto";
import type { Rejection } from "../../agent/tools/tool.ts";
import { type EffectiveConfig, isEnforced, isRuleEnforced } from "../../config/repo-config.ts";
import { errorLine, nullIfTooLarge } from "../../core/errors.ts";
import { type CodeLocation, type Finding, holdsSecret, isCertain } from "../../core/finding.ts";
import { secretFormsIn } from "../../core/secrets/forms.ts";
import { splitLines } from "../../core/text/cut.ts";
import { wrapUntrusted } from "../../core/text/fence.ts";
import { addedLinesOf } from "../../repo/diff/file-diff.ts";
import { isPrivateReason, NOT_SELECTED } from "../../repo/diff/filter.ts";
import { PROBED_BYTES, readsAsText } from "../../repo/diff/origin.ts";
import { createPathMatcher } from "../../repo/diff/paths.ts";
import { hasLockName } from "../../repo/diff/skipped-names.ts";
import type { ChangedFile, DiffSource } from "../../repo/diff-source.ts";
import type { Change, Workspace } from "../../repo/git/workspace.ts";
import { showPath } from "../../repo/show.ts";
import { createIdentities, locationOf, locationsOverlap } from "../anchor/fingerprint.ts";
import type { LineRange } from "../anchor/quote.ts";
import { symbolAt } from "../anchor/symbols.ts";
import type { ProgressEvent } from "../shapes/review-result.ts";
import { allAnalyzers, analyzeFile, type UnfinishedFile } from "./analyzers/analyze-change.ts";
import type { AnalyzedFile, Analyzer, Diagnostic } from "./analyzers/analyzer.ts";
import { lockDiagnostics } from "./analyzers/broken-files.ts";
import { withoutUnseen } from "./analyzers/hidden-characters.ts";

/** The precision measured over all rules (docs/analyzers.md). */
const RULE_CONFIDENCE = 0.9;

/** Maximum number of files that a warning names. */
const NAMED = 10;

/** Time limit for all analyzers on all files. A change that takes longer is very large, or built to be slow. */
const MILLISECONDS = 60_000;

export interface AnalyzerDependencies {
  workspace: Workspace;
  diffs: DiffSource;
  progress(event: ProgressEvent): void;
  signal: AbortSignal;
  /** Fires when the analyzers' time is up; default: after one minute. */
  timeLimit?: AbortSignal;
  analyzers?: readonly Analyzer[];
  isOff?(finding: Finding): boolean;
  /** Key for hashing a secret into its id, so that no one can test a guess against the id. */
  key?: string | undefined;
}

export interface AnalyzerFindings {
  /** By path and line; those of other tools at the end. */
  findings: Finding[];
  silenced: Finding[];
  /** Files on which an analyzer did not run or finish, because of time, size or a crash. */
  unfinished: UnfinishedFile[];
}

/** Runs the analyzers on reviewable files, and those that read every file on others that are neither private nor unselected. */
export async function runAnalyzers(
  files: readonly ChangedFile[],
  deps: AnalyzerDependencies,
): Promise<AnalyzerFindings> {
  const { signal, timeLimit = AbortSignal.timeout(MILLISECONDS), analyzers = allAnalyzers } = deps;
  const readers = analyzers.filter(({ readsEvery }) => readsEvery);
  const idOf = createIds(deps.key);
  const onCrash = (name: string, path: string, error: unknown) =>
    deps.progress({ type: "crash", where: `${name} on ${path}`, error: errorLine(error) });
  const all: AnalyzerFindings = { findings: [], silenced: [], unfinished: [] };
  const add = async (diagnostics: readonly Diagnostic[], file: AnalyzedFile) => {
    for (const finding of await findingsOf(diagnostics, [file], idOf))
      (deps.isOff?.(finding) ? all.silenced : all.findings).push(finding);
  };
  const analyze = async (file: AnalyzedFile, using: readonly Analyzer[]) => {
    const found = await analyzeFile(file, { signal, timeLimit, analyzers: using, onCrash });
    await add(found.diagnostics, file);
    if (found.missing.length > 0) all.unfinished.push({ path: file.path, analyzers: found.missing });
  };
  const { workspace, diffs } = deps;
  for (const one of files) {
    if (await isReadWhole(one, workspace)) await analyze(await wholeFile(one.change, workspace), readers);
    const faults = await lockFaultsIn(one, deps);
    if (!isScanned(one, workspace) && faults.length === 0) continue;
    const isLate = timeLimit.aborted && faults.length === 0;
    const [file] = isLate ? [] : await analyzedFiles([one], workspace, diffs);
    if (file) {
      await analyze(file, one.reviewable ? analyzers : readers);
      await add(lockDiagnostics(file, faults), file);
    } else if (isLate || faults.length > 0 || one.reviewable || one.account === "parsed")
      all.unfinished.push({ path: one.change.path, analyzers: [] });
  }
  return all;
}

const isPresent = ({ change, reading }: ChangedFile, { withheld }: Workspace) =>
  reading !== "line" && change.type !== "deleted" && !withheld.has(change.path);

/** Whether a file is reviewed, or programs may look at it. */
const isScanned = (file: ChangedFile, workspace: Workspace) =>
  isPresent(file, workspace) && (file.reviewable || ((file.change.additions ?? 0) > 0 && isOpen(file)));

const lockFaultsIn = async (file: ChangedFile, { workspace, diffs }: AnalyzerDependencies) =>
  isPresent(file, workspace) && hasLockLines(file) ? await diffs.lockFaults(file.change) : [];

/** Whether every line counts as added: of an uncommitted file that no model may see, or a text of which git shows no line. */
async function isReadWhole(file: ChangedFile, workspace: Workspace): Promise<boolean> {
  const isUncommitted = workspace.withheld.has(file.change.path) && file.skipReason !== NOT_SELECTED;
  return isUncommitted || (await isHiddenText(file, workspace));
}

/** Whether a file is a text of which git shows no line, because it has a NUL. */
async function isHiddenText(file: ChangedFile, workspace: Workspace): Promise<boolean> {
  const { path, additions } = file.change;
  if (additions !== null || !isOpen(file)) return false;
  const start = await workspace.headStart(path, PROBED_BYTES).catch(() => null);
  return start !== null && readsAsText(path, start);
}

const isOpen = ({ skipReason, change: { newMode } }: ChangedFile) =>
  newMode.startsWith("100") && skipReason !== NOT_SELECTED && !isPrivateReason(skipReason);

const hasLockLines = (file: ChangedFile) =>
  hasLockName(file.change.path) && file.change.additions !== null && isOpen(file);

/** A file of any size and kind, in which every line counts as added: it was not part of the repository before. */
async function wholeFile({ path, newOid, newMode }: Change, workspace: Workspace): Promise<AnalyzedFile> {
  const blob = newMode.startsWith("100") ? await workspace.readBlob(newOid).catch(nullIfTooLarge) : null;
  const text = blob?.text ?? "";
  const addedLines = new Set(Array.from(splitLines(text), (_, at) => at + 1));
  return { path, text, addedLines, diff: { path, oldPath: null, header: [], hunks: [] } };
}

/** A finding of a rule that a model must answer, with a short id for the conversation. */
export interface RuleMatch {
  /** "c1": unique in the review, and the same in every review of the same change. */
  id: string;
  finding: Finding;
  /** The message of another tool, which only the model sees; empty for a rule of ours. */
  message: string;
}

export interface RuleMatches {
  certain: readonly Finding[];
  likely: readonly RuleMatch[];
}

/** @param messages of other tools, by the id of the finding */
export function ruleMatches(
  findings: readonly Finding[],
  messages: ReadonlyMap<string, string> = new Map(),
): RuleMatches {
  const likely = findings.filter((finding) => !isCertain(finding));
  return {
    certain: findings.filter(isCertain),
    likely: likely.map((finding, at) => ({
      id: `c${at + 1}`,
      finding,
      message: messages.get(finding.id) ?? "",
    })),
  };
}

/** Whether an analyzer of certain findings did not finish on a file. */
export const mayLackCertain = ({ analyzers }: UnfinishedFile): boolean =>
  analyzers.length === 0 || analyzers.some((name) => isCertain({ source: `${name}/` }));

export function unfinishedWarning(unfinished: readonly UnfinishedFile[]): string[] {
  if (unfinished.length === 0) return [];
  const count = unfinished.length === 1 ? "1 file" : `${unfinished.length} files`;
  const named = unfinished.slice(0, NAMED).map(({ path }) => path);
  const others = unfinished.length - named.length;
  const rest = others > 0 ? ` and ${others} more` : "";
  return [`The analyzers did not finish on ${count}: ${named.join(", ")}${rest}.`];
}

/** The files that can be read, without those that are too large. */
export async function analyzedFiles(
  files: readonly ChangedFile[],
  workspace: Workspace,
  diffs: DiffSource,
): Promise<AnalyzedFile[]> {
  const read = files.map(async ({ change }) => {
    const [blob, diff] = await Promise.all([workspace.readBlob(change.newOid), diffs.fileDiff(change, 3)]);
    return { path: change.path, text: blob.text, addedLines: new Set(addedLinesOf(diff.hunks)), diff };
  });
  const all = await Promise.all(read.map((file) => file.catch(nullIfTooLarge)));
  return all.filter((file) => file !== null);
}

type Identifiable = Parameters<ReturnType<typeof createIdentities>>[0] & Pick<Finding, "source">;

/** Creates ids that depend on the rule: a rule of ours that matches the same line keeps its id, and so does another tool's. */
export function createRuleIds(): (found: Identifiable) => string {
  const identify = createIdentities();
  return (found) => identify({ ...found, quote: `${found.source}\n${found.quote}` });
}

/** Creates ids that do not give away a secret. */
function createIds(key = ""): (found: Identifiable) => string {
  const identify = createIdentities();
  return (found) => identify(holdsSecret(found) ? { ...found, quote: keyed(found.quote, key) } : found);
}

const keyed = (code: string, key: string) =>
  createHmac("sha256", key).update(code.replace(/\s+/g, "")).digest("base64url");

/** Whether a secret is in a text without its hidden characters: no search by form finds it with them. */
function splitsSecret(quote: string): boolean {
  const bare = withoutUnseen(quote);
  return bare !== quote && secretFormsIn(bare).length > 0;
}

/** Diagnostics as findings, each with the id that `idOf` gives it. */
export async function findingsOf(
  diagnostics: readonly Diagnostic[],
  files: readonly AnalyzedFile[],
  idOf: (found: Identifiable) => string,
): Promise<Finding[]> {
  const texts = new Map(files.map((file) => [file.path, splitLines(file.text)]));
  const firstNames = new Map(files.map(({ path, diff }) => [path, diff.oldPath ?? path]));
  const findings: Finding[] = [];
  for (const { extent, ...found } of diagnostics) {
    const { path, line } = found;
    const lines = texts.get(path) ?? [];
    const textOf = ({ start, end }: LineRange) => lines.slice(start - 1, end).join("\n");
    const stated = { start: found.start_line ?? line, end: line };
    const quote = textOf(stated);
    const symbol = await symbolAt(path, lines, line);
    const anchored = {
      start_line: null,
      suggestion: null,
      ...found,
      side: "RIGHT" as const,
      quote,
      symbol,
    };
    findings.push({
      ...anchored,
      id: idOf({ ...anchored, quote: textOf(extent ?? stated), path: firstNames.get(path) ?? path }),
      quote: holdsSecret(found) || splitsSecret(quote) ? "" : quote,
      confidence: RULE_CONFIDENCE,
      reached: true,
      evidence: [],
      verification: "unverified",
      verification_note: null,
      places: [],
    });
  }
  return findings;
}

/** One loop's answers to the rule matches that it was shown. */
export interface RuleMatchAnswers {
  /** Ids of rule matches with a reported finding. */
  readonly reported: ReadonlySet<string>;
  /** Reasons by id of the rejected rule matches. One that was also reported counts as reported. */
  readonly rejected: ReadonlyMap<string, string>;
  /** Why a finding in `path` cannot answer these rule matches, none of which is in its file, for the model; null if it can. */
  whyNot(ids: readonly string[], path: string): string | null;
  /** Those of these rule matches that are in other files than the finding that answers them. */
  placesBeside(ids: readonly string[], path: string): CodeLocation[];
  /** Takes a finding as the answer to these rule matches, and to those of its category on its lines. */
  report(ids: readonly string[], finding: Finding): void;
  /** Records the valid rejections. While a rule match has no answer, returns the faults of the others, for the model. */
  reject(rejections: readonly Rejection[]): string | null;
  unanswered(): readonly RuleMatch[];
}

const MOST_NAMED = 20;

export function createRuleMatchAnswers(shown: readonly RuleMatch[]): RuleMatchAnswers {
  const byId = new Map(shown.map((one) => [one.id, one]));
  const reported = new Set<string>();
  const rejected = new Map<string, string>();
  const unknown = (ids: readonly string[]) => {
    const wrong = ids.filter((id) => !byId.has(id));
    if (wrong.length === 0) return null;
    const known = shown.length === 0 ? "there is none" : `they are ${shown.map(({ id }) => id).join(", ")}`;
    return `no rule match has the id ${wrong.map((id) => `'${id.slice(0, 40)}'`).join(", ")}; ${known}`;
  };
  const unanswered = () => shown.filter(({ id }) => !reported.has(id) && !rejected.has(id));
  return {
    reported,
    rejected,
    unanswered,
    whyNot(ids, path) {
      const named = ids.flatMap((id) => byId.get(id) ?? []);
      const [other] = named;
      const isElsewhere = !named.some(({ finding }) => finding.path === path);
      return (
        unknown(ids) ??
        (other && isElsewhere
          ? `${other.id} is in ${showPath(other.finding.path)}, not in ${showPath(path)}; report it there, or reject it in finish_review`
          : null)
      );
    },
    placesBeside: (ids, path) =>
      ids.flatMap((id) => {
        const finding = byId.get(id)?.finding;
        return finding && finding.path !== path ? [locationOf(finding)] : [];
      }),
    report(ids, finding) {
      const here = shown.filter(
        (one) =>
          one.finding.category === finding.category &&
          locationsOverlap(locationOf(one.finding), locationOf(finding)),
      );
      for (const id of [...ids, ...here.map((one) => one.id)]) reported.add(id);
    },
    reject(rejections) {
      for (const { candidate, reason } of rejections)
        if (byId.has(candidate) && reason.trim() !== "") rejected.set(candidate, reason.trim());
      if (unanswered().length === 0) return null;
      const empty = rejections.find(({ reason }) => reason.trim() === "");
      return (
        unknown(rejections.map(({ candidate }) => candidate)) ??
        (empty ? `the rejection of ${empty.candidate} has no reason` : null)
      );
    },
  };
}

/** Why a review may not finish while these are unanswered, for the model. */
export function unansweredRefusal(unanswered: readonly RuleMatch[]): string {
  const named = unanswered.slice(0, MOST_NAMED).map((one) => ruleMatchLine({ ...one, message: "" }));
  const more = unanswered.length > MOST_NAMED ? `\nand ${unanswered.length - MOST_NAMED} more` : "";
  const count = unanswered.length === 1 ? "1 rule match has" : `${unanswered.length} rule matches have`;
  return `${count} no answer yet. Report each with report_finding and its id in \`candidates\`, or name it in \`rejected\` of finish_review with the reason:\n${wrapUntrusted("rule matches", named.join("\n"))}${more}`;
}

export const ruleMatchLine = ({ id, finding, message }: RuleMatch): string =>
  `${id} ${showPath(finding.path)}:${finding.line} ${finding.title} (${finding.source})${message === "" ? "" : `: ${message}`}`;

/**
 * Returns a check whether the configuration switches off a finding's rule, everywhere or in its file. A key of `rules` is a rule
 * ("secrets/github-token", "ast-grep/py-eval"), a rule without its analyzer ("py-eval"), or an analyzer ("focused-tests"). For a rule that the
 * organization enforces under any of these names, only the organization's own `rules` count.
 */
export function createRuleSwitch({
  rules,
  policy,
  organization_rules = {},
}: Pick<EffectiveConfig, "rules" | "policy" | "organization_rules">): (
  finding: Pick<Finding, "source" | "path">,
) => boolean {
  const [everyone, organization] = [switchesOf(rules), switchesOf(organization_rules)];
  if (everyone.size === 0 && organization.size === 0) return () => false;
  return ({ source, path }) => {
    const [analyzer = "", ...rest] = source.split("/");
    const names = [source, rest.join("/"), analyzer];
    const isKept = names.some((name) => isRuleEnforced({ policy }, name));
    const off = isKept && !isEnforced({ policy }, "rules") ? organization : everyone;
    return names.some((name) => off.get(name)?.(path) === true);
  };
}

function switchesOf(rules: EffectiveConfig["rules"]): ReadonlyMap<string, (path: string) => boolean> {
  return new Map(
    Object.entries(rules).flatMap(([id, value]): [string, (path: string) => boolean][] => {
      if (value === "off") return [[id, () => true]];
      if (!("off" in value)) return [];
      const matches = createPathMatcher(value.off);
      return [[id, (path) => matches(path).matched]];
    }),
  );
}
