import pMap from "p-map";
import type { Message } from "../../../agent/llm/model.ts";
import type { TokenBudget } from "../../../agent/loop/limits.ts";
import type { AgentResult } from "../../../agent/loop/run-agent.ts";
import type { StopReason } from "../../../agent/record/trajectory.ts";
import { reportingTools } from "../../../agent/tools/index.ts";
import { withNamedRules } from "../../../agent/tools/report-finding.ts";
import { type Finding, isOfOwnRule, toolOf, worstFirst } from "../../../core/finding.ts";
import { byteLength } from "../../../core/text/cut.ts";
import type { ChangedFile } from "../../../repo/diff-source.ts";
import { createReportWatch, type LostReport } from "../../loop/report-watch.ts";
import type { ChangeUnderReview, ReviewRun } from "../../loop/review-run.ts";
import { furtherTools, roomFor, runLoop, unitBytes, type Window, windowFor } from "../../loop/run-loop.ts";
import {
  allHunks,
  countReviewed,
  MAX_CHANGES,
  type ReviewedHunks,
  readHashes,
  unreadHashes,
} from "../../reviewed/known-change.ts";
import {
  createRuleMatchAnswers,
  type RuleMatch,
  type RuleMatchAnswers,
  ruleMatchLine,
} from "../../rules/rule-matches.ts";
import type { Prediction } from "../../shapes/review-result.ts";
import { firstMessages } from "../context/first-messages.ts";
import { type Plan, planUnits, type Unit } from "../plan/plan-units.ts";
import { createCoverageGate, createReviewCoverage } from "./coverage-gate.ts";
import { collectFindings } from "./finding-collector.ts";
import { type Focus, focusesOf } from "./focus.ts";
import { firstRequestTokens, predictReview } from "./predict.ts";

interface PassTask {
  unit: Unit;
  /** Null to look for everything. */
  focus: Focus | null;
  /** "2", "around", "2 around", or "" if there is only one loop. */
  name: string;
  loop: string;
  window: Window;
}

interface PassLimits {
  budget: TokenBudget;
  tokens: number;
  milliseconds: number;
}

interface UnitReview {
  findings: readonly Finding[];
  /** Reported in code that an earlier review has read; not kept. */
  readBefore: readonly Finding[];
  lost: readonly LostReport[];
  answers: Pick<RuleMatchAnswers, "reported" | "rejected">;
  summary: string | null;
  stopReason: StopReason;
  modelError: AgentResult["modelError"];
}

export interface UnitStart {
  messages: readonly Message[];
  shown: readonly { path: string; hunk: number }[];
  /** Rule matches in the messages, which must be answered. */
  likely: readonly RuleMatch[];
  /** Ids of rule matches in these files that did not fit. */
  overflow: readonly string[];
}

export async function startUnit(
  run: ReviewRun,
  { files, window }: { files: readonly ChangedFile[]; window: Window },
): Promise<UnitStart> {
  const shown: { path: string; hunk: number }[] = [];
  const paths = new Set(files.map(({ change }) => change.path));
  const { change, deps, input } = run;
  const likely = await newRuleMatches(run.change, files);
  const shownLikely = worstThatFit(likely, roomFor(deps.models.review, MAX_LIKELY_BYTES, LIKELY_SHARE));
  const messages = await firstMessages({
    ...deps,
    ...change,
    ...window,
    input,
    shas: deps.workspace.shas,
    allFiles: change.files,
    files,
    known: countReviewed(change.files, change.known) > 0 ? change.known : null,
    matches: { certain: change.matches.certain.filter(({ path }) => paths.has(path)), likely: shownLikely },
    coverage: { serve: (path, hunk) => void shown.push({ path, hunk }) },
  });
  const overflow = likely.filter((one) => !shownLikely.includes(one)).map(({ id }) => id);
  return { messages, shown, likely: shownLikely, overflow };
}

const MOST_LIKELY = 60;
const MAX_LIKELY_BYTES = 12_000;
const LIKELY_SHARE = 0.06;

/** Built-in rules go before the repository's own, and these before those of other tools, which anyone may have written. */
function worstThatFit(matches: readonly RuleMatch[], maxBytes: number): RuleMatch[] {
  let left = maxBytes;
  const fitting = matches
    .toSorted((a, b) => rankOf(a) - rankOf(b) || worstFirst(a.finding, b.finding))
    .slice(0, MOST_LIKELY)
    .filter((one) => {
      left -= byteLength(ruleMatchLine(one)) + 1;
      return left >= 0;
    });
  const kept = new Set(fitting);
  return matches.filter((one) => kept.has(one));
}

const rankOf = (match: RuleMatch) => (isOfOther(match) ? 2 : Number(isOfOwnRule(match.finding)));

const isOfOther = ({ finding }: RuleMatch) => toolOf(finding.source) !== null;

/** The rule matches in these files, without those in hunks that an earlier review has read and answered. */
export async function newRuleMatches(
  { known, matches }: ChangeUnderReview,
  files: readonly ChangedFile[],
): Promise<RuleMatch[]> {
  const paths = new Set(files.map(({ change }) => change.path));
  const all: RuleMatch[] = [];
  for (const one of matches.likely) {
    const { path, line } = one.finding;
    if (paths.has(path) && !(await known.isKnownLine(path, "RIGHT", line))) all.push(one);
  }
  return all;
}

const ownReportingTools = (rules: ChangeUnderReview["rules"]) =>
  withNamedRules(
    reportingTools,
    rules.map(({ name }) => name),
  );

/** Reviews one unit in one loop. Findings are kept if the loop stops early. */
async function reviewUnit(
  run: ReviewRun,
  task: PassTask,
  start: UnitStart,
  limits: PassLimits,
): Promise<UnitReview> {
  const { input, deps, change } = run;
  const { graph, coverage: whole } = change;
  const { diffs, progress, journal } = deps;
  const { files } = task.unit;
  const coverage = createReviewCoverage(files, whole, change.known);
  for (const { path, hunk } of start.shown) coverage.serve(path, hunk);
  const answers = createRuleMatchAnswers(start.likely);
  // Only the loop that looks for everything must answer the rule matches.
  const unanswered = task.focus === null ? answers.unanswered : () => [];
  const { portionBytes } = task.window;
  const gate = createCoverageGate({ files, diffs, coverage, unanswered, portionBytes });
  const collector = collectFindings(run, answers, gate.refuseToFinish);
  const watch = createReportWatch();
  const tell = () => {
    const { served, total } = whole.counts();
    progress({ type: "coverage", served, total });
  };
  tell();
  const { stopReason, modelError } = await runLoop(run, {
    ...limits,
    loop: task.loop,
    role: "review",
    messages: withFocus(start, task),
    outputTools: [...ownReportingTools(change.rules), ...furtherTools(graph, journal)],
    ports: { report: collector, ...(journal && { journal }), ...(graph && { graph }) },
    coverage,
    turns: input.limits.turns,
    interject: gate.interject,
    onAnswer(turn, text) {
      watch.read(turn, text);
      coverage.delivered();
      tell();
    },
    onCall: watch.saw,
  });
  // Without the conversation: those of all loops together would fill the memory.
  return {
    findings: collector.findings(),
    readBefore: collector.readBefore(),
    lost: watch.lost(),
    answers,
    summary: collector.summary(),
    stopReason,
    modelError,
  };
}

/** The focus comes last: everything before it is the same for all loops over a unit, so the provider can cache it. */
function withFocus({ messages, likely }: UnitStart, { focus }: PassTask): readonly Message[] {
  const last = messages.at(-1);
  if (focus === null || last?.role !== "user") return messages;
  const matches = likely.length === 0 ? "" : `${ANSWERED_ELSEWHERE}\n`;
  return [
    ...messages.slice(0, -1),
    { role: "user", content: `${last.content}\n\n# This pass\n${matches}${focus.text}` },
  ];
}

const ANSWERED_ELSEWHERE =
  "Another reviewer answers the rule matches: report one only if it is a fault of the kind that you look for, and reject none.";

/** One loop over one unit, as the merge loop and the verifier know it. */
export interface Pass extends UnitReview {
  /** "2", "2 around" or "around". */
  name: string;
  files: readonly ChangedFile[];
  start: UnitStart;
}

/** The results of all loops over all units. */
export interface Passes {
  units: readonly Unit[];
  loopsAUnit: number;
  reviews: readonly Pass[];
  /** Ids of the rule matches that did not fit into the first message of their unit. */
  overflow: ReadonlySet<string>;
  stops: readonly StopReason[];
  unplanned: number;
  predicted: Omit<Prediction, "cost_usd"> | null;
}

/** Concurrent loops. If this many fail in a row, the model is considered gone. */
const CONCURRENCY = 4;
/** Maximum share of tokens and time that is reserved for verification and merging. */
const LOOKING_SHARE = 0.25;
/** Usual tokens of one verification, and the number reserved before the first finding. */
const LOOK_TOKENS = 30_000;
const MIN_LOOKS = 2;
/** A unit may use this many times its share of the remaining tokens: most units need less than theirs. */
const UNIT_SLACK = 3;
/** With fewer tokens a loop ends before it has read anything. */
const MIN_UNIT_TOKENS = 20_000;
/** Less than the instructions and tool definitions need. */
const LEAST_REQUEST_TOKENS = 2_000;
const FIRST_BYTES = 4_096;
/** Worst case. The rest of the budget is for the turns after the first. */
const BYTES_PER_TOKEN = 3;

/** Divides the change into units and reviews them concurrently, the riskiest first. */
export async function reviewUnits(run: ReviewRun): Promise<Passes> {
  const { deps, input } = run;
  const { effort } = input.config;
  const plan = await planReview(run);
  const { units, left } = plan;
  const focuses = focusesOf(effort);
  const tasks = units.flatMap((unit) => {
    const window = windowFor(deps.models.review, unit.diffBytes, units.length === 1);
    return focuses.map((focus): PassTask => {
      const name = nameOf(unit, focus, units.length);
      return { unit, focus, name, loop: loopOf(name), window };
    });
  });
  let found = 0;
  const limitsOf = createLimits(run, tasks, () => found);
  // All loops over a unit begin with the same messages.
  const starts = new Map<Unit, Promise<UnitStart>>();
  const startOf = ({ unit, window }: PassTask) => {
    const start = starts.get(unit) ?? startUnit(run, { files: unit.files, window });
    starts.set(unit, start);
    return start;
  };
  const note = createUnitNotes(run, focuses.length);
  const [first] = tasks;
  const predicted = first
    ? predictReview({
        plan,
        effort,
        known: run.change.known,
        firstTokens: firstRequestTokens((await startOf(first)).messages),
        limitTokens: input.limits.tokens,
      })
    : null;
  deps.progress({ type: "phase", phase: "review" });
  let done = 0;
  let failures = 0;
  const overflow = new Set<string>();
  const stops: StopReason[] = left.length > 0 ? ["token_limit"] : [];
  const reviewTask = async (task: PassTask, index: number): Promise<Pass | null> => {
    const { unit, name } = task;
    const limits = limitsOf(index);
    const stop = whyNoMore(run, task, limits, failures);
    if (stop) {
      stops.push(stop);
      return null;
    }
    const start = await startOf(task);
    for (const id of start.overflow) overflow.add(id);
    const review = await reviewUnit(run, task, start, limits);
    found += review.findings.length;
    await note(unit, loopOf(nameOf(unit, null, units.length)), review);
    failures = review.stopReason === "model_error" ? failures + 1 : 0;
    return { ...review, name: name || "1", files: unit.files, start };
  };
  const passes = await pMap(
    tasks,
    async (task, index) => {
      const pass = await reviewTask(task, index);
      done += 1;
      if (tasks.length > 1) deps.progress({ type: "unit", done, total: tasks.length });
      return pass;
    },
    { concurrency: CONCURRENCY },
  );
  const reviews = passes.filter((pass) => pass !== null);
  return { units, loopsAUnit: focuses.length, reviews, overflow, stops, unplanned: left.length, predicted };
}

/** With verification, a part of tokens and time is kept for it, which grows with the number of findings. */
function createLimits(
  run: ReviewRun,
  tasks: readonly PassTask[],
  found: () => number,
): (index: number) => PassLimits {
  const { limits, config } = run.input;
  const { budget: all, timeLeft } = run.limits;
  const isVerified = config.effort !== "low";
  const kept = () => Math.min(LOOKING_SHARE, (MIN_LOOKS + found()) * (LOOK_TOKENS / limits.tokens));
  const budget = isVerified ? all.part(() => 1 - kept()) : all;
  const reserved = isVerified ? timeLeft() * LOOKING_SHARE : 0;
  return (index) => {
    const milliseconds = timeLeft() - reserved;
    if (tasks.length === 1) return { budget, milliseconds, tokens: limits.tokens };
    const bytes = tasks[index]?.unit.diffBytes ?? 0;
    const weight = tasks.slice(index).reduce((sum, { unit }) => sum + unit.diffBytes, 0);
    const part = Math.min(1, (UNIT_SLACK * bytes) / Math.max(1, weight));
    const tokens = Math.max(MIN_UNIT_TOKENS, Math.ceil(budget.tokensLeft() * part));
    return { budget, milliseconds, tokens };
  };
}

/** Why no further loop may start; null if one may. Checked first, because reading the first messages takes seconds. */
function whyNoMore(
  { deps }: ReviewRun,
  { loop }: PassTask,
  { budget, milliseconds }: PassLimits,
  failures: number,
): StopReason | null {
  if (deps.signal.aborted) return "aborted";
  if (failures >= CONCURRENCY) return "model_error";
  if (milliseconds <= 1) return "time_limit";
  // The recorded turns of an earlier run are paid for.
  if (deps.replay.some((entry) => entry.loop === loop)) return null;
  const hold = budget.reserve(LEAST_REQUEST_TOKENS);
  if (typeof hold === "string") return hold;
  hold.settle(null);
  return null;
}

/** Called at the end of each loop over a unit; `name` identifies the unit in the record. */
type NoteUnit = (unit: Unit, name: string, review: UnitReview) => Promise<void>;

/**
 * Records complete units, so that the next review does not read them again if a push cancels this one: all loops finished, every hunk served,
 * every rule match judged, no report lost. Only hunks that this review has read are recorded.
 */
function createUnitNotes(run: ReviewRun, loopsAUnit: number): NoteUnit {
  const { input, deps, change } = run;
  const { coverage, known } = change;
  const ended = new Map<Unit, UnitReview[]>();
  const besides = (unit: Unit) => {
    const own = new Set(unit.files.map(({ change }) => change.path));
    return change.files
      .filter(({ change }) => !own.has(change.path))
      .flatMap((file) => unreadHashes(file, allHunks(file), known.contentHash))
      .slice(0, MAX_CHANGES);
  };
  return async (unit, name, review) => {
    const reviews = [...(ended.get(unit) ?? []), review];
    ended.set(unit, reviews);
    if (input.history === null || reviews.length < loopsAUnit) return;
    if (reviews.some(({ stopReason, lost }) => stopReason !== "finished" || lost.length > 0)) return;
    if (unit.files.some((file) => coverage.unshown(file.change.path).length > 0)) return;
    const judged = new Set(
      reviews.flatMap(({ answers }) => [...answers.reported, ...answers.rejected.keys()]),
    );
    if ((await newRuleMatches(change, unit.files)).some(({ id }) => !judged.has(id))) return;
    await deps.trajectory.append({
      kind: "unit",
      head: deps.workspace.shas.head,
      loop: name,
      hashes: unit.files.flatMap((file) =>
        readHashes(file, coverage, known.contentHash, known.known(file.change.path)),
      ),
      beside: besides(unit),
      findings: reviews.flatMap(({ findings }) => findings),
      summary: reviews.find((one) => one.summary !== null)?.summary ?? "",
    });
  };
}

/** The file with the share of its diff that is new: files that were read would otherwise use up the budget of the others. */
function ofNewHunks(file: ChangedFile, known: ReviewedHunks): ChangedFile {
  const read = known.known(file.change.path).size;
  if (read === 0) return file;
  return { ...file, diffBytes: Math.ceil(file.diffBytes * (1 - read / file.totalHunks)) };
}

/** Plans the new hunks as units that fit into the model's window, as far as the budget allows. */
export async function planReview({ change, input, deps }: ReviewRun): Promise<Plan> {
  const { files, matches, known } = change;
  const ours = [
    ...matches.certain,
    ...matches.likely.filter((one) => !isOfOther(one)).map(({ finding }) => finding),
  ];
  const counts = [...Map.groupBy(ours, ({ path }) => path)].map(
    ([path, { length }]) => [path, length] as const,
  );
  return planUnits({
    files: files.filter((file) => known.hasNew(file.change.path)).map((file) => ofNewHunks(file, known)),
    unitBytes: unitBytes(deps.models.review),
    totalBytes: (input.limits.tokens * BYTES_PER_TOKEN) / focusesOf(input.config.effort).length,
    headStart: async (path) => (await deps.workspace.headStart(path, FIRST_BYTES)).text,
    matches: new Map(counts),
  });
}

/** "2", "around", "2 around", or "" if there is only one loop. */
function nameOf(unit: Unit, focus: Focus | null, units: number): string {
  return [...(units > 1 ? [unit.id] : []), ...(focus ? [focus.name] : [])].join(" ");
}

/** "review" if there is only one loop, else with the unit and focus. */
const loopOf = (name: string) => (name === "" ? "review" : `review:${name.replace(" ", ":")}`);
