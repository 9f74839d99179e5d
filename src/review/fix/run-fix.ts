import type { StopReason } from "../../agent/trajectory.ts";
import { AppError } from "../../errors.ts";
import { isCertain, type ProofTest } from "../../finding.ts";
import type { Edit } from "../../git/workspace.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { changingTools, commandTools, fixingTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { CommandPort, EditPort, FixPort, FixReport } from "../../tools/tool.ts";
import { createAnchorFiles } from "../find/anchor.ts";
import { mayLackCertain, runAnalyzers } from "../find/rule-matches.ts";
import { recheckFinding } from "../followup/recheck.ts";
import type { TestPort } from "../prove/run-prove.ts";
import type { ReviewDependencies } from "../review-run.ts";
import { runLoop, startPlaceRun, totalUsage, whoAnswered } from "../run-loop.ts";
import { type FixScope, type Refusal, reasonByPath, reasonToKeep } from "./check-edits.ts";
import { type RepairTest, testRepair } from "./finding-tests.ts";
import type { EditedFile, FixInput, FixResult, FixTarget, Repair, TriedOut } from "./fix-input.ts";
import { type FixRun, fixMessages, type NamedTarget, spotOf } from "./fix-messages.ts";
import { createTriedCommands, type FixCommands, stateOf, type TriedCommands } from "./tried-commands.ts";

type RepairCheck = NonNullable<Repair["check"]>;

/** The results of verifying repairs, by the names of their findings. */
type Checks = ReadonlyMap<string, RepairCheck>;

/** The results of the findings' own tests, by the names of the findings. */
type Tests = ReadonlyMap<string, RepairTest>;

const claimedBy = ({ repairs }: FixReport, targets: readonly NamedTarget[]) =>
  targets.filter(({ name }) => repairs.some((one) => one.repaired && one.finding === name));

/** Runs the test of each repaired finding that has one. */
async function testRepairs(
  { deps }: FixRun,
  tests: TestPort | undefined,
  { claimed, edits, scope }: { claimed: readonly NamedTarget[]; edits: readonly Edit[]; scope: FixScope },
): Promise<Tests> {
  const { workspace, signal } = deps;
  const results = new Map<string, RepairTest>();
  const paths = new Set<string>();
  const testIt = async (test: ProofTest): Promise<RepairTest> => {
    if (!tests) return { state: "not_run", reason: "there is no sandbox for it" };
    if (paths.has(test.path)) return { state: "not_run", reason: "another finding has a test of that name" };
    paths.add(test.path);
    return await testRepair(test, { tests, workspace, edits, scope, signal });
  };
  for (const { name, target } of claimed) if (target.test) results.set(name, await testIt(target.test));
  return results;
}

/**
 * Verifies each repaired finding in the edited code, like a finding whose code a push has changed: by a loop that does not know who
 * edited it. Certain findings are verified by their analyzer. Where the finding's own test fails, nobody needs to look.
 *
 * @param round from 1; each round has loops of its own
 */
async function verifyRepairs(
  run: FixRun,
  repaired: readonly NamedTarget[],
  tests: Tests,
  round: number,
): Promise<Checks> {
  const { workspace, diffs } = run.deps;
  const now: FixRun = {
    ...run,
    anchorFile: createAnchorFiles(workspace, diffs),
    files: await diffs.files(),
  };
  const checks = new Map<string, RepairCheck>();
  for (const { name, target } of repaired) {
    const test = tests.get(name);
    if (test?.state === "fails") {
      checks.set(name, { state: "present", reason: `Its test fails: ${test.reason}` });
      continue;
    }
    if (isCertain(target)) {
      checks.set(name, await ruleCheck(run, now, target, repaired));
      continue;
    }
    const { title, finding: text, files } = target;
    const loop = round === 1 ? `fix:check:${name}` : `fix:check:${name}:${round}`;
    const spot = { ...spotOf(target), place: null };
    const { state, reason } = await recheckFinding(now, { ...spot, title, text, files, loop });
    checks.set(name, { state, reason });
  }
  return checks;
}

/**
 * Whether an analyzer finds fewer matches than before, in the files of its findings and in the edited files, because a match may have
 * moved. Its findings are fixed together or not at all, because it is unknown which matches are left.
 */
async function ruleCheck(
  before: FixRun,
  now: FixRun,
  { source }: FixTarget,
  repaired: readonly NamedTarget[],
): Promise<RepairCheck> {
  const isOfAnalyzer = (one: { source: string | null }) => analyzerOf(one) === analyzerOf({ source });
  const wanted = repaired.map(({ target }) => target).filter(isOfAnalyzer);
  const paths = new Set([...wanted.map(({ path }) => path), ...editedPaths(before, now)]);
  const matches = async ({ files, deps }: FixRun) => {
    const { findings, unfinished } = await runAnalyzers(
      files.filter(({ change }) => paths.has(change.path)),
      deps,
    );
    return unfinished.some(mayLackCertain) ? null : findings.filter(isOfAnalyzer);
  };
  const [old, left] = [await matches(before), await matches(now)];
  if (old === null || left === null)
    return {
      state: "unsure",
      reason: `The analyzer did not finish on ${[...paths].map(showPath).join(", ")}.`,
    };
  if (left.length <= old.length - wanted.length)
    return { state: "fixed", reason: "The rule no longer matches." };
  const places = left.map(({ path, line }) => `${showPath(path)}:${line}`).join(", ");
  return { state: "present", reason: `The rule ${source} still matches ${places}.` };
}

const analyzerOf = ({ source }: { source: string | null }) => source?.split("/")[0];

function editedPaths(before: FixRun, now: FixRun): string[] {
  const known = new Map(before.files.map(({ change }) => [change.path, change.newOid]));
  const paths = now.files
    .map(({ change }) => change)
    .filter(({ path, newOid }) => known.get(path) !== newOid);
  return paths.map(({ path }) => path);
}

/** The state of a fix when its model finished. */
interface FinishedFix {
  report: FixReport;
  edits: readonly Edit[];
  tried: TriedOut;
  checks: Checks;
  tests: Tests;
  /** How often the model has finished. */
  rounds: number;
}

interface Finish extends FixPort {
  /** The last finish; null if there was none. Later edits do not count. */
  last(): FinishedFix | null;
}

interface FinishOptions {
  run: FixRun;
  targets: readonly NamedTarget[];
  files: EditPort;
  tried: TriedCommands;
  tests: TestPort | undefined;
  scope: FixScope;
}

/** A repair that verification rejects is sent back once. */
const ROUNDS = 2;

const none: ReadonlyMap<string, never> = new Map<string, never>();

/** The finish of a fix: the report must be complete, available commands must have run, and each repair is verified. */
function createFinish({ run, targets, files, tried, tests, scope }: FinishOptions): Finish {
  let last: FinishedFix | null = null;
  let askedInRound = 0;

  async function whyUntried(round: number): Promise<string | null> {
    if (!tried.port || askedInRound === round) return null;
    if ((await files.edits()).length === 0 || (await tried.now()).commands.length > 0) return null;
    askedInRound = round;
    const names = Object.keys(tried.port.allowed).join(", ");
    return `no command was run on the files as they are now: call run_command (${names}), or finish again where none of them says anything`;
  }

  return {
    last: () => last,
    async finish(report) {
      const round = (last?.rounds ?? 0) + 1;
      const reason = (await whyUnfinished(report, targets, files)) ?? (await whyUntried(round));
      if (reason !== null) return { ok: false, reason };
      const edits = await files.edits();
      const known = last && isJudged(last, edits, report) ? last : null;
      // Kept before verification, so that the edits survive if the time is up during it.
      const judged: Pick<FinishedFix, "checks" | "tests"> = known ?? { checks: none, tests: none };
      last = { ...judged, report, edits, tried: await tried.now(), rounds: round };
      if (!known) {
        const claimed = claimedBy(report, targets);
        last.tests = await testRepairs(run, tests, { claimed, edits, scope });
        last.checks = await verifyRepairs(run, claimed, last.tests, round);
      }
      const wrong = round < ROUNDS ? stillPresent(last) : [];
      return wrong.length === 0 ? { ok: true } : { ok: false, reason: sentBack(wrong) };
    },
  };
}

/** Whether the same files and repairs were verified before. */
const isJudged = (last: FinishedFix, edits: readonly Edit[], { repairs }: FixReport) =>
  stateOf(last.edits) === stateOf(edits) &&
  repairs.every(({ finding, repaired }) => !repaired || last.checks.has(finding));

function stillPresent({ report, checks }: FinishedFix): string[] {
  return report.repairs.flatMap(({ finding, repaired }) => {
    const check = checks.get(finding);
    return repaired && check?.state === "present" ? [`${finding}: ${check.reason}`] : [];
  });
}

const sentBack = (wrong: readonly string[]) =>
  [
    "somebody who looked at the code as it is now, and does not know of you, or the finding's own test, finds this still there:",
    wrapUntrusted("second look", wrong.join("\n")),
    "Read that code again and repair it; where it cannot be done here, take back what you changed for it and leave it to a person. Then call finish_fix again, for all findings.",
  ].join("\n");

async function whyUnfinished(
  { summary, repairs }: FixReport,
  targets: readonly NamedTarget[],
  files: EditPort,
): Promise<string | null> {
  const names = targets.map(({ name }) => name);
  const told = repairs.map(({ finding }) => finding);
  const unknown = told.find((name, at) => !names.includes(name) || told.indexOf(name) !== at);
  if (unknown !== undefined) return `'${unknown}' is none of ${names.join(", ")}, or was told twice`;
  const missing = names.filter((name) => !told.includes(name));
  if (missing.length > 0) return `say what became of ${missing.join(", ")}`;
  const isEdited = (await files.edits()).length > 0;
  const isRepaired = repairs.some(({ repaired }) => repaired);
  if (isRepaired && !isEdited) return "nothing was changed, so nothing can be repaired: edit, or say why not";
  if (isEdited && !isRepaired)
    return "files were changed, but nothing is repaired: undo that, or say what it repairs";
  return isEdited && summary.trim() === "" ? "say in `summary` what the edits do" : null;
}

/** Maximum number of refused paths on record. */
const MOST = 20;

/** Records which of the model's edits were refused, so that people see what a fix has tried. */
function recordRefusals(edit: EditPort, scope: FixScope): { edit: EditPort; refused(): Refusal[] } {
  const reasons = new Map<string, string>();
  async function noting(path: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      const reason = error instanceof AppError && error.code === "not_allowed" && reasonByPath(path, scope);
      if (reason && reasons.size < MOST) reasons.set(path, reason);
      throw error;
    }
  }
  return {
    edit: {
      read: (path) => edit.read(path),
      edits: () => edit.edits(),
      write: (path, bytes, options) => noting(path, edit.write(path, bytes, options)),
      remove: (path) => noting(path, edit.remove(path)),
    },
    refused: () => [...reasons].map(([path, reason]) => ({ path, reason })),
  };
}

/**
 * Refuses edits at once that would be refused at the end, with an error that the model can act on. This only saves turns; it is not
 * the protection: the parent process checks the final edits again.
 */
export function scopedEdits(
  files: EditPort,
  scope: FixScope,
  isTest: (path: string) => boolean = () => false,
): EditPort {
  const whyNot = (path: string) => reasonByPath(path, scope) ?? (isTest(path) ? IS_ADDED : null);
  const require = (path: string, reason = whyNot(path)) => {
    if (reason === null) return;
    throw new AppError("not_allowed", `'${path}' cannot be changed by a fix: ${reason}`, {
      remedy: "Repair it in the files of the pull request, or leave it to a person and say so in finish_fix",
    });
  };
  return {
    read: (path) => files.read(path),
    edits: () => files.edits(),
    async write(path, bytes, options) {
      require(path);
      await files.write(path, bytes, options);
    },
    async remove(path) {
      require(path);
      const own = (await files.edits()).some(
        ({ path: edited, before }) => edited === path && before === null,
      );
      if (!own) require(path, reasonToKeep(path, scope));
      await files.remove(path);
    },
  };
}

const IS_ADDED = "it is the test of a finding, which is added to the repair as it is";

interface FixDependencies extends ReviewDependencies {
  models: NonNullable<ReviewDependencies["models"]>;
  /** The files that the fix edits; `workspace` and `diffs` see the edits. */
  files: EditPort;
  commands: FixCommands;
  /** Runs the tests of findings that have one: `base` is the head, `head` what the fix makes of it. */
  tests?: TestPort | undefined;
}

/** Share of the tokens that is reserved for verification. */
const KEPT_FOR_CHECKS = 0.3;
/** Share of the time that is reserved for a regular end. */
const KEPT_FOR_THE_END = 0.05;

/**
 * Lets a model repair findings, test the edits if commands are available, and verifies each repair; a rejected repair goes back to the
 * model once. Writes nothing: the result holds the edited files.
 */
export async function runFix(input: FixInput, deps: FixDependencies): Promise<FixResult> {
  const run = await startPlaceRun(input, deps);
  const targets = await nameTargets(run, input);
  const { finished, refused, stopReason } = await repair(run, deps, targets);
  return {
    repairs: targets.map((target) => repairOf(target, finished)),
    ...saidOf(finished),
    refused,
    model: whoAnswered(deps.models.review.name, run.budget.usage),
    stop_reason: stopReason,
    usage: totalUsage(run.budget.usage),
  };
}

async function nameTargets(run: FixRun, { targets }: FixInput): Promise<NamedTarget[]> {
  const named: NamedTarget[] = [];
  for (const [at, target] of targets.entries())
    named.push({ name: `F${at + 1}`, target, file: await run.anchorFile(target.path) });
  return named;
}

interface Repaired {
  /** The last finish of the model; null if it never finished. */
  finished: FinishedFix | null;
  refused: Refusal[];
  stopReason: StopReason;
}

async function repair(
  run: FixRun,
  { files, commands, tests }: FixDependencies,
  targets: readonly NamedTarget[],
): Promise<Repaired> {
  const { limits } = run.input;
  const scope = scopeOf(run, targets);
  const isTest = (path: string) => targets.some(({ target }) => target.test?.path === path);
  const scoped = scopedEdits(files, scope, isTest);
  const tried = createTriedCommands(commands, scoped);
  const { edit, refused } = recordRefusals(scoped, scope);
  const fix = createFinish({ run, targets, files, tried, tests, scope });
  const { stopReason } = await runLoop(run, {
    ...{ loop: "fix", role: "review" },
    messages: await fixMessages(run, targets, tried.port?.allowed ?? {}),
    outputTools: [...changingTools, ...(tried.port ? commandTools : []), ...fixingTools],
    ports: { edit, fix, ...commandsOf(tried.port) },
    budget: run.budget,
    turns: limits.turns,
    tokens: limits.tokens * (1 - KEPT_FOR_CHECKS),
    milliseconds: run.timeLeft() * (1 - KEPT_FOR_THE_END),
  });
  return { finished: fix.last(), refused: refused(), stopReason };
}

const commandsOf = (commands: CommandPort | undefined) => (commands ? { commands } : {});

/** A fix may edit the files of the change, of the findings, and of their evidence. */
function scopeOf({ files, deps }: Pick<FixRun, "files" | "deps">, targets: readonly NamedTarget[]): FixScope {
  const changed = files.map(({ change }) => change.path);
  const named = targets.flatMap(({ target }) => [target.path, ...target.files]);
  return { files: new Set([...changed, ...named]), isPrivate: deps.isPrivate };
}

function repairOf({ name, target: { id, test: wanted } }: NamedTarget, finished: FinishedFix | null): Repair {
  const told = finished?.report.repairs.find(({ finding }) => finding === name);
  const { repaired = false, note = "" } = told ?? {};
  const test = wanted && repaired ? (finished?.tests.get(name) ?? NOT_TESTED) : undefined;
  return {
    id,
    repaired,
    note,
    check: (repaired && finished?.checks.get(name)) || null,
    ...(test && { test }),
  };
}

const NOT_TESTED: RepairTest = { state: "not_run", reason: "the repair ended before it ran" };

const NO_END = "the repair did not finish";

function saidOf(finished: FinishedFix | null): Pick<FixResult, "summary" | "edits" | "tried_out" | "rounds"> {
  if (!finished) return { summary: "", edits: [], tried_out: { commands: [], why_none: NO_END }, rounds: 0 };
  const { report, edits, tried, rounds } = finished;
  const summary = edits.length === 0 ? "" : report.summary;
  return { summary, edits: edits.map(editedFile), tried_out: tried, rounds };
}

const editedFile = ({ path, after }: Edit): EditedFile => ({
  path,
  after: after && { mode: after.mode as "100644" | "100755", base64: after.bytes.toString("base64") },
});
