import { randomUUID } from "node:crypto";
import { Command } from "@commander-js/extra-typings";
import { type ActionEnv, readActionEnv } from "../../config/action-env.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { command } from "../action/report.ts";
import type { ActionRun } from "../action/run-action.ts";
import { type CommandContext, exitCodes, explained } from "../command.ts";
import { complaint, write } from "../output.ts";
import { exitCodeOf, exitReasonOf } from "./review.ts";

export const action = (io: CommandContext) =>
  explained(new Command("action"), {
    text: [
      "Reviews the pull request of a workflow's event, as the App would. action.yml runs it in the last step of the GitHub Action; inputs " +
        "and the event arrive in environment variables. docs/action.md describes the inputs and the outputs.",
      "Exit code: 0 done, 1 findings at or above fail-on, 2 setup, 3 the review failed, or require-model is set and no model read all of the change.",
    ],
    examples: [["what the last step of action.yml runs", "hunkwise action"]],
  }).action(async () => {
    io.exitCode = await inWorkflow(io);
  });

/** Until the end, a line that looks like a workflow command is only text: logs repeat what a pull request says. */
async function inWorkflow(io: CommandContext): Promise<number> {
  const given = await readInputs(io);
  if (given === null) return exitCodes.failed;
  const mute = randomUUID();
  await write(io.stdout, `::stop-commands::${mute}\n`);
  let commands = "";
  try {
    const { runAction } = await import("../action/run-action.ts");
    const { isUnpublished, report } = await import("../action/report.ts");
    const run = await runAction(given, io.signal);
    const { failOn: threshold, requireModel } = given.inputs;
    const { result } = run;
    const reached = exitOf(run, given.inputs);
    const reason = result === null ? "incomplete" : exitReasonOf(reached, result);
    commands = await report(run, given, { code: reached, reason, threshold });
    if (run.outcome.kind === "failed" && !isUnpublished(run)) return exitCodes.incomplete;
    // The report names a partial review; the check run says what it means for the pull request.
    return reached === exitCodes.incomplete && !requireModel ? exitCodes.clean : reached;
  } catch (error) {
    if (io.signal.aborted) throw error;
    await write(io.stderr, complaint(error));
    commands = annotation(error);
    return exitCodes.failed;
  } finally {
    await write(io.stdout, `::${mute}::\n${commands}`);
  }
}

const annotation = (error: unknown) => `${command("error", {}, errorLine(error))}\n`;

/** Null if an input is wrong, which an annotation says too. Rejects with `usage` outside of GitHub Actions. */
async function readInputs(io: CommandContext): Promise<ActionEnv | null> {
  try {
    return readActionEnv();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "config_invalid") throw error;
    await write(io.stderr, complaint(error));
    await write(io.stdout, annotation(error));
    return null;
  }
}

/** If the workflow names a severity, the check run decides: it knows what is open from earlier reviews, and what people dismissed. */
function exitOf(
  { result, conclusion }: Pick<ActionRun, "result" | "conclusion">,
  { failOn, requireModel }: ActionEnv["inputs"],
): (typeof exitCodes)["clean" | "found" | "incomplete"] {
  const own =
    result === null ? exitCodes.clean : exitCodeOf(result, failOn, requireModel, failOn === "never");
  if (failOn === "never" || conclusion === null) return own;
  if (conclusion === "failure") return exitCodes.found;
  return own === exitCodes.found ? exitCodes.clean : own;
}
