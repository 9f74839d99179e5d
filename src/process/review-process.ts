/** The review process: waits for its start message, reviews or answers a question, and hands back what came of it. */
import { prepareAnalyzers } from "../analyzers/all-analyzers.ts";
import { createPrivacy } from "../diff/filter.ts";
import { AppError, publicLine } from "../errors.ts";
import { openWorkspace } from "../git/git-workspace.ts";
import { keepProgramsInThisGroup, killGroup } from "../git/run-process.ts";
import { runAnswer } from "../review/answer/run-answer.ts";
import { runReview } from "../review/run-review.ts";
import { createDiffSource } from "../tools/diff-source.ts";
import { keepCompiledCodeNow } from "./compile-cache.ts";
import { type FromChild, ToChild } from "./messages.ts";
import { createParentPort } from "./parent-port.ts";
import { watchParent } from "./watch-parent.ts";

// The parent kills the group: git and ripgrep end with this process however it ends.
keepProgramsInThisGroup();
watchParent();

const send = (message: FromChild) => process.send?.(message);
const parent = createParentPort(send);

type Start = Extract<ToChild, { type: "start" }>;

async function work({ place, assignment, replay, isPlayback }: Start): Promise<void> {
  await using workspace = openWorkspace(place);
  const { private: privatePaths, ignore } = assignment.input.config.paths;
  const deps = {
    workspace,
    diffs: createDiffSource(workspace, { ignore, private: privatePaths }),
    trajectory: parent.trajectory,
    replay,
    isPlayback,
    isPrivate: createPrivacy(privatePaths),
    progress: parent.progress,
    // The parent ends this process when its work is no longer wanted.
    signal: new AbortController().signal,
    now: Date.now,
    startedAt: Date.now(),
  };
  if (assignment.kind === "answer") {
    const { input } = assignment;
    const answer = await runAnswer(input, { ...deps, models: parent.models(input.models) });
    return conclude({ type: "answer", answer });
  }
  const { input } = assignment;
  const result = await runReview(input, { ...deps, models: input.models && parent.models(input.models) });
  conclude({ type: "result", result });
}

/** The parent kills this process as soon as it has the outcome. By now all is compiled that the next one will need. */
function conclude(outcome: Extract<FromChild, { type: "result" | "answer" }>): void {
  keepCompiledCodeNow();
  send(outcome);
}

function fail(error: unknown): void {
  const known = error instanceof AppError;
  // A fault of ours: its stack is for the log, not for people.
  if (!known) parent.progress({ type: "crash", where: "review process", error: stackOf(error) });
  const remedy = known ? (error.remedy ?? null) : null;
  const message = known ? error.message : publicLine(error);
  const retryable = known && error.retryable;
  send({ type: "failed", error: { code: known ? error.code : "child_died", message, remedy, retryable } });
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

process.on("message", (raw) => {
  const message = ToChild.parse(raw);
  if (message.type !== "start") return parent.receive(message);
  void work(message).catch(fail);
});
// Without a parent there is nobody to answer, and nobody to end a process that hangs.
process.on("disconnect", () => {
  killGroup(process, "SIGKILL");
  process.exit(1);
});
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

send({ type: "ready" });
void prepareAnalyzers();
