import type { Edit } from "../../git/workspace.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import type { EditPort, FixPort, FixReport } from "../../tools/tool.ts";
import { stateOf } from "./edits-state.ts";
import type { TriedOut } from "./fix-input.ts";
import type { FixRun, NamedTarget } from "./fix-messages.ts";
import { type Checks, lookAtFix } from "./look-at-fix.ts";
import type { TriedCommands } from "./tried-commands.ts";

/** What a fix came to when its model said that it was done. */
export interface Finished {
  report: FixReport;
  edits: readonly Edit[];
  tried: TriedOut;
  checks: Checks;
  /** How many times it was said. */
  rounds: number;
}

export interface Finish extends FixPort {
  /** The last time; null where it was never said. What is edited later and never told of counts for nothing. */
  last(): Finished | null;
}

export interface FinishOptions {
  run: FixRun;
  targets: readonly NamedTarget[];
  files: EditPort;
  tried: TriedCommands;
}

/** A repair that a second look finds not to be one is sent back once. */
const ROUNDS = 2;

const none: Checks = new Map();

/** Where a fix ends: what is told has to be whole, what can be tried out is to be tried, and a second look judges it. */
export function createFinish({ run, targets, files, tried }: FinishOptions): Finish {
  let last: Finished | null = null;
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
      const known = last && isJudged(last, edits, report) ? last.checks : null;
      // Where the time is up in the middle of the looks, what was done is known all the same.
      last = { report, edits, tried: await tried.now(), checks: known ?? none, rounds: round };
      last.checks = known ?? (await lookAtFix(run, targets, report, round));
      const wrong = round < ROUNDS ? stillPresent(last) : [];
      return wrong.length === 0 ? { ok: true } : { ok: false, reason: sentBack(wrong) };
    },
  };
}

/** Whether a second look at the same files has said all that it could say. */
const isJudged = (last: Finished, edits: readonly Edit[], { repairs }: FixReport) =>
  stateOf(last.edits) === stateOf(edits) &&
  repairs.every(({ finding, repaired }) => !repaired || last.checks.has(finding));

function stillPresent({ report, checks }: Finished): string[] {
  return report.repairs.flatMap(({ finding, repaired }) => {
    const check = checks.get(finding);
    return repaired && check?.state === "present" ? [`${finding}: ${check.reason}`] : [];
  });
}

const sentBack = (wrong: readonly string[]) =>
  [
    "somebody who looked at the code as it is now, and does not know of you, finds this still there:",
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
