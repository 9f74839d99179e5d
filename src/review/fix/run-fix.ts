import { createAccount } from "../../agent/account.ts";
import type { StopReason } from "../../agent/events.ts";
import type { Edit } from "../../git/workspace.ts";
import { changingTools, commandTools, fixingTools } from "../../tools/index.ts";
import type { CommandPort, EditPort } from "../../tools/tool.ts";
import { createAnchorFiles } from "../anchor-files.ts";
import type { ReviewDependencies } from "../dependencies.ts";
import { runLoop } from "../run-loop.ts";
import { totalUsage } from "../total-usage.ts";
import { whoAnswered } from "../who-answered.ts";
import type { FixScope, Refusal } from "./check-edits.ts";
import { createFinish, type Finished } from "./finish.ts";
import type { EditedFile, FixInput, FixResult, Repair } from "./fix-input.ts";
import { type FixRun, fixMessages, type NamedTarget } from "./fix-messages.ts";
import { notingRefusals } from "./refused-edits.ts";
import { scopedEdits } from "./scoped-edits.ts";
import { createTriedCommands, type FixCommands } from "./tried-commands.ts";

export interface FixDependencies extends ReviewDependencies {
  models: NonNullable<ReviewDependencies["models"]>;
  /** The files that the fix changes; `workspace` and `diffs` see them as they stand. */
  files: EditPort;
  commands: FixCommands;
}

/** Of the tokens, what is kept for looking at what was done. */
const KEPT_FOR_CHECKS = 0.3;
/** Of the time, what is kept for ending in order. */
const KEPT_FOR_THE_END = 0.05;

/**
 * Lets a model repair findings, try that out where commands can be run, and has a second look at each that it says it repaired; what
 * that finds still there goes back to it once. Writes nothing: what comes of it are the files as they should be.
 */
export async function runFix(input: FixInput, deps: FixDependencies): Promise<FixResult> {
  const run = await startFix(input, deps);
  const targets = await nameTargets(run, input);
  const { finished, refused, stopReason } = await repair(run, deps, targets);
  return {
    repairs: targets.map((target) => repairOf(target, finished)),
    ...saidOf(finished),
    refused,
    model: whoAnswered(deps.models.review.name, run.account.usage),
    stop_reason: stopReason,
    usage: totalUsage(run.account.usage),
  };
}

async function startFix(input: FixInput, deps: FixDependencies): Promise<FixRun> {
  const { limits } = input;
  return {
    ...{ input, deps, models: deps.models },
    files: await deps.diffs.files(),
    anchorFile: createAnchorFiles(deps.workspace, deps.diffs),
    account: createAccount(limits),
    replayOf: (loop) => deps.replay.filter((entry) => entry.loop === loop),
    timeLeft: () => Math.max(1, limits.milliseconds - (deps.now() - deps.startedAt)),
  };
}

async function nameTargets(run: FixRun, { targets }: FixInput): Promise<NamedTarget[]> {
  const named: NamedTarget[] = [];
  for (const [at, target] of targets.entries())
    named.push({ name: `F${at + 1}`, target, file: await run.anchorFile(target.path) });
  return named;
}

interface Repaired {
  /** What the model said last of what it had done by then; null where it came to no end. */
  finished: Finished | null;
  refused: Refusal[];
  stopReason: StopReason;
}

async function repair(
  run: FixRun,
  { files, commands }: FixDependencies,
  targets: readonly NamedTarget[],
): Promise<Repaired> {
  const { limits } = run.input;
  const scope = scopeOf(run, targets);
  const scoped = scopedEdits(files, scope);
  const tried = createTriedCommands(commands, scoped);
  const { edit, refused } = notingRefusals(scoped, scope);
  const fix = createFinish({ run, targets, files, tried });
  const { stopReason } = await runLoop(run, {
    ...{ loop: "fix", role: "review" },
    messages: await fixMessages(run, targets, tried.port?.allowed ?? {}),
    outlets: [...changingTools, ...(tried.port ? commandTools : []), ...fixingTools],
    ports: { report: nothingToReport, edit, fix, ...commandsOf(tried.port) },
    coverage: { serve: () => {} },
    account: run.account,
    turns: limits.turns,
    tokens: limits.tokens * (1 - KEPT_FOR_CHECKS),
    milliseconds: run.timeLeft() * (1 - KEPT_FOR_THE_END),
  });
  return { finished: fix.last(), refused: refused(), stopReason };
}

const commandsOf = (commands: CommandPort | undefined) => (commands ? { commands } : {});

const refuse = async () => ({
  ok: false as const,
  reason: "nothing is reported here; repair, and finish_fix",
});
const nothingToReport = { report: refuse, finish: refuse };

/** The files of the change, those that findings are about, and those that they name. */
function scopeOf({ files, deps }: Pick<FixRun, "files" | "deps">, targets: readonly NamedTarget[]): FixScope {
  const changed = files.map(({ change }) => change.path);
  const named = targets.flatMap(({ target }) => [target.path, ...target.files]);
  return { files: new Set([...changed, ...named]), isPrivate: deps.isPrivate };
}

function repairOf({ name, target: { id } }: NamedTarget, finished: Finished | null): Repair {
  const told = finished?.report.repairs.find(({ finding }) => finding === name);
  const { repaired = false, note = "" } = told ?? {};
  return { id, repaired, note, check: (repaired && finished?.checks.get(name)) || null };
}

const NO_END = "the repair did not finish";

function saidOf(finished: Finished | null): Pick<FixResult, "summary" | "edits" | "tried_out" | "rounds"> {
  if (!finished) return { summary: "", edits: [], tried_out: { commands: [], why_none: NO_END }, rounds: 0 };
  const { report, edits, tried, rounds } = finished;
  const summary = edits.length === 0 ? "" : report.summary;
  return { summary, edits: edits.map(editedFile), tried_out: tried, rounds };
}

const editedFile = ({ path, after }: Edit): EditedFile => ({
  path,
  after: after && { mode: after.mode as "100644" | "100755", base64: after.bytes.toString("base64") },
});
