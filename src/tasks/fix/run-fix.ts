import { createHash } from "node:crypto";
import type { Message } from "../../agent/llm/model.ts";
import type { StopReason } from "../../agent/record/trajectory.ts";
import { changingTools, commandTools, fixingTools } from "../../agent/tools/index.ts";
import { testPath } from "../../agent/tools/proof-tools.ts";
import {
  type CommandEnd,
  type CommandPort,
  type CommandRequest,
  type EditPort,
  type FixPort,
  type FixReport,
  ToolError,
} from "../../agent/tools/tool.ts";
import { AppError, publicLine } from "../../core/errors.ts";
import { isCertain, type ProofTest } from "../../core/finding.ts";
import { textBelowTitle } from "../../core/ledger/entry.ts";
import { inlineCode, wrapUntrusted } from "../../core/text/fence.ts";
import type { Edit, Workspace } from "../../repo/git/workspace.ts";
import { showPath } from "../../repo/show.ts";
import { type AnchorFile, createAnchorFiles } from "../anchor/anchor.ts";
import { type PlaceRun, startPlaceRun, type WorkDependencies } from "../loop/review-run.ts";
import { cut, openingMessages, pullSection, runLoop, workResult } from "../loop/run-loop.ts";
import { fixPrompt } from "../prompts/prompts.ts";
import { readFailure } from "../prove/proof/read-failure.ts";
import type { TestPort } from "../prove/run-prove.ts";
import { codeNow, recheckFinding } from "../review/followup/recheck.ts";
import { changeAround } from "../review/verify/claim.ts";
import { mayLackCertain, runAnalyzers } from "../rules/rule-matches.ts";
import { type FixScope, type Refusal, reasonByPath, reasonToKeep, refusalsOf } from "./check-edits.ts";
import type {
  CommandRun,
  EditedFile,
  FixInput,
  FixResult,
  FixTarget,
  Repair,
  TriedOut,
} from "./fix-input.ts";

const MAX_FINDING_BYTES = 6_000;
const MAX_CONVERSATION_BYTES = 6_000;

interface FixRun extends PlaceRun {
  input: FixInput;
}

/** A finding with its name in the conversation ("F1") and its file. */
interface NamedTarget {
  name: string;
  target: FixTarget;
  file: AnchorFile | undefined;
}

/** @param commands the allowed commands, by name */
async function fixMessages(
  run: FixRun,
  targets: readonly NamedTarget[],
  commands: Readonly<Record<string, string>>,
): Promise<Message[]> {
  const { pull, targetBranch } = run.input;
  const sections = [pullSection(run, pull)];
  for (const target of targets) sections.push(...(await targetSections(run, target)));
  sections.push(commandsSection(commands));
  const names = targets.map(({ name }) => name).join(", ");
  sections.push(`Repair ${names}. The change is to be merged into \`${targetBranch.replaceAll("`", "'")}\`.`);
  return openingMessages(fixPrompt, sections);
}

/** The commands come from the configuration of the base branch. */
function commandsSection(commands: Readonly<Record<string, string>>): string {
  const lines = Object.entries(commands).map(([name, line]) => `- ${name}: ${inlineCode(line)}`);
  return lines.length === 0 ? "" : ["# What run_command runs", ...lines].join("\n");
}

async function targetSections(run: FixRun, { name, target, file }: NamedTarget): Promise<string[]> {
  const spot = spotOf(target);
  const place = spot.line === null ? "" : `:${spot.line}${target.side === "LEFT" ? " (removed)" : ""}`;
  const finding = cut(run, `${target.title}\n\n${textBelowTitle(target.finding)}`, MAX_FINDING_BYTES);
  return [
    `# ${name}: what was found at ${showPath(target.path)}${place}\n${wrapUntrusted("finding", finding)}`,
    ...(await codeNow(run, spot, file)),
    await changeAround(run, [{ ...target, line: spot.line ?? 1 }]),
    testOf(target),
    conversationOf(run, target),
  ];
}

function spotOf({ path, side, line, original_line, symbol }: FixTarget) {
  const place = line === null ? null : { start: line, end: line };
  return { path, side, symbol, place, line: line ?? original_line };
}

/** The model may read the test, but not change it. */
function testOf({ test }: FixTarget): string {
  if (!test) return "";
  return [
    `# Its test, ${showPath(test.path)}`,
    wrapUntrusted("test", test.text),
    "It fails on the present files. After finish_fix it runs on your files, without your changes to tests, and is added to the repair unchanged: do not write it.",
  ].join("\n");
}

function conversationOf(run: FixRun, { conversation }: FixTarget): string {
  if (conversation.length === 0) return "";
  const messages = conversation.map(({ by, body }) => `${by} wrote:\n  ${body.replaceAll("\n", "\n  ")}`);
  return `# Its thread since then\n${wrapUntrusted("conversation", cut(run, messages.join("\n\n"), MAX_CONVERSATION_BYTES))}`;
}

export function stateOf(edits: readonly Edit[]): string {
  const hash = createHash("sha256");
  for (const { path, after } of edits) {
    const content = after && createHash("sha256").update(after.bytes).digest("hex");
    hash.update(JSON.stringify([path, after?.mode ?? null, content]));
  }
  return hash.digest("hex");
}

/** Runs commands on the files of a fix, which they change through `edit` only; or why there are none, for people. */
export type FixCommands = { open(edit: EditPort): CommandPort } | { why: string };

interface TriedCommands {
  port: CommandPort | undefined;
  /** The results of commands that started with the current files. A command that changed files does not count for its result. */
  now(): Promise<TriedOut>;
}

const NOT_RUN = "the model ran no command after its last change";
const BROKEN = "the sandbox could not run it";

function createTriedCommands(commands: FixCommands, edit: EditPort): TriedCommands {
  if ("why" in commands) {
    return { port: undefined, now: async () => ({ commands: [], why_none: commands.why }) };
  }
  const { allowed, run } = commands.open(edit);
  let brokenOn: string | null = null;
  const runs: { on: string; how: CommandRun }[] = [];
  const stateNow = async () => stateOf(await edit.edits());
  return {
    port: {
      allowed,
      async run(request, signal) {
        const on = await stateNow();
        const end = await run(request, signal).catch((error: unknown) => {
          brokenOn = on;
          throw error;
        });
        runs.push({ on, how: runOf(request, end) });
        return end;
      },
    },
    async now() {
      const state = await stateNow();
      const newest = new Map(
        runs.filter(({ on }) => on === state).map(({ how }) => [`${how.folder}\n${how.command}`, how]),
      );
      if (newest.size > 0) return { commands: [...newest.values()], why_none: null };
      return { commands: [], why_none: brokenOn === state ? BROKEN : NOT_RUN };
    },
  };
}

/** With its environment variables in front, because the result may depend on them. */
function runOf(
  { command, folder, env }: CommandRequest,
  { exitCode: exit_code, ended }: CommandEnd,
): CommandRun {
  const given = Object.entries(env).map(([name, value]) => `${name}=${JSON.stringify(value)} `);
  return { command: given.join("") + command, folder, exit_code, ended };
}

type RepairTest = NonNullable<Repair["test"]>;

interface TestedFix {
  /** `base` are the files of the head, `head` those of the fix, without its changes to tests and their helpers. */
  tests: TestPort;
  workspace: Pick<Workspace, "shas" | "tree">;
  edits: readonly Edit[];
  scope: FixScope;
  signal: AbortSignal;
}

/**
 * Runs the test of a finding before and after a fix. It belongs to the fix only if it fails before and passes after. The model that made
 * the fix has no part in it: neither in the text of the test, nor in its command, nor in other tests that could change its result.
 */
async function testRepair(test: ProofTest, fix: TestedFix): Promise<RepairTest> {
  const notRun = (reason: string): RepairTest => ({ state: "not_run", reason });
  const { tests, signal } = fix;
  const refused = await whyNotAdded(test, fix);
  if (refused !== null) return notRun(refused);
  const how = tests.commandFor(test);
  if ("why" in how) return notRun(how.why);
  const run = (on: "base" | "head") =>
    tests.run({ test, on, replaced: null, key: keyOf(test, how.command, on, fix) }, signal);
  try {
    const before = await run("base");
    if (before.exit_code === 0) return notRun("it passes without the repair");
    const failure = readFailure(before, test);
    if (failure.kind !== "failed")
      return notRun(`without the repair, it fails before it tests anything: ${failure.line}`);
    const after = await run("head");
    return after.exit_code === 0 && after.ended === null
      ? { state: "passes", reason: "" }
      : { state: "fails", reason: readFailure(after, test).line };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof ToolError) return notRun(error.message);
    if (error instanceof AppError) return notRun(publicLine(error));
    throw error;
  }
}

/** Why a test may not become a part of the commit; null if it may. People can edit the comment that it comes from. */
async function whyNotAdded(test: ProofTest, { tests, workspace, scope }: TestedFix): Promise<string | null> {
  const { path } = test;
  if (!testPath.test(path)) return "its name is not one that a test may have";
  if ((await workspace.tree("head")).has(path)) return "a file of that name exists already";
  const after = { mode: "100644", bytes: Buffer.from(test.text, "utf8") };
  const [refusal] = await refusalsOf([{ path, before: null, after }], scope);
  return refusal?.reason ?? (await tests.whyRefused(test));
}

function keyOf(
  { path, text }: ProofTest,
  command: string,
  on: string,
  { workspace, edits }: TestedFix,
): string {
  const files = [workspace.shas.head, on === "base" ? null : stateOf(edits)];
  return createHash("sha256")
    .update(JSON.stringify(["fix", files, command, path, text]))
    .digest("hex");
}

type RepairCheck = NonNullable<Repair["check"]>;

/** How a repair was judged; null while it was not. */
interface Judgment {
  check: RepairCheck | null;
  /** The result of the finding's own test; null if it has none. */
  test: RepairTest | null;
}

/** The findings of an analyzer are fixed together or not at all, because a match may have moved into another edited file. */
async function ruleCheck(
  before: FixRun,
  now: FixRun,
  { source }: FixTarget,
  repaired: readonly NamedTarget[],
): Promise<RepairCheck> {
  const isOfAnalyzer = (one: { source: string | null }) => analyzerOf(one) === analyzerOf({ source });
  const wanted = repaired.map(({ target }) => target).filter(isOfAnalyzer);
  const paths = new Set([...wanted.map(({ path }) => path), ...editedPaths(before, now)]);
  const matches = async ({ change: { files }, deps }: FixRun) => {
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
  const known = new Map(before.change.files.map(({ change }) => [change.path, change.newOid]));
  const paths = now.change.files
    .map(({ change }) => change)
    .filter(({ path, newOid }) => known.get(path) !== newOid);
  return paths.map(({ path }) => path);
}

interface FinishedFix {
  report: FixReport;
  edits: readonly Edit[];
  tried: TriedOut;
  judgments: Map<string, Judgment>;
  rounds: number;
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

/** The finish of a fix: the report must be complete, available commands must have run, and each repair is verified. */
function createFinish(options: FinishOptions): FixPort & { last(): FinishedFix | null } {
  const { run, targets, files, tried, tests, scope } = options;
  let last: FinishedFix | null = null;
  let askedInRound = 0;

  async function whyUntried(round: number): Promise<string | null> {
    if (!tried.port || askedInRound === round) return null;
    if ((await files.edits()).length === 0 || (await tried.now()).commands.length > 0) return null;
    askedInRound = round;
    const names = Object.keys(tried.port.allowed).join(", ");
    return `no command was run on the files as they are now: call run_command (${names}), or finish again if none of them would show anything`;
  }

  /**
   * Tests each repaired finding that has a test, and verifies it in the edited code, like a finding whose code a push has changed: by a loop
   * that does not know who edited it. Certain findings are verified by their analyzer. Where the finding's own test fails, nobody needs to
   * look. Each round has loops of its own.
   */
  async function judge({ edits, judgments, rounds: round }: FinishedFix, claimed: readonly NamedTarget[]) {
    const { workspace, diffs, signal } = run.deps;
    const change = { files: await diffs.files(), anchorFile: createAnchorFiles(workspace, diffs) };
    const now: FixRun = { ...run, change };
    const paths = new Set<string>();
    const testIt = async (test: ProofTest): Promise<RepairTest> => {
      if (!tests) return { state: "not_run", reason: "there is no sandbox for it" };
      if (paths.has(test.path))
        return { state: "not_run", reason: "another finding has a test of that name" };
      paths.add(test.path);
      return await testRepair(test, { tests, workspace, edits, scope, signal });
    };
    const verify = async ({ name, target }: NamedTarget): Promise<RepairCheck> => {
      if (isCertain(target)) return await ruleCheck(run, now, target, claimed);
      const { title, finding: text, files } = target;
      const loop = round === 1 ? `fix:check:${name}` : `fix:check:${name}:${round}`;
      const spot = { ...spotOf(target), place: null };
      const { state, reason } = await recheckFinding(now, { ...spot, title, text, files, loop });
      return { state, reason };
    };
    for (const { name, target } of claimed)
      judgments.set(name, { check: null, test: target.test ? await testIt(target.test) : null });
    for (const one of claimed) {
      const test = judgments.get(one.name)?.test ?? null;
      const check: RepairCheck =
        test?.state === "fails"
          ? { state: "present", reason: `Its test fails: ${test.reason}` }
          : await verify(one);
      judgments.set(one.name, { check, test });
    }
  }

  return {
    last: () => last,
    async finish(report) {
      const round = (last?.rounds ?? 0) + 1;
      const reason = (await whyUnfinished(report, targets, files)) ?? (await whyUntried(round));
      if (reason !== null) return { ok: false, reason };
      const edits = await files.edits();
      const repaired = new Set(report.repairs.flatMap((one) => (one.repaired ? [one.finding] : [])));
      const claimed = targets.filter(({ name }) => repaired.has(name));
      const known = last && isJudged(last, edits, claimed) ? last.judgments : undefined;
      const judgments = known ?? new Map<string, Judgment>();
      // Kept before verification, so that the edits survive if the time is up during it.
      last = { report, edits, tried: await tried.now(), judgments, rounds: round };
      if (!known) await judge(last, claimed);
      const wrong = claimed.flatMap(({ name }) => {
        const check = judgments.get(name)?.check;
        return check?.state === "present" ? [`${name}: ${check.reason}`] : [];
      });
      return wrong.length === 0 || round >= ROUNDS ? { ok: true } : { ok: false, reason: sentBack(wrong) };
    },
  };
}

/** Whether the same files and repairs were judged before: asked again, a model may say something else. */
const isJudged = (last: FinishedFix, edits: readonly Edit[], claimed: readonly NamedTarget[]) =>
  stateOf(last.edits) === stateOf(edits) && claimed.every(({ name }) => last.judgments.get(name)?.check);

const sentBack = (wrong: readonly string[]) =>
  [
    "a second look at the present code by somebody who does not see your work, or the finding's own test, shows that this is still there:",
    wrapUntrusted("second look", wrong.join("\n")),
    "Read that code again and repair it. If you cannot repair it, undo your changes for it and leave it to a person. Then call finish_fix again, for all findings.",
  ].join("\n");

async function whyUnfinished(
  { summary, repairs }: FixReport,
  targets: readonly NamedTarget[],
  files: EditPort,
): Promise<string | null> {
  const names = targets.map(({ name }) => name);
  const reported = repairs.map(({ finding }) => finding);
  const unknown = reported.find((name, at) => !names.includes(name) || reported.indexOf(name) !== at);
  if (unknown !== undefined) return `'${unknown}' is not one of ${names.join(", ")}, or was given twice`;
  const missing = names.filter((name) => !reported.includes(name));
  if (missing.length > 0) return `say what you did about ${missing.join(", ")}`;
  const isEdited = (await files.edits()).length > 0;
  const isRepaired = repairs.some(({ repaired }) => repaired);
  if (isRepaired && !isEdited) return "no file was changed, so nothing can be repaired: edit, or say why not";
  if (isEdited && !isRepaired)
    return "files were changed, but nothing is repaired: undo that, or say what it repairs";
  return isEdited && summary.trim() === "" ? "say in `summary` what the edits do" : null;
}

const MOST = 20;

/**
 * Refuses edits at once that would be refused at the end, with an error that the model can act on. This only saves turns; it is not
 * the protection: the parent process checks the final edits again.
 *
 * @param refused takes the first refused paths with their reasons, so that people see what a fix has tried
 */
export function scopedEdits(
  files: EditPort,
  scope: FixScope,
  isTest: (path: string) => boolean = () => false,
  refused = new Map<string, string>(),
): EditPort {
  const refuse = (path: string, reason: string) => {
    throw new AppError("not_allowed", `'${path}' cannot be changed by a fix: ${reason}`, {
      remedy: "Repair it in the files of the pull request, or leave it to a person and say so in finish_fix",
    });
  };
  const requireInScope = (path: string) => {
    const reason = reasonByPath(path, scope);
    if (reason !== null && refused.size < MOST) refused.set(path, reason);
    if (reason !== null) refuse(path, reason);
    if (isTest(path)) refuse(path, IS_ADDED);
  };
  return {
    read: (path) => files.read(path),
    edits: () => files.edits(),
    async write(path, bytes, options) {
      requireInScope(path);
      await files.write(path, bytes, options);
    },
    async remove(path) {
      requireInScope(path);
      const own = (await files.edits()).some(
        ({ path: edited, before }) => edited === path && before === null,
      );
      const reason = own ? null : reasonToKeep(path, scope);
      if (reason !== null) refuse(path, reason);
      await files.remove(path);
    },
  };
}

const IS_ADDED = "it is the test of a finding, which is added to the repair as it is";

interface FixDependencies extends WorkDependencies {
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

/** A repair that verification rejects goes back to the model once. Writes nothing: the result holds the edited files. */
export async function runFix(input: FixInput, deps: FixDependencies): Promise<FixResult> {
  const run = await startPlaceRun(input, deps);
  const targets = await nameTargets(run, input);
  const { finished, refused, stopReason } = await repair(run, deps, targets);
  return {
    repairs: targets.map((target) => repairOf(target, finished)),
    ...reportOf(finished),
    refused,
    ...workResult(run, "review", stopReason),
  };
}

async function nameTargets(run: FixRun, { targets }: FixInput): Promise<NamedTarget[]> {
  const named: NamedTarget[] = [];
  for (const [at, target] of targets.entries())
    named.push({ name: `F${at + 1}`, target, file: await run.change.anchorFile(target.path) });
  return named;
}

async function repair(
  run: FixRun,
  { files, commands, tests }: FixDependencies,
  targets: readonly NamedTarget[],
): Promise<{ finished: FinishedFix | null; refused: Refusal[]; stopReason: StopReason }> {
  const { limits } = run.input;
  const scope = scopeOf(run, targets);
  const isTest = (path: string) => targets.some(({ target }) => target.test?.path === path);
  const refused = new Map<string, string>();
  const edit = scopedEdits(files, scope, isTest, refused);
  const tried = createTriedCommands(commands, scopedEdits(files, scope, isTest));
  const fix = createFinish({ run, targets, files, tried, tests, scope });
  const { stopReason } = await runLoop(run, {
    loop: "fix",
    role: "review",
    messages: await fixMessages(run, targets, tried.port?.allowed ?? {}),
    outputTools: [...changingTools, ...(tried.port ? commandTools : []), ...fixingTools],
    ports: { edit, fix, ...(tried.port && { commands: tried.port }) },
    turns: limits.turns,
    tokens: limits.tokens * (1 - KEPT_FOR_CHECKS),
    milliseconds: run.limits.timeLeft() * (1 - KEPT_FOR_THE_END),
  });
  return {
    finished: fix.last(),
    refused: [...refused].map(([path, reason]) => ({ path, reason })),
    stopReason,
  };
}

/** A fix may edit the files of the change, of the findings, and of their evidence. */
function scopeOf({ change: { files }, deps }: FixRun, targets: readonly NamedTarget[]): FixScope {
  const changed = files.map(({ change }) => change.path);
  const named = targets.flatMap(({ target }) => [target.path, ...target.files]);
  return { files: new Set([...changed, ...named]), isPrivate: deps.isPrivate };
}

function repairOf({ name, target }: NamedTarget, finished: FinishedFix | null): Repair {
  const { repaired = false, note = "" } =
    finished?.report.repairs.find(({ finding }) => finding === name) ?? {};
  const { check = null, test = null } = (repaired && finished?.judgments.get(name)) || {};
  return {
    id: target.id,
    repaired,
    note,
    check,
    ...(target.test && repaired && { test: test ?? NOT_TESTED }),
  };
}

const NOT_TESTED: RepairTest = { state: "not_run", reason: "the repair ended before it ran" };

const NO_END = "the repair did not finish";

function reportOf(
  finished: FinishedFix | null,
): Pick<FixResult, "summary" | "edits" | "tried_out" | "rounds"> {
  if (!finished) return { summary: "", edits: [], tried_out: { commands: [], why_none: NO_END }, rounds: 0 };
  const { report, edits, tried, rounds } = finished;
  const summary = edits.length === 0 ? "" : report.summary;
  return { summary, edits: edits.map(editedFile), tried_out: tried, rounds };
}

const editedFile = ({ path, after }: Edit): EditedFile => ({
  path,
  after: after && { mode: after.mode as "100644" | "100755", base64: after.bytes.toString("base64") },
});
