import type { TrajectoryEntry } from "../../../agent/trajectory.ts";
import type { EffectiveConfig } from "../../../config/repo-config.ts";
import { createPrivacy } from "../../../diff/filter.ts";
import { AppError } from "../../../errors.ts";
import type { CheckoutPlace } from "../../../git/workspace.ts";
import type { PullRequest } from "../../../github/pull-request-api.ts";
import type { LedgerEntry } from "../../../ledger/entry.ts";
import { eachRole, factsOf, type Models } from "../../../llm/model.ts";
import { runFixProcess } from "../../../process/run-fix-process.ts";
import { maxAttempts } from "../../../queue/job.ts";
import { FixInput, FixResult, type FixTarget } from "../../../review/fix/fix-input.ts";
import { recordedMasks, recordedTurns } from "../../attempts.ts";
import { withinDay } from "../../day-budget.ts";
import { loadConfig, withFolders } from "../../load-config.ts";
import { recordStart } from "../../record-start.ts";
import { toldOnce } from "../../told.ts";
import { watchModels } from "../../watched-model.ts";
import type { Asked } from "../asked.ts";
import { budgetOf, limitsWithin, logProgress, ownThreads } from "../model-work.ts";
import { askedThread } from "../question-thread.ts";

/** Of one fix, within what the repository allows for a review. */
const most = { turns: 60, tokens: 1_500_000, milliseconds: 30 * 60_000 };

/** What is to be repaired, and where. */
export interface FixOrder {
  asked: Asked;
  pull: PullRequest;
  /** Findings of ours that stand. */
  entries: readonly LedgerEntry[];
  /** Of `pull`'s head. */
  place: CheckoutPlace;
  models: Models;
  recorded: readonly TrajectoryEntry[];
}

/** A repair as a model made it, on record. */
export interface MadeFix {
  fix: FixResult;
  /** An earlier attempt made it, and may have pushed it. */
  isRecorded: boolean;
  isPrivate(path: string): boolean;
}

/** What an earlier attempt came to of this head. */
export function recordedFix(
  recorded: readonly TrajectoryEntry[],
): { fix: FixResult; head: string } | undefined {
  const last = recorded.findLast((entry) => entry.kind === "result");
  const { data } = FixResult.safeParse(last?.result);
  return last && data ? { fix: data, head: last.head } : undefined;
}

/**
 * Has a model repair findings in a process that can write nothing; what it made is on record before anything is done with it. Rejects
 * with `budget_spent`, `config_invalid`, and with the model's fault where another attempt may end otherwise.
 */
export async function makeFix(order: FixOrder): Promise<MadeFix> {
  const { asked, pull, place, models, recorded } = order;
  const { api, deps, tools, job } = asked;
  const root = await loadConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);
  const config = await withFolders(root, place);
  const isPrivate = createPrivacy(config.paths.private);
  const known = recordedFix(recorded);
  if (known?.head === pull.headSha) return { fix: known.fix, isRecorded: true, isPrivate };

  const budget = budgetOf(asked, config);
  const turns = recordedTurns(recorded, pull.headSha);
  await tools.record({ kind: "began", head: pull.headSha });
  if (turns.length === 0) await budget.require();
  await deps.modelsReady(tools.signal);
  const watched = watchModels(eachRole(models, (model) => budget.meter(model)));
  const limits = withinDay(limitsWithin(most, config), await budget.left(), turns);
  const input = await inputOf(order, config, limits, turns);
  const { shas } = place;
  await recordStart({ kind: "run", what: "fix", shas, input }, recorded, tools);
  const fix = await runFixProcess({
    ...{ place, input, models: watched.models, signal: tools.signal },
    sandbox: (await deps.fixSandbox?.(config, tools.signal)) ?? null,
    ...(deps.startProcess && { started: deps.startProcess(place.root) }),
    trajectory: { append: tools.record },
    replay: turns,
    masks: recordedMasks(recorded),
    onProgress: (event) => logProgress(event, asked),
  });
  const fault = watched.lastFault();
  const isCut = fix.stop_reason === "model_error";
  if (isCut && fault?.retryable && job.attempt < maxAttempts) throw fault;
  await tools.record({ kind: "result", head: pull.headSha, base: pull.baseSha, result: fix });
  return { fix, isRecorded: false, isPrivate };
}

const Told = FixInput.pick({ pull: true, targets: true, limits: true });

async function inputOf(
  { asked, pull, entries, models, recorded }: FixOrder,
  config: EffectiveConfig,
  limits: FixInput["limits"],
  turns: ReturnType<typeof recordedTurns>,
): Promise<FixInput> {
  const { number, title, body, headSha: head, baseSha: base, baseRef } = pull;
  const isPrivate = createPrivacy(config.paths.private);
  const about = { head, base, after: null, private: [...config.paths.private] };
  const told = await toldOnce({ about, shape: Told, recorded, turns }, asked.tools, async () => ({
    pull: { number, title, body },
    targets: await targetsOf(
      asked,
      entries.filter(({ path }) => !isPrivate(path)),
    ),
    limits,
  }));
  return { targetBranch: baseRef, config, models: eachRole(models, factsOf), ...told };
}

async function targetsOf(asked: Asked, entries: readonly LedgerEntry[]): Promise<FixTarget[]> {
  const threads = await ownThreads(asked);
  const targets = entries.flatMap(({ comment, id, title, symbol, source, files }): FixTarget[] => {
    const thread = askedThread(threads, { comment: { id: asked.comment.id, thread: comment } });
    return thread ? [{ ...thread, id, title, symbol, source, files: [...files] }] : [];
  });
  if (targets.length > 0) return targets;
  throw new AppError("config_invalid", "These findings are about files that the configuration keeps private");
}
