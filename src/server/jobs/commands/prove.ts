import type { Models } from "../../../agent/llm/model.ts";
import type { TrajectoryEntry } from "../../../agent/record/trajectory.ts";
import { runTask } from "../../../border/run-task.ts";
import { isCertain, type Proof } from "../../../core/finding.ts";
import { codeHash, isOpenFinding, type PostedFinding } from "../../../core/ledger/entry.ts";
import { suggestionIn } from "../../../core/ledger/folds.ts";
import { splitLines } from "../../../core/text/cut.ts";
import { provedAnswer } from "../../../pull/publish/command-answers.ts";
import { currentLedger } from "../../../pull/publish/existing.ts";
import { createPrivacy } from "../../../repo/diff/filter.ts";
import { openWorkspace } from "../../../repo/git/object-workspace.ts";
import type { RevisionPlace } from "../../../repo/git/workspace.ts";
import { untrustedLine } from "../../../report/safe-markdown.ts";
import { ProveInput, ProveResult, type ProveTarget, proveTask } from "../../../tasks/prove/prove-input.ts";
import type { JobOutcome } from "../../queue/job.ts";
import { lastResult, recordedTests, startProofs } from "../attempts.ts";
import { withFolders } from "../load-config.ts";
import { beginRun, type CommandReading } from "../model-run.ts";
import {
  answered,
  answeredWithError,
  askedThread,
  type CommandContext,
  configFor,
  ownThreads,
  say,
  withCheckout,
} from "./command-context.ts";

/** Lets a model write a test for the finding of the thread, and answers with what runs of it show. The result is recorded first. */
export async function prove(context: CommandContext): Promise<JobOutcome> {
  const { deps, tools, comment } = context;
  if (comment.thread === null) return answered(context, WHERE, "it names no finding");
  if (deps.models.all === null) return answered(context, NO_MODEL, "there is no model to ask");
  const recorded = await tools.recorded();
  const known = lastResult(ProveResult, recorded);
  if (known) return answerProof(context, known.result, known.head);
  try {
    return await proveThread(context, comment.thread, deps.models.all, recorded);
  } catch (error) {
    return answeredWithError(context, "I cannot prove this", error);
  }
}

const WHERE = "Which finding? Write `/prove` in the thread of a finding.";
const NO_MODEL =
  "I cannot prove this, because no model is configured here. Only the built-in analyzers review.";
const SWITCHED_OFF =
  "Proofs are off in this repository. To switch them on, set `prove: { enabled: true }` in `.github/hunkwise.yml` on the base branch.";
const NO_FINDING = "This thread does not belong to an open finding of mine.";
const CERTAIN = "This finding needs no test: a program found it, not a model.";
const WITHHELD =
  "I cannot prove this, because the configuration keeps this file and its comments private from the model.";

async function proveThread(
  context: CommandContext,
  thread: number,
  models: Models,
  recorded: readonly TrajectoryEntry[],
): Promise<JobOutcome> {
  const { api, deps } = context;
  const pull = await api.pull();
  if (pull.state === "closed") return { kind: "skipped", reason: "the pull request is closed" };
  const root = await configFor(context, pull);
  if (!root.prove.enabled) return answered(context, SWITCHED_OFF, "proofs are off");
  const { entries } = await currentLedger(api);
  const entry = entries.find((one) => one.comment === thread && isOpenFinding(one));
  if (!entry) return answered(context, NO_FINDING, "there is nothing to prove");
  if (isCertain(entry)) return answered(context, CERTAIN, "the finding is certain");
  return withCheckout(context, pull, async (place) => {
    const config = await withFolders(root, place, deps);
    if (createPrivacy(config.paths.private)(entry.path))
      return answered(context, WITHHELD, "it is about a private file");
    return proveEntry({ context, pull, entry, place, config, models, recorded });
  });
}

interface ProofOrder extends Omit<CommandReading, "most"> {
  context: CommandContext;
  entry: PostedFinding;
}

async function proveEntry(order: ProofOrder): Promise<JobOutcome> {
  const { context, pull, entry, place, config, recorded } = order;
  const { deps, tools, job } = context;
  const run = await beginRun(context, { ...order, most: proveTask.most });
  const where = { place, config, repository: `${job.task.repository.id}` };
  const testPlace = await deps.processes.findTestPlace(where, tools.signal);
  if ("why" in testPlace)
    return answered(context, `I cannot prove this: ${untrustedLine(testPlace.why, 600)}.`, testPlace.why);
  const target = await targetOf(context, entry, place);
  if (target === null) return answered(context, NO_FINDING, "GitHub does not show the thread");
  const pinned = await run.pin(Pinned, async () => ({ ...(await run.common()), targets: [target] }));
  const input = await startProofs({ ...run.input, ...pinned }, place, recorded, tools);
  const result = await runTask(proveTask, input, {
    ...run.process,
    started: deps.processes.start(place.root),
    testPlace,
    tested: recordedTests(recorded),
  });
  if (result.stop_reason === "model_error") run.throwIfPassing();
  await run.recordResult(result);
  return answerProof(context, result, pull.headSha);
}

async function answerProof(context: CommandContext, result: ProveResult, head: string): Promise<JobOutcome> {
  const proof: Proof = result.proofs[0]?.proof ?? { kind: "not_shown", reason: "no test was written" };
  await say(context, provedAnswer(result, proof, head));
  return { kind: "done", reason: proof.kind };
}

const Pinned = ProveInput.pick({ pull: true, targets: true, limits: true });

/** Null if the App may not see the thread. */
async function targetOf(
  context: CommandContext,
  entry: PostedFinding,
  place: RevisionPlace,
): Promise<ProveTarget | null> {
  const thread = askedThread(await ownThreads(context), context);
  if (!thread) return null;
  const { id, severity, title, path, side, line, start_line, symbol } = entry;
  const suggestion = await currentSuggestion(entry, place);
  return { id, severity, title, text: thread.finding, path, side, line, start_line, symbol, suggestion };
}

/** Null if the lines that it replaces have changed. */
async function currentSuggestion(
  { path, side, line, start_line, code, text }: PostedFinding,
  place: RevisionPlace,
): Promise<string | null> {
  const suggestion = suggestionIn(text);
  if (suggestion === null || side !== "RIGHT" || line === null || code === null) return null;
  await using workspace = openWorkspace(place);
  const entry = (await workspace.tree("head")).get(path);
  const file = entry && (await workspace.readBlob(entry.oid));
  if (!file || file.binary) return null;
  const lines = splitLines(file.text).slice((start_line ?? line) - 1, line);
  return codeHash(lines.join("\n")) === code ? suggestion : null;
}
