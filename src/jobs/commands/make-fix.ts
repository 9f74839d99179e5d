import type { TrajectoryEntry } from "../../agent/trajectory.ts";
import type { EffectiveConfig } from "../../config/repo-config.ts";
import { createPrivacy } from "../../diff/filter.ts";
import { AppError } from "../../errors.ts";
import type { ProofTest } from "../../finding.ts";
import type { RevisionPlace } from "../../git/workspace.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import type { PostedFinding } from "../../ledger/entry.ts";
import { proofIn } from "../../ledger/folds.ts";
import { eachRole, factsOf, type Models } from "../../llm/model.ts";
import type { TestPlace } from "../../process/messages.ts";
import { NO_SANDBOX } from "../../process/prove-review.ts";
import { runTask } from "../../process/run-task.ts";
import { maxAttempts } from "../../queue/job.ts";
import { FixInput, FixResult, type FixTarget, fixTask } from "../../review/fix/fix-input.ts";
import { pinPromptContext, recordedMasks, recordedTests, recordedTurns, recordStart } from "../attempts.ts";
import { withinBudget } from "../budgets.ts";
import { loadConfig, withFolders } from "../load-config.ts";
import { budgetOf, limitsWithin, logProgress, watchModels } from "../model-run.ts";
import { askedThread, type CommandContext, ownThreads } from "./command-context.ts";

/** What to repair, and where. */
interface FixOrder {
  context: CommandContext;
  pull: PullRequest;
  /** Our findings that are still open. */
  entries: readonly PostedFinding[];
  /** Checkout of `pull`'s head. */
  place: RevisionPlace;
  /** Whether the tests that show the findings must pass, and become a part of the repair. */
  withTests: boolean;
  models: Models;
  recorded: readonly TrajectoryEntry[];
}

/** A recorded repair by a model. */
export interface MadeFix {
  fix: FixResult;
  /** An earlier attempt made it, and may have pushed it. */
  isRecorded: boolean;
  isPrivate(path: string): boolean;
  /** The test that the repair of a finding has to pass, by the finding's id. */
  testOf(id: string): ProofTest | undefined;
}

/** The result of an earlier attempt, and its head. */
export function recordedFix(
  recorded: readonly TrajectoryEntry[],
): { fix: FixResult; head: string } | undefined {
  const last = recorded.findLast((entry) => entry.kind === "result");
  const { data } = FixResult.safeParse(last?.result);
  return last && data ? { fix: data, head: last.head } : undefined;
}

/**
 * Lets a model repair findings in a process that cannot write anything. The repair is recorded before it is used. Rejects with
 * `budget_spent`, `config_invalid`, and with the model's fault if another attempt may end differently.
 */
export async function makeFix(order: FixOrder): Promise<MadeFix> {
  const { context, pull, place, models, recorded } = order;
  const { api, deps, tools, job } = context;
  const root = await loadConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);
  const config = await withFolders(root, place, deps);
  const isPrivate = createPrivacy(config.paths.private);
  const known = recordedFix(recorded);
  if (known?.head === pull.headSha)
    return { fix: known.fix, isRecorded: true, isPrivate, testOf: testsOf(recordedTargets(recorded)) };

  const budget = budgetOf(job, config, deps);
  const turns = recordedTurns(recorded, pull.headSha);
  await tools.record({ kind: "began", head: pull.headSha });
  if (turns.length === 0) await budget.require();
  await deps.modelsReady(tools.signal);
  const watched = watchModels(eachRole(models, (model) => budget.meter(model)));
  const limits = withinBudget(limitsWithin(fixTask.most, config), await budget.left(), turns);
  const input = await inputOf(order, config, limits, turns);
  const { shas } = place;
  const testPlace = input.targets.some(({ test }) => test) ? await testPlaceOf(order, config) : undefined;
  await recordStart({ kind: "run", what: "fix", shas, input }, recorded, tools);
  const fix = await runTask(fixTask, input, {
    ...{ place, models: watched.models, signal: tools.signal },
    sandbox: (await deps.commandSandbox?.(config, tools.signal)) ?? null,
    ...{ testPlace, tested: recordedTests(recorded) },
    ...(deps.startProcess && { started: deps.startProcess(place.root) }),
    trajectory: { append: tools.record },
    replay: turns,
    masks: recordedMasks(recorded),
    onProgress: (event) => logProgress(event, job, deps.log),
  });
  const fault = watched.lastFault();
  const isCut = fix.stop_reason === "model_error";
  if (isCut && fault?.retryable && job.attempt < maxAttempts) throw fault;
  await tools.record({ kind: "result", head: pull.headSha, base: pull.baseSha, result: fix });
  return { fix, isRecorded: false, isPrivate, testOf: testsOf(input.targets) };
}

const testsOf =
  (targets: readonly FixTarget[]): MadeFix["testOf"] =>
  (id) =>
    targets.find((target) => target.id === id)?.test;

/** What an earlier attempt was to repair. */
function recordedTargets(recorded: readonly TrajectoryEntry[]): readonly FixTarget[] {
  const start = recorded.findLast((entry) => entry.kind === "run" && entry.what === "fix");
  return (start?.kind === "run" && FixInput.safeParse(start.input).data?.targets) || [];
}

/** Where the tests run; rejects with `not_allowed` if they cannot, before anything is paid for. */
async function testPlaceOf({ context, place }: FixOrder, config: EffectiveConfig): Promise<TestPlace> {
  const { deps, tools, job } = context;
  if (!config.prove.enabled)
    throw withoutTests("no test can run: the configuration of the base branch switches proofs off");
  const { id } = job.task.repository;
  const wanted = { place, config, repository: `${id}` };
  const found = (await deps.findTestPlace?.(wanted, tools.signal)) ?? NO_SANDBOX;
  if ("why" in found) throw withoutTests(`no test can run: ${found.why}`);
  return found;
}

const withoutTests = (why: string) =>
  new AppError("not_allowed", why, { remedy: "To repair it without a test, write /fix alone" });

const Told = FixInput.pick({ pull: true, targets: true, limits: true });

async function inputOf(
  { context, pull, entries, withTests, models, recorded }: FixOrder,
  config: EffectiveConfig,
  limits: FixInput["limits"],
  turns: ReturnType<typeof recordedTurns>,
): Promise<FixInput> {
  const { number, title, body, headSha: head, baseSha: base, baseRef } = pull;
  const isPrivate = createPrivacy(config.paths.private);
  const about = { head, base, after: null, private: [...config.paths.private] };
  const told = await pinPromptContext({ about, shape: Told, recorded, turns }, context.tools, async () => ({
    pull: { number, title, body },
    targets: await targetsOf(context, notPrivate(entries, isPrivate), withTests),
    limits,
  }));
  return { targetBranch: baseRef, config, models: eachRole(models, factsOf), ...told };
}

function notPrivate(entries: readonly PostedFinding[], isPrivate: (path: string) => boolean) {
  const shown = entries.filter(({ path }) => !isPrivate(path));
  if (shown.length > 0) return shown;
  throw new AppError("config_invalid", "the configuration keeps the files of these findings private");
}

async function targetsOf(
  context: CommandContext,
  entries: readonly PostedFinding[],
  withTests: boolean,
): Promise<FixTarget[]> {
  const threads = await ownThreads(context);
  const targets = entries.flatMap(({ comment, id, title, symbol, source, files }): FixTarget[] => {
    const thread = askedThread(threads, { comment: { id: context.comment.id, thread: comment } });
    if (!thread) return [];
    const shown = withTests ? proofIn(threads.find((one) => one.comment === comment)?.body ?? "") : null;
    // Its command is in the comment for people: a person may have edited it.
    const test = shown && { path: shown.path, text: shown.text };
    return [{ ...thread, id, title, symbol, source, files, ...(test && { test }) }];
  });
  if (withTests && targets.length > 0 && targets.every(({ test }) => !test))
    throw withoutTests(
      targets.length === 1 ? "the finding has no test that shows it" : "no finding has a test that shows it",
    );
  if (targets.length > 0) return targets;
  throw new AppError("github_forbidden", "GitHub does not show the threads of these findings to the App");
}
