import { createMasking } from "../agent/llm/masked-request.ts";
import type { ModelFacts, ModelRole, Models } from "../agent/llm/model.ts";
import type { RunEntry } from "../agent/record/trajectory.ts";
import { privacyOf } from "../agent/tools/paths.ts";
import { namedCommands } from "../config/repo-config.ts";
import { AppError, publicLine } from "../core/errors.ts";
import { Masks } from "../core/secrets/masks.ts";
import { createDiffSource } from "../repo/diff-source.ts";
import { openWorkspace } from "../repo/git/object-workspace.ts";
import { openOverlay } from "../repo/git/overlay-workspace.ts";
import type { Workspace } from "../repo/git/workspace.ts";
import { limitsFor } from "../sandbox/bubblewrap.ts";
import { type CommandFiles, createCommandPort } from "../sandbox/command-port.ts";
import { answerTask } from "../tasks/answer/answer-input.ts";
import { runAnswer } from "../tasks/answer/run-answer.ts";
import type { Task, TaskInput } from "../tasks/define-task.ts";
import { type FixInput, type FixResult, fixTask } from "../tasks/fix/fix-input.ts";
import type { FixCommands } from "../tasks/fix/run-fix.ts";
import { runFix } from "../tasks/fix/run-fix.ts";
import type { ReviewDependencies } from "../tasks/loop/review-run.ts";
import { type ProveInput, type ProveResult, proveTask } from "../tasks/prove/prove-input.ts";
import type { TestPort } from "../tasks/prove/run-prove.ts";
import { reviewChange } from "../tasks/review/review-change.ts";
import { reviewTask } from "../tasks/review/review-task.ts";
import type { ReviewInput } from "../tasks/shapes/review-input.ts";
import type { ReviewResult } from "../tasks/shapes/review-result.ts";
import type { TaskName } from "../tasks/tasks.ts";
import {
  entryForPeople,
  journalForPeople,
  learningCommands,
  learningEdits,
  learningGraph,
  learningWorkspace,
  withoutMasks,
} from "./masking.ts";
import type { CommandSandbox, FromChild, ToChild } from "./messages.ts";
import type { ParentPort, RecordMasks } from "./parent-port.ts";
import { createReviewGraph } from "./review-graph.ts";
import { startRuleMatcher } from "./rule-matcher.ts";

type Start = Extract<ToChild, { type: "start" }>;

interface TaskPorts {
  start: Start;
  /** Its files teach the masks nothing; the loops see those of `deps`. */
  checkout: Workspace;
  masks: Masks;
  deps: Omit<ReviewDependencies, "models">;
  models(facts: Readonly<Record<ModelRole, ModelFacts>>): Models;
  /** Runs the tests of findings on files; undefined if none can run. */
  tests(files: Pick<Workspace, "tree" | "readBytes">): Promise<TestPort | undefined>;
}

async function review(input: ReviewInput, ports: TaskPorts): Promise<ReviewResult> {
  const { deps, checkout, start } = ports;
  const { place, graphIndex: file } = start;
  const onCrash = (error: string) => deps.progress({ type: "crash", where: "graph", error });
  const earlier = input.pull?.earlier ?? [];
  await using graph =
    file === null ? null : createReviewGraph({ ...deps, workspace: checkout, place, file, earlier, onCrash });
  return await reviewChange(input, {
    ...deps,
    models: input.models && ports.models(input.models),
    startRules: startRuleMatcher,
    ...(graph && { graph: learningGraph(graph, deps.workspace) }),
  });
}

async function fix(input: FixInput, ports: TaskPorts): Promise<FixResult> {
  const { deps, checkout, masks, start } = ports;
  const { isPrivate } = deps;
  await using overlay = openOverlay(checkout, start.place);
  const files = learningEdits(overlay, masks);
  // Commands read files that the model has not read, so the masks learn their output.
  const commands = learningCommands(
    fixCommands(input, start.sandbox, { workspace: overlay, isPrivate }),
    masks,
  );
  const tests = await ports.tests({
    readBytes: (oid) => overlay.readBytes(oid),
    // Those before the fix as the merge base, and those after it as the head.
    tree: (ref) => (ref === "head" ? overlay : checkout).tree("head"),
  });
  return await runFix(input, {
    ...deps,
    models: ports.models(input.models),
    workspace: files,
    files,
    diffs: createDiffSource(files, { ...input.config.paths, isPrivate }),
    commands,
    tests,
  });
}

async function prove(input: ProveInput, ports: TaskPorts): Promise<ProveResult> {
  // A review starts sooner without it.
  const { runProve } = await import("../tasks/prove/run-prove.ts");
  const tests = await ports.tests(ports.checkout);
  if (!tests) throw new Error("proofs were started without a place for tests");
  return await runProve(input, { ...ports.deps, models: ports.models(input.models), tests });
}

/** Runs the commands that the base's configuration names on these files; or the reason why none can run, for people. */
export function fixCommands(
  { config }: Pick<FixInput, "config">,
  given: CommandSandbox | null,
  files: Pick<CommandFiles, "workspace" | "isPrivate">,
): FixCommands {
  const allowed = namedCommands(config);
  if (Object.keys(allowed).length === 0)
    return { why: "the configuration of the base branch names no commands" };
  if (given === null) return { why: "this machine has no sandbox" };
  const { sandbox, memoryMb } = given;
  return {
    open: (edit) => createCommandPort({ ...files, sandbox, allowed, edit, limits: limitsFor(memoryMb) }),
  };
}

type RunChild = (start: Start, parent: ParentPort, signal: AbortSignal) => Promise<FromChild>;

/** Prepares what every task needs, and hands its result to people without masks. */
function working<Input extends TaskInput, Result>(
  task: Task<Input, Result>,
  work: (input: Input, ports: TaskPorts) => Promise<Result>,
): RunChild {
  return async (start, parent, signal) => {
    const { place, replay, takesNotes, testPlace, tested } = start;
    const input = task.input.parse(start.input);
    const { paths, prove: how } = input.config;
    await using checkout = openWorkspace(place);
    const about = { work: start.task, head: place.shas.head };
    const masks = new Masks(
      start.masks.filter(({ work, head }) => work === about.work && head === about.head),
    );
    const masking = createMasking(masks);
    const record: RecordMasks = (numbers) =>
      parent.trajectory.append({ kind: "masks", ...about, ...numbers });
    const workspace = learningWorkspace(checkout, masks);
    const isPrivate = await privacyOf(checkout, paths.private);
    const result = await work(input, {
      start,
      checkout,
      masks,
      deps: {
        workspace,
        diffs: createDiffSource(workspace, { ...paths, isPrivate }),
        trajectory: { append: (entry: RunEntry) => parent.trajectory.append(entryForPeople(entry, masks)) },
        replay,
        masking,
        ...(takesNotes && { journal: journalForPeople(parent.journal, masks) }),
        isPrivate,
        progress: parent.progress,
        signal,
        now: Date.now,
        startedAt: Date.now(),
      },
      models: (facts) => parent.models(facts, masking, record),
      async tests(files) {
        if (testPlace === null) return undefined;
        const { createTestPort } = await import("./test-port.ts");
        return createTestPort({
          where: testPlace,
          prove: how,
          workspace: files,
          isPrivate,
          masks,
          tested,
          record: (entry) => parent.trajectory.append(entry),
        });
      },
    });
    const unquoted = task.unquoted(result, (text) => masks.holdsSecret(text));
    return { type: "result", result: withoutMasks(unquoted, masks) };
  };
}

/** The work of each task of `tasks/tasks.ts`. */
const works: Record<TaskName, RunChild> = {
  review: working(reviewTask, review),
  answer: working(answerTask, (input, ports) =>
    runAnswer(input, { ...ports.deps, models: ports.models(input.models) }),
  ),
  fix: working(fixTask, fix),
  prove: working(proveTask, prove),
};

/** Does the work of a review process, and resolves to the message with its result. */
export const runInChild: RunChild = (start, parent, signal) => works[start.task](start, parent, signal);

/** The message to the parent after an error. */
export function toFailure(error: unknown, parent: Pick<ParentPort, "progress">): FromChild {
  const known = error instanceof AppError;
  // A bug: the stack is for the log, not for people.
  if (!known) parent.progress({ type: "crash", where: "review process", error: stackOf(error) });
  const remedy = known ? (error.remedy ?? null) : null;
  const message = known ? error.message : publicLine(error);
  const retryable = known && error.retryable;
  return { type: "failed", error: { code: known ? error.code : "child_died", message, remedy, retryable } };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
