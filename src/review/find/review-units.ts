import pMap from "p-map";
import type { TokenBudget } from "../../agent/limits.ts";
import type { AgentResult } from "../../agent/run-agent.ts";
import type { StopReason } from "../../agent/trajectory.ts";
import { type Finding, isOfOwnRule, toolOf, worstFirst } from "../../finding.ts";
import type { Message } from "../../llm/model.ts";
import { byteLength } from "../../text/cut.ts";
import { graphTools, journalTools, judgingTools, reportingTools } from "../../tools/index.ts";
import { withNamedRules } from "../../tools/report-finding.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import { firstMessages } from "../context/first-messages.ts";
import {
  allHunks,
  countReviewed,
  filesWithNewHunks,
  MAX_CHANGES,
  readHashes,
  unreadHashes,
} from "../followup/known-change.ts";
import { type Plan, planUnits, type Unit } from "../plan/plan-units.ts";
import type { Prediction } from "../review-result.ts";
import type { ReviewRun } from "../review-run.ts";
import { roomFor, runLoop, unitBytes, type Window, windowFor } from "../run-loop.ts";
import { createCoverageGate, createReviewCoverage } from "./coverage-gate.ts";
import { collectFindings } from "./finding-collector.ts";
import { type Focus, focusesOf } from "./focus.ts";
import { firstRequestTokens, predictReview } from "./predict.ts";
import { createReportWatch, type LostReport } from "./report-watch.ts";
import {
  createRuleMatchAnswers,
  type RuleMatch,
  type RuleMatchAnswers,
  ruleMatchLine,
} from "./rule-matches.ts";

interface UnitTask {
  loop: string;
  files: readonly ChangedFile[];
  /** Null to look for everything. */
  focus: string | null;
  /** Only the first of several loops over one unit must answer the rule matches. */
  answersCandidates: boolean;
  window: Window;
  budget: TokenBudget;
  /** Limit of tokens. */
  tokens: number;
  /** Limit of wall time. */
  milliseconds: number;
}

/** The result of one loop. */
interface UnitReview {
  findings: readonly Finding[];
  /** Reported in code that an earlier review has read; not kept. */
  readBefore: readonly Finding[];
  /** Reports that were refused and not repeated. */
  lost: readonly LostReport[];
  /** Its answers to the rule matches that it was shown. */
  answers: Pick<RuleMatchAnswers, "reported" | "rejected">;
  /** Null if the model did not finish. */
  summary: string | null;
  stopReason: StopReason;
  modelError: AgentResult["modelError"];
}

/** The first messages of every loop over a unit. */
export interface UnitStart {
  messages: readonly Message[];
  /** Hunks in the messages. */
  shown: readonly { path: string; hunk: number }[];
  /** Rule matches in the messages, which must be answered. */
  likely: readonly RuleMatch[];
  /** Ids of rule matches in these files that did not fit. */
  overflow: readonly string[];
}

export async function startUnit(
  run: ReviewRun,
  { files, window }: Pick<UnitTask, "files" | "window">,
): Promise<UnitStart> {
  const { workspace, diffs, isPrivate, signal, now } = run.deps;
  const shown: { path: string; hunk: number }[] = [];
  const paths = new Set(files.map(({ change }) => change.path));
  const likely = await newRuleMatches(run, files);
  const shownLikely = worstThatFit(likely, roomFor(run.models.review, MAX_LIKELY_BYTES, LIKELY_SHARE));
  const messages = await firstMessages({
    ...{ workspace, diffs, isPrivate, signal, now, files },
    input: run.input,
    shas: workspace.shas,
    allFiles: run.files,
    graph: run.graph,
    known: countReviewed(run.files, run.known) > 0 ? run.known : null,
    commits: run.commits,
    matches: { certain: run.matches.certain.filter(({ path }) => paths.has(path)), likely: shownLikely },
    coverage: { serve: (path, hunk) => void shown.push({ path, hunk }) },
    diffBytes: window.diffBytes,
    contextBytes: window.contextBytes,
  });
  const overflow = likely.filter((one) => !shownLikely.includes(one)).map(({ id }) => id);
  return { messages, shown, likely: shownLikely, overflow };
}

/** Maximum number of rule matches in one loop. */
const MOST_LIKELY = 60;
const MAX_LIKELY_BYTES = 12_000;
const LIKELY_SHARE = 0.06;

/**
 * As many of the worst rule matches as fit, in their original order. Those of built-in rules go before those of the repository's own, and
 * these before those of other tools, which anyone may have written.
 */
function worstThatFit(candidates: readonly RuleMatch[], maxBytes: number): RuleMatch[] {
  let left = maxBytes;
  const fitting = candidates
    .toSorted((a, b) => rankOf(a) - rankOf(b) || worstFirst(a.finding, b.finding))
    .slice(0, MOST_LIKELY)
    .filter((one) => {
      left -= byteLength(ruleMatchLine(one)) + 1;
      return left >= 0;
    });
  const kept = new Set(fitting);
  return candidates.filter((one) => kept.has(one));
}

const rankOf = (match: RuleMatch) => (isOfOther(match) ? 2 : Number(isOfOwnRule(match.finding)));

const isOfOther = ({ finding }: RuleMatch) => toolOf(finding.source) !== null;

/** The rule matches in these files, without those in hunks that an earlier review has read and answered. */
export async function newRuleMatches(
  { known, matches }: Pick<ReviewRun, "known" | "matches">,
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

/**
 * The tools of the review and of the verification of what it reported. The definitions come first in a request, so one list for both is what
 * lets the provider's cache hold across them. Each loop refuses the tools of the other.
 */
export const reviewTools = ({
  graph,
  rules,
  deps: { journal },
}: Pick<ReviewRun, "graph" | "rules" | "deps">) => [
  ...ownReportingTools(rules),
  ...judgingTools,
  ...(graph ? graphTools : []),
  ...(journal ? journalTools : []),
];

const ownReportingTools = (rules: ReviewRun["rules"]) =>
  withNamedRules(
    reportingTools,
    rules.map(({ name }) => name),
  );

/** Reviews one unit in one loop. Findings are kept if the loop stops early. */
async function reviewUnit(run: ReviewRun, unit: UnitTask, start: UnitStart): Promise<UnitReview> {
  const { input, deps, graph, coverage: whole } = run;
  const { diffs, progress, journal } = deps;
  const { files, window, budget } = unit;
  const coverage = createReviewCoverage(files, whole, run.known);
  for (const { path, hunk } of start.shown) coverage.serve(path, hunk);
  const answers = createRuleMatchAnswers(start.likely);
  const unanswered = unit.answersCandidates ? answers.unanswered : () => [];
  const gate = createCoverageGate({ files, diffs, coverage, unanswered, portionBytes: window.portionBytes });
  const collector = collectFindings(run, answers, gate.refuseToFinish);
  const watch = createReportWatch();
  const tell = () => {
    const { served, total } = whole.counts();
    progress({ type: "coverage", served, total });
  };
  tell();
  const { stopReason, modelError } = await runLoop(run, {
    loop: unit.loop,
    role: "review",
    messages: withFocus(start, unit),
    outputTools: [...ownReportingTools(run.rules), ...(journal ? journalTools : [])],
    offeredTools: reviewTools(run),
    ports: { report: collector, ...(journal && { journal }), ...(graph && { graph }) },
    ...{ coverage, budget },
    turns: input.limits.turns,
    tokens: unit.tokens,
    milliseconds: unit.milliseconds,
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
function withFocus(
  { messages, likely }: UnitStart,
  { focus, answersCandidates }: Pick<UnitTask, "focus" | "answersCandidates">,
): Message[] {
  const last = messages.at(-1);
  if (focus === null || last?.role !== "user") return [...messages];
  const candidates = answersCandidates || likely.length === 0 ? "" : `${ANSWERED_ELSEWHERE}\n`;
  return [
    ...messages.slice(0, -1),
    { role: "user", content: `${last.content}\n\n# This pass\n${candidates}${focus}` },
  ];
}

const ANSWERED_ELSEWHERE =
  "Another pass answers the rule matches: report one only if it is a fault of the kind that you look for, and reject none.";

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
  /** Number of loops over each unit. */
  loopsAUnit: number;
  reviews: readonly Pass[];
  /** Ids of the rule matches that did not fit into the first message of their unit. */
  overflow: ReadonlySet<string>;
  /** Why some units were not started. */
  stops: readonly StopReason[];
  /** Number of files for which the budget was too small. */
  unplanned: number;
  /** Predicted usage. */
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
  const plan = await planReview(run);
  const { units, left } = plan;
  const { effort } = run.input.config;
  let found = 0;
  // The reserve for verification grows with the number of findings.
  const kept = () => Math.min(LOOKING_SHARE, (MIN_LOOKS + found) * (LOOK_TOKENS / run.input.limits.tokens));
  const budget = effort === "low" ? run.budget : run.budget.part(() => 1 - kept());
  const tasks = units.flatMap((unit) => focusesOf(effort).map((lens) => ({ unit, lens })));
  const reserved = effort === "low" ? 0 : run.timeLeft() * LOOKING_SHARE;
  const timeLeft = () => run.timeLeft() - reserved;
  const taskOf = (index: number) => unitTask(run, { tasks, index, units: units.length, budget, timeLeft });

  const starts = createStarts(run);
  const loopsAUnit = focusesOf(effort).length;
  const note = createUnitNotes(run, loopsAUnit);
  const first = tasks.length > 0 ? await starts.of(taskOf(0)) : null;
  const predicted =
    first &&
    predictReview({
      ...{ plan, effort, known: run.known },
      firstTokens: firstRequestTokens(first.messages),
      limitTokens: run.input.limits.tokens,
    });
  run.deps.progress({ type: "phase", phase: "review" });
  let done = 0;
  const ended = () => {
    done += 1;
    if (tasks.length > 1) run.deps.progress({ type: "unit", done, total: tasks.length });
  };
  let failures = 0;
  const overflow = new Set<string>();
  const stops: StopReason[] = left.length > 0 ? ["token_limit"] : [];
  const passes = await pMap(
    tasks,
    async ({ unit, lens }, index): Promise<Pass | null> => {
      const task = taskOf(index);
      const stop = whyNoMore(run, task, failures);
      if (stop) {
        stops.push(stop);
        ended();
        return null;
      }
      const start = await starts.of(task);
      for (const id of start.overflow) overflow.add(id);
      if (tasks[index + 1]?.unit !== unit) starts.forget(task);
      const review = await reviewUnit(run, task, start);
      found += review.findings.length;
      await note(unit, loopOf(unit, null, units.length), review);
      ended();
      failures = review.stopReason === "model_error" ? failures + 1 : 0;
      return { ...review, name: nameOf(unit, lens, units.length) || "1", files: unit.files, start };
    },
    { concurrency: CONCURRENCY },
  );
  const reviews = passes.filter((pass) => pass !== null);
  return { units, loopsAUnit, reviews, overflow, stops, unplanned: left.length, predicted };
}

/** Why no further loop may start; null if one may. Checked first, because reading the first messages takes seconds. */
function whyNoMore(
  { deps, replayOf }: ReviewRun,
  { loop, budget, milliseconds }: UnitTask,
  failures: number,
): StopReason | null {
  if (deps.signal.aborted) return "aborted";
  if (failures >= CONCURRENCY) return "model_error";
  if (milliseconds <= 1) return "time_limit";
  // The recorded turns of an earlier run are paid for.
  if (replayOf(loop).length > 0) return null;
  const hold = budget.reserve(LEAST_REQUEST_TOKENS);
  if (typeof hold === "string") return hold;
  hold.settle(null);
  return null;
}

/** Called at the end of each loop over a unit; `name` identifies the unit in the record. */
type NoteUnit = (unit: Unit, name: string, review: UnitReview) => Promise<void>;

/**
 * Records the units that are complete: all of their loops have finished, every hunk was served, every rule match was judged, and no report
 * was lost.
 * If a push cancels this review, the next one does not read them again. Only hunks that this review has read are recorded.
 */
function createUnitNotes(run: ReviewRun, loopsAUnit: number): NoteUnit {
  const { input, deps, coverage, known } = run;
  const ended = new Map<Unit, UnitReview[]>();
  const besides = (unit: Unit) => {
    const own = new Set(unit.files.map(({ change }) => change.path));
    return run.files
      .filter(({ change }) => !own.has(change.path))
      .flatMap((file) => unreadHashes(file, allHunks(file), known.contentHash))
      .slice(0, MAX_CHANGES);
  };
  return async (unit, name, review) => {
    const reviews = [...(ended.get(unit) ?? []), review];
    ended.set(unit, reviews);
    if (input.history === null || reviews.length < loopsAUnit) return;
    if (reviews.some(({ stopReason, lost }) => stopReason !== "finished" || lost.length > 0)) return;
    if (unit.files.some(({ change }) => coverage.unshown(change.path).length > 0)) return;
    const judged = new Set(
      reviews.flatMap(({ answers }) => [...answers.reported, ...answers.rejected.keys()]),
    );
    if ((await newRuleMatches(run, unit.files)).some(({ id }) => !judged.has(id))) return;
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

/** Caches the first messages of a unit until its last loop has started. */
function createStarts(run: ReviewRun) {
  const made = new Map<readonly ChangedFile[], Promise<UnitStart>>();
  return {
    of(task: UnitTask): Promise<UnitStart> {
      const start = made.get(task.files) ?? startUnit(run, task);
      made.set(task.files, start);
      return start;
    },
    forget: ({ files }: Pick<UnitTask, "files">) => made.delete(files),
  };
}

interface Tasks {
  tasks: readonly { unit: Unit; lens: Focus | null }[];
  index: number;
  units: number;
  budget: TokenBudget;
  /** Milliseconds for reading. */
  timeLeft(): number;
}

function unitTask(run: ReviewRun, { tasks, index, units, budget, timeLeft }: Tasks): UnitTask {
  const { unit, lens } = tasks[index] as (typeof tasks)[number];
  const weight = tasks.slice(index).reduce((sum, task) => sum + task.unit.diffBytes, 0);
  const part = Math.min(1, (UNIT_SLACK * unit.diffBytes) / Math.max(1, weight));
  return {
    loop: loopOf(unit, lens, units),
    files: unit.files,
    focus: lens?.focus ?? null,
    answersCandidates: lens === null || lens === focusesOf(run.input.config.effort)[0],
    window: windowFor(run.models.review, unit.diffBytes, units === 1),
    budget,
    tokens:
      tasks.length === 1
        ? run.input.limits.tokens
        : Math.max(MIN_UNIT_TOKENS, Math.ceil(budget.tokensLeft() * part)),
    milliseconds: timeLeft(),
  };
}

/** Plans the new hunks as units that fit into the model's window, as far as the budget allows. */
export async function planReview({ files, matches, models, input, deps, known }: ReviewRun): Promise<Plan> {
  const ours = [
    ...matches.certain,
    ...matches.likely.filter((one) => !isOfOther(one)).map(({ finding }) => finding),
  ];
  const counts = [...Map.groupBy(ours, ({ path }) => path)].map(
    ([path, { length }]) => [path, length] as const,
  );
  return planUnits({
    files: await filesWithNewHunks(files, known, deps.diffs),
    unitBytes: unitBytes(models.review),
    totalBytes: (input.limits.tokens * BYTES_PER_TOKEN) / focusesOf(input.config.effort).length,
    headStart: async (path) => (await deps.workspace.headStart(path, FIRST_BYTES)).text,
    matches: new Map(counts),
  });
}

/** "2", "around", "2 around", or "" if there is only one loop. */
function nameOf(unit: Unit, lens: Focus | null, units: number): string {
  return [...(units > 1 ? [unit.id] : []), ...(lens ? [lens.name] : [])].join(" ");
}

/** "review" if there is only one loop, else with the unit and focus. */
const loopOf = (unit: Unit, lens: Focus | null, units: number) =>
  ["review", nameOf(unit, lens, units).replace(" ", ":")].filter((name) => name !== "").join(":");
