import { createAccount } from "../../agent/account.ts";
import type { StopReason } from "../../agent/events.ts";
import { changingTools, fixingTools } from "../../tools/index.ts";
import type { EditPort, FixReport, ToolContext } from "../../tools/tool.ts";
import { createAnchorFiles } from "../anchor-files.ts";
import type { ReviewDependencies } from "../dependencies.ts";
import { checkClaim } from "../recheck/check-claim.ts";
import { runLoop } from "../run-loop.ts";
import { totalUsage } from "../total-usage.ts";
import { whoAnswered } from "../who-answered.ts";
import type { FixScope } from "./check-edits.ts";
import type { EditedFile, FixInput, FixResult, Repair } from "./fix-input.ts";
import { type FixRun, fixMessages, type NamedTarget, spotOf } from "./fix-messages.ts";
import { scopedEdits } from "./scoped-edits.ts";

export interface FixDependencies extends ReviewDependencies {
  models: NonNullable<ReviewDependencies["models"]>;
  /** The files that the fix changes; `workspace` sees them as they stand. */
  files: EditPort;
  /** The diff as it stands once files were changed. */
  diffsNow(): ReviewDependencies["diffs"];
}

/** Of the time and the tokens, what is kept for looking at what was done. */
const KEPT_FOR_CHECKS = 0.3;

/**
 * Lets a model repair findings, and has a second look at each that it says it repaired: the same as at findings whose code a push
 * has changed, by somebody who does not know who changed it. Writes nothing: what comes of it are the files as they should be.
 */
export async function runFix(input: FixInput, deps: FixDependencies): Promise<FixResult> {
  const run = await startFix(input, deps);
  const targets = await nameTargets(run, input);
  const given = await repair(run, deps, targets);
  const edits = await editedFiles(deps.files);
  const repairs = await checked(run, deps, targets, edits.length === 0 ? none(given.report) : given.report);
  return {
    ...{ repairs, edits },
    summary: edits.length === 0 ? "" : (given.report?.summary ?? ""),
    model: whoAnswered(deps.models.review.name, run.account.usage),
    stop_reason: given.stopReason,
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

interface Given {
  report: FixReport | null;
  stopReason: StopReason;
}

async function repair(run: FixRun, deps: FixDependencies, targets: readonly NamedTarget[]): Promise<Given> {
  const { limits } = run.input;
  const edit = scopedEdits(deps.files, scopeOf(run, targets));
  let report: FixReport | null = null;
  const fix: NonNullable<ToolContext["fix"]> = {
    async finish(given) {
      const reason = await whyUnfinished(given, targets, deps.files);
      if (reason !== null) return { ok: false, reason };
      report = given;
      return { ok: true };
    },
  };
  const loop = await runLoop(run, {
    ...{ loop: "fix", role: "review", messages: await fixMessages(run, targets) },
    outlets: [...changingTools, ...fixingTools],
    ports: { report: nothingToReport, edit, fix },
    coverage: { serve: () => {} },
    account: run.account,
    turns: limits.turns,
    tokens: limits.tokens * (1 - KEPT_FOR_CHECKS),
    milliseconds: run.timeLeft() * (1 - KEPT_FOR_CHECKS),
  });
  return { report, stopReason: loop.stopReason };
}

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

/** Without edits nothing is repaired, whatever a loop that came to no end has said. */
function none(report: FixReport | null): FixReport | null {
  return report && { ...report, repairs: report.repairs.map((one) => ({ ...one, repaired: false })) };
}

async function editedFiles(files: EditPort): Promise<EditedFile[]> {
  const edits = await files.edits();
  return edits.map(({ path, after }) => ({
    path,
    after: after && { mode: after.mode as "100644" | "100755", base64: after.bytes.toString("base64") },
  }));
}

/** Of each finding what became of it, with a second look at the code as it is now where it counts as repaired. */
async function checked(
  run: FixRun,
  deps: FixDependencies,
  targets: readonly NamedTarget[],
  report: FixReport | null,
): Promise<Repair[]> {
  const diffs = deps.diffsNow();
  const now: FixRun = {
    ...run,
    deps: { ...run.deps, diffs },
    anchorFile: createAnchorFiles(deps.workspace, diffs),
    files: await diffs.files(),
  };
  const repairs: Repair[] = [];
  for (const { name, target } of targets) {
    const told = report?.repairs.find(({ finding }) => finding === name);
    const repaired = told?.repaired ?? false;
    const check = repaired ? await look(now, name, target) : null;
    repairs.push({ id: target.id, repaired, note: told?.note ?? "", check });
  }
  return repairs;
}

async function look(now: FixRun, name: string, target: NamedTarget["target"]): Promise<Repair["check"]> {
  const { title, finding: text, files } = target;
  const spot = { ...spotOf(target), place: null };
  const { state, reason } = await checkClaim(now, { ...spot, title, text, files, loop: `fix:check:${name}` });
  return { state, reason };
}
