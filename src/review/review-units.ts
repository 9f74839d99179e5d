import pMap from "p-map";
import type { Account } from "../agent/account.ts";
import type { StopReason } from "../agent/events.ts";
import type { ChangedFile } from "../tools/tool.ts";
import { filesToRead } from "./known/files-to-read.ts";
import { allHunks, unreadHashes } from "./known/known-change.ts";
import { MAX_CHANGES, readHashes } from "./known/reviewed-now.ts";
import { type Lens, lensesOf } from "./lenses.ts";
import { type Plan, planUnits, type Unit } from "./plan/plan-units.ts";
import { firstRequestTokens, predictReview } from "./predict.ts";
import type { Prediction } from "./review-result.ts";
import type { ReviewRun } from "./review-run.ts";
import {
  candidatesIn,
  reviewUnit,
  startUnit,
  type UnitReview,
  type UnitStart,
  type UnitTask,
} from "./review-unit.ts";
import { unitBytes, windowFor } from "./window.ts";

/** One loop over one unit, as the merging pass knows it. */
export interface Pass extends UnitReview {
  /** "2", "2 contracts" or "contracts". */
  name: string;
  files: readonly ChangedFile[];
}

/** What all passes over all units came to. */
export interface Passes {
  units: readonly Unit[];
  /** How many loops look at each unit. */
  loopsAUnit: number;
  reviews: readonly Pass[];
  /** Ids of the rule matches that the first message of their unit had no room for. */
  overflow: ReadonlySet<string>;
  /** Why units were not begun at all. */
  stops: readonly StopReason[];
  /** Files for which the budget had no room. */
  unplanned: number;
  /** What it was expected to take. */
  predicted: Omit<Prediction, "cost_usd"> | null;
}

/** Loops at the same time; so many that fail in a row tell that the model cannot be asked at all. */
const CONCURRENCY = 4;
/** At most this part of tokens and time is kept for looking at each finding again and for merging. */
const LOOKING_SHARE = 0.25;
/** What one second look may well take; so many are kept room for before anything was found. */
const LOOK_TOKENS = 30_000;
const MIN_LOOKS = 2;
/** A unit may use this many times its part of what is left: most need less than theirs. */
const UNIT_SLACK = 3;
/** A loop that has less than this is over before it has read anything. */
const MIN_UNIT_TOKENS = 20_000;
/** Instructions and tools alone are more. */
const LEAST_REQUEST_TOKENS = 2_000;
const FIRST_BYTES = 4_096;
/** Tokens of a request are about a third of its bytes at worst; the rest of the budget is for the turns after the first. */
const BYTES_PER_TOKEN = 3;

/** Divides the change and has each part read, the riskiest first, several at once. */
export async function reviewUnits(run: ReviewRun): Promise<Passes> {
  const plan = await planReview(run);
  const { units, left } = plan;
  const { effort } = run.input.config;
  let found = 0;
  // What is kept for second looks grows with what there is to look at.
  const kept = () => Math.min(LOOKING_SHARE, (MIN_LOOKS + found) * (LOOK_TOKENS / run.input.limits.tokens));
  const account = effort === "low" ? run.account : run.account.part(() => 1 - kept());
  const tasks = units.flatMap((unit) => lensesOf(effort).map((lens) => ({ unit, lens })));
  const reserved = effort === "low" ? 0 : run.timeLeft() * LOOKING_SHARE;
  const timeLeft = () => run.timeLeft() - reserved;
  const taskOf = (index: number) => unitTask(run, { tasks, index, units: units.length, account, timeLeft });

  const starts = createStarts(run);
  const loopsAUnit = lensesOf(effort).length;
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
      return { ...review, name: nameOf(unit, lens, units.length) || "1", files: unit.files };
    },
    { concurrency: CONCURRENCY },
  );
  const reviews = passes.filter((pass) => pass !== null);
  return { units, loopsAUnit, reviews, overflow, stops, unplanned: left.length, predicted };
}

/** Why no further loop is begun; null when one may be. What one begins with takes seconds to read, also where it would end at once. */
function whyNoMore(
  { deps, replayOf }: ReviewRun,
  { loop, account, milliseconds }: UnitTask,
  failures: number,
): StopReason | null {
  if (deps.signal.aborted) return "aborted";
  if (failures >= CONCURRENCY) return "model_error";
  if (milliseconds <= 1) return "time_limit";
  // One that an earlier run has begun is paid for as far as it came.
  if (replayOf(loop).length > 0) return null;
  const hold = account.hold(LEAST_REQUEST_TOKENS);
  if (typeof hold === "string") return hold;
  hold.settle(null);
  return null;
}

/** Told of each loop over a unit that has ended; `name` names the unit in the record. */
type NoteUnit = (unit: Unit, name: string, review: UnitReview) => Promise<void>;

/**
 * Notes down the units that are done with: all of their loops have finished, every hunk was served, and every rule match was
 * judged. Where a push calls the review off, the next one need not read them again. Only what this review has read itself is
 * noted.
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
    if (reviews.some(({ stopReason }) => stopReason !== "finished")) return;
    if (unit.files.some(({ change }) => coverage.unshown(change.path).length > 0)) return;
    const judged = new Set(
      reviews.flatMap(({ answers }) => [...answers.reported, ...answers.rejected.keys()]),
    );
    if ((await candidatesIn(run, unit.files)).some(({ id }) => !judged.has(id))) return;
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

/** What loops over a unit begin with is read once, and forgotten when the last of them has it. */
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
  tasks: readonly { unit: Unit; lens: Lens | null }[];
  index: number;
  units: number;
  account: Account;
  /** Milliseconds for reading. */
  timeLeft(): number;
}

function unitTask(run: ReviewRun, { tasks, index, units, account, timeLeft }: Tasks): UnitTask {
  const { unit, lens } = tasks[index] as (typeof tasks)[number];
  const weight = tasks.slice(index).reduce((sum, task) => sum + task.unit.diffBytes, 0);
  const part = Math.min(1, (UNIT_SLACK * unit.diffBytes) / Math.max(1, weight));
  return {
    loop: loopOf(unit, lens, units),
    files: unit.files,
    focus: lens?.focus ?? null,
    answersCandidates: lens === null || lens === lensesOf(run.input.config.effort)[0],
    window: windowFor(run.models.review, unit.diffBytes, units === 1),
    account,
    tokens:
      tasks.length === 1
        ? run.input.limits.tokens
        : Math.max(MIN_UNIT_TOKENS, Math.ceil(account.tokensLeft() * part)),
    milliseconds: timeLeft(),
  };
}

/** What is new of the change in units as large as the model's window allows, as far as the budget reaches. */
export async function planReview({ files, matches, models, input, deps, known }: ReviewRun): Promise<Plan> {
  const counts = new Map<string, number>();
  for (const { path } of [...matches.certain, ...matches.likely.map(({ finding }) => finding)])
    counts.set(path, (counts.get(path) ?? 0) + 1);
  return planUnits({
    files: await filesToRead(files, known, deps.diffs),
    unitBytes: unitBytes(models.review),
    totalBytes: (input.limits.tokens * BYTES_PER_TOKEN) / lensesOf(input.config.effort).length,
    headStart: async (path) => (await deps.workspace.headStart(path, FIRST_BYTES)).text,
    candidates: counts,
  });
}

/** "2", "contracts", "2 contracts", or nothing for the one pass over everything. */
function nameOf(unit: Unit, lens: Lens | null, units: number): string {
  return [...(units > 1 ? [unit.id] : []), ...(lens ? [lens.name] : [])].join(" ");
}

/** A review of one pass has one loop, "review"; others say which unit and which lens. */
const loopOf = (unit: Unit, lens: Lens | null, units: number) =>
  ["review", nameOf(unit, lens, units).replace(" ", ":")].filter((name) => name !== "").join(":");
