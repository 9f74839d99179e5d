import type { RunEntry } from "../agent/trajectory.ts";
import { namedCommands } from "../config/repo-config.ts";
import { AppError, publicLine } from "../errors.ts";
import { openWorkspace } from "../git/object-workspace.ts";
import { openOverlay } from "../git/overlay-workspace.ts";
import type { EditableWorkspace, Workspace } from "../git/workspace.ts";
import { createMasking } from "../llm/masked-request.ts";
import { runAnswer } from "../review/answer/run-answer.ts";
import type { FixInput } from "../review/fix/fix-input.ts";
import { type FixCommands, runFix } from "../review/fix/run-fix.ts";
import { reviewChange } from "../review/review-change.ts";
import type { ReviewInput } from "../review/review-input.ts";
import type { ReviewDependencies } from "../review/review-run.ts";
import { limitsFor } from "../sandbox/bubblewrap.ts";
import { type CommandFiles, createCommandPort } from "../sandbox/command-port.ts";
import { Masks } from "../secrets/masks.ts";
import { createDiffSource } from "../tools/diff-source.ts";
import { privacyOf } from "../tools/private-text.ts";
import type { CommandSandbox } from "./command-sandbox.ts";
import {
  journalForPeople,
  learningCommands,
  learningEdits,
  learningGraph,
  learningWorkspace,
  resultForPeople,
  withoutMasks,
} from "./masking.ts";
import type { ChildResult, FromChild, ToChild } from "./messages.ts";
import type { ParentPort, RecordMasks } from "./parent-port.ts";
import { ReviewGraph } from "./review-graph.ts";
import { startRuleMatcher } from "./rule-matcher.ts";

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

type Start = Extract<ToChild, { type: "start" }>;

/** The work of a review process: reviews, answers a question or fixes findings. Resolves to the result for the parent. */
export async function runAssignment(
  { place, assignment, replay, masks: earlier, takesNotes, graphIndex }: Start,
  parent: ParentPort,
  signal: AbortSignal,
): Promise<ChildResult> {
  await using checkout = openWorkspace(place);
  const about = { work: assignment.kind, head: place.shas.head };
  const masks = new Masks(earlier.filter(({ work, head }) => work === about.work && head === about.head));
  const masking = createMasking(masks);
  const record: RecordMasks = (numbers) => parent.trajectory.append({ kind: "masks", ...about, ...numbers });
  const workspace = learningWorkspace(checkout, masks);
  const { paths } = assignment.input.config;
  const isPrivate = await privacyOf(checkout, paths.private);
  const deps = {
    workspace,
    diffs: createDiffSource(workspace, { ...paths, isPrivate }),
    trajectory: { append: (entry: RunEntry) => parent.trajectory.append(withoutMasks(entry, masks)) },
    replay,
    masking,
    ...(takesNotes && { journal: journalForPeople(parent.journal, masks) }),
    isPrivate,
    progress: parent.progress,
    signal,
    now: Date.now,
    startedAt: Date.now(),
  };
  if (assignment.kind === "answer") {
    const { input } = assignment;
    const answer = await runAnswer(input, { ...deps, models: parent.models(input.models, masking, record) });
    return resultForPeople({ type: "answer", answer }, masks);
  }
  if (assignment.kind === "fix") {
    const { input, sandbox, where, tested } = assignment;
    await using overlay = openOverlay(checkout, place);
    const files = learningEdits(overlay, masks);
    const diffs = createDiffSource(files, { ...paths, isPrivate });
    // Commands read files that the model has not read, so the masks learn their output.
    const commands = learningCommands(
      fixCommands(input, sandbox, { workspace: overlay, isPrivate: deps.isPrivate }),
      masks,
    );
    const models = parent.models(input.models, masking, record);
    const tests =
      where &&
      (await import("./test-port.ts")).createTestPort({
        ...{ where, prove: input.config.prove, workspace: filesOfFix(checkout, overlay), isPrivate, masks },
        ...{ tested, record: (entry) => parent.trajectory.append(entry) },
      });
    const fixing = { ...deps, workspace: files, files, diffs, commands, models };
    const fix = await runFix(input, { ...fixing, ...(tests && { tests }) });
    return resultForPeople({ type: "fix", fix }, masks);
  }
  if (assignment.kind === "prove") {
    const { input, where, tested } = assignment;
    // A review starts sooner without them.
    const { createTestPort } = await import("./test-port.ts");
    const { runProve } = await import("../review/prove/run-prove.ts");
    const models = parent.models(input.models, masking, record);
    const tests = createTestPort({
      ...{ where, prove: input.config.prove, workspace: checkout, isPrivate, masks, tested },
      record: (entry) => parent.trajectory.append(entry),
    });
    const prove = await runProve(input, { ...deps, models, tests });
    return resultForPeople({ type: "prove", prove }, masks);
  }
  const { input } = assignment;
  await using graph =
    graphIndex === null ? null : openReviewGraph(graphIndex, input, { ...deps, workspace: checkout, place });
  const models = input.models && parent.models(input.models, masking, record);
  const result = await reviewChange(input, {
    ...deps,
    models,
    startRules: startRuleMatcher,
    ...(graph && { graph: learningGraph(graph, workspace) }),
  });
  return resultForPeople({ type: "result", result }, masks);
}

/** The files for the test of a finding: those before a fix as the merge base, and those after it as the head. */
const filesOfFix = (
  checkout: Workspace,
  overlay: EditableWorkspace,
): Pick<Workspace, "tree" | "readBytes"> => ({
  readBytes: (oid) => overlay.readBytes(oid),
  tree: (ref) => (ref === "head" ? overlay : checkout).tree("head"),
});

type GraphParts = Pick<ReviewDependencies, "workspace" | "isPrivate" | "progress" | "signal"> &
  Pick<Start, "place">;

function openReviewGraph(file: string, { pull }: ReviewInput, { progress, ...parts }: GraphParts) {
  const onCrash = (error: string) => progress({ type: "crash", where: "graph", error });
  return new ReviewGraph({ ...parts, file, earlier: pull?.earlier ?? [], onCrash });
}

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
