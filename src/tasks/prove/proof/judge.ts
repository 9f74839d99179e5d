import type { ExecutedFunction, TestEnd } from "../../../agent/record/test-end.ts";
import type { Proof, ProofTest, Revision } from "../../../core/finding.ts";
import { type ChangedCode, keyOf } from "./changed-code.ts";
import { type Failure, readFailure } from "./read-failure.ts";

/** What a test is said to show; the runs decide whether it does. */
export type Claimed = Exclude<Proof["kind"], "not_shown">;

/** The runs of one test, for each revision on which it ran. */
export type TestRuns = Readonly<Partial<Record<Revision, readonly TestEnd[]>>>;

/** The decision. `failure` is that of the head; null if the test passes there. */
export type Judgment = { ok: true; failure: Failure | null } | { ok: false; reason: string };

export interface RanCode {
  changed: ChangedCode;
  /** Of the functions that ran, those that are changed or call a changed one: `ChangedCode.leadingTo`. */
  leading: ReadonlySet<string>;
}

/** How often a test runs on each revision: once may be luck. */
export const RUNS = 2;

/** On which revisions a test must run. */
export const revisionsOf: Readonly<Record<Claimed, readonly Revision[]>> = {
  regression: ["base", "head"],
  reproduced: ["base", "head", "repaired"],
  ran_right: ["head"],
};

/**
 * Decides whether the runs of a test show what is claimed, whatever a model says. `regression`: the merge base passes, the head fails in one
 * way. `reproduced`: the head fails in one way, passes with the suggestion, and the merge base does not pass. `ran_right`: the head passes.
 * The runs at the head must have executed changed code.
 */
export function judge(claimed: Claimed, test: ProofTest, runs: TestRuns, code: RanCode): Judgment {
  const { changed } = code;
  const refused = whyUnusable(revisionsOf[claimed], runs);
  if (refused !== null) return { ok: false, reason: refused };
  const [base, head, repaired] = [outcome(runs.base), outcome(runs.head), outcome(runs.repaired)];
  if (claimed === "ran_right") {
    if (head !== "passes")
      return refuse("it fails at the head, so the code does not do what the test expects");
    return executesChange(runs.head ?? [], changed) ?? { ok: true, failure: null };
  }
  if (head !== "fails") return refuse("it passes at the head, so the fault does not show");
  if (claimed === "regression" && base !== "passes")
    return refuse("it fails at the merge base too: the fault is older, or the test does not run there");
  if (claimed === "reproduced" && base === "passes")
    return refuse("it passes at the merge base: what it shows is a regression");
  if (claimed === "reproduced" && repaired !== "passes") return refuse("it fails with the suggestion too");
  const judgment = judgeFailure(test, runs.head ?? [], changed);
  if (!judgment.ok || claimed !== "regression") return judgment;
  return comparesNothing(runs, code, refusedCall(judgment.failure?.line ?? "", changed)) ?? judgment;
}

const refuse = (reason: string): Judgment => ({ ok: false, reason });

const names: Readonly<Record<Revision, string>> = {
  base: "at the merge base",
  head: "at the head",
  repaired: "with the suggestion",
};

/** Why runs say nothing, whatever is claimed; null if they do. */
function whyUnusable(wanted: readonly Revision[], runs: TestRuns): string | null {
  for (const on of wanted) {
    const ends = runs[on] ?? [];
    if (ends.length < RUNS) return `it did not run ${RUNS} times ${names[on]}`;
    const limited = ends.find(({ ended }) => ended !== null);
    if (limited) return `a run ${names[on]} was ended: ${limits[limited.ended ?? "timeout"]}`;
    const changed = ends.flatMap((end) => end.changed)[0];
    if (changed !== undefined) return `it changes files of the repository or its environment: ${changed}`;
    if (outcome(ends) === "changes") return `it passes once and fails once ${names[on]}`;
  }
  return null;
}

const limits: Readonly<Record<NonNullable<TestEnd["ended"]>, string>> = {
  timeout: "it took too long",
  memory: "it took too much memory",
  files: "it made too many files",
  output: "it printed too much",
};

function outcome(ends: readonly TestEnd[] = []): "passes" | "fails" | "changes" | "none" {
  if (ends.length === 0) return "none";
  if (ends.every(({ exit_code }) => exit_code === 0)) return "passes";
  return ends.every(({ exit_code }) => exit_code !== 0) ? "fails" : "changes";
}

function judgeFailure(test: ProofTest, ends: readonly TestEnd[], changed: ChangedCode): Judgment {
  const failures = ends.map((end) => readFailure(end, test));
  const [first, ...others] = failures;
  if (!first) return refuse("it did not run at the head");
  if (first.kind === "setup") return refuse(`it fails before it tests anything: ${first.line}`);
  if (first.kind === "unknown") return refuse(`it is not known why it fails at the head: ${first.line}`);
  const other = others.find(({ kind, line }) => kind !== first.kind || line !== first.line);
  if (other) return refuse(`it fails in two ways at the head: ${first.line} | ${other.line}`);
  const isTraced = failures.every(({ frames }) => frames.some((frame) => changed.includesLine(frame)));
  if (first.frames.length === 0 && missingName.test(first.line))
    return refuse(`a name that the test uses is gone at the head, which may be meant: ${first.line}`);
  const isRefused = failures.every(({ line }) => refusedCall(line, changed) !== null);
  const refused = isTraced || isRefused ? null : executesChange(ends, changed);
  return refused ?? { ok: true, failure: first };
}

/** What Python and JavaScript say of a name that does not exist, if the test itself uses it. */
const missingName =
  /has no attribute|is not a function|is not a constructor|is not defined|of undefined|of null/;

/** Python checks the arguments of a call before the function runs, so no report names it. */
const badArguments = /^TypeError: (?:[\w.]+\.)?(\w+)\(\) (?:missing|takes|got an unexpected|got multiple)/;

/** The changed function that refuses its arguments, by its key; null if the failure is another. */
function refusedCall(line: string, changed: ChangedCode): string | null {
  const [, name] = badArguments.exec(line) ?? [];
  return name === undefined ? null : changed.named(name);
}

/** Why a test does not show anything about the change: its runs did not execute any of it, or nobody knows. Null if they did. */
function executesChange(ends: readonly TestEnd[], changed: ChangedCode): Judgment | null {
  if (ends.some(({ executed }) => executed === null))
    return refuse("it is not known whether the test runs the changed code");
  const isRun = ends.every(({ executed }) => executed?.some((one) => changed.includes(one)));
  return isRun ? null : refuse("the test does not run the changed code");
}

/** Null if a function that is changed, or calls a changed one, ran on both sides: else a test may skip what is new. */
function comparesNothing(
  { base = [], head = [] }: TestRuns,
  { leading }: RanCode,
  refused: string | null,
): Judgment | null {
  const ran = (ends: readonly TestEnd[]) =>
    ends.map(({ executed }) => new Set((executed ?? []).filter(isNamed).map(keyOf)));
  const sides = [...ran(base), ...ran(head)];
  const isKnown = [...base, ...head].every(({ executed }) => executed !== null);
  const isRefused = refused !== null && ran(base).every((side) => side.has(refused));
  const isShared = isKnown && (isRefused || [...leading].some((key) => sides.every((side) => side.has(key))));
  return isShared
    ? null
    : refuse("at the merge base it does not run the code that changed: nothing is compared");
}

const isNamed = ({ name }: ExecutedFunction) => name !== "";
