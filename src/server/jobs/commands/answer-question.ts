import type { Models } from "../../../agent/llm/model.ts";
import type { StopReason, TrajectoryEntry } from "../../../agent/record/trajectory.ts";
import { runTask } from "../../../border/run-task.ts";
import type { AppError } from "../../../core/errors.ts";
import { modelAnswer, modelDescription } from "../../../pull/publish/command-answers.ts";
import { createPrivacy } from "../../../repo/diff/filter.ts";
import {
  AnswerInput,
  AnswerResult,
  type AskedThread,
  answerTask,
} from "../../../tasks/answer/answer-input.ts";
import { publicModelError, whyNoResult } from "../../../tasks/shapes/review-result.ts";
import type { JobOutcome } from "../../queue/job.ts";
import { lastResult, recordStart } from "../attempts.ts";
import { withFolders } from "../load-config.ts";
import { beginRun } from "../model-run.ts";
import {
  answered,
  answeredWithError,
  askedThread,
  type CommandContext,
  configFor,
  ownThreads,
  react,
  say,
  whySilent,
  withCheckout,
} from "./command-context.ts";

/** Answers a question about the change with a model that reads the head with tools. The answer is recorded before it is posted. */
export function answerQuestion(context: CommandContext, question: string): Promise<JobOutcome> {
  return answer(context, { question, wants: "answer" });
}

/** Describes the change in the same way, if the configuration of the base branch allows it. */
export function describeChange(context: CommandContext): Promise<JobOutcome> {
  return answer(context, { question: "/describe", wants: "description" });
}

interface Wish {
  question: string;
  wants: "answer" | "description";
}

async function answer(context: CommandContext, wish: Wish): Promise<JobOutcome> {
  const { deps, tools } = context;
  const silent = await whySilent(context);
  if (silent !== null) return { kind: "done", reason: silent };
  await react(context);
  try {
    if (wish.wants === "description") {
      const { conversation } = await configFor(context, await context.api.pull());
      if (!conversation.describe) return await answered(context, SWITCHED_OFF, "descriptions are off");
    }
    if (deps.models.all === null) return await answered(context, NO_MODEL, "there is no model to ask");
    const recorded = await tools.recorded();
    const known = lastResult(AnswerResult, recorded);
    if (known) return await post(context, wish, known);
    return await askModel(context, wish, recorded, deps.models.all);
  } catch (error) {
    return answeredWithError(context, "I cannot answer this", error);
  }
}

const SWITCHED_OFF =
  "Descriptions are off in this repository. To switch them on, set `conversation: { describe: true }` in `.github/hunkwise.yml` on the base branch.";

const NO_MODEL =
  "I cannot answer this, because no model is configured here. Only the built-in analyzers review.";

async function askModel(
  context: CommandContext,
  wish: Wish,
  recorded: readonly TrajectoryEntry[],
  models: Models,
): Promise<JobOutcome> {
  const { api, deps, tools, by } = context;
  const pull = await api.pull();
  const root = await configFor(context, pull);
  return withCheckout(context, pull, async (place) => {
    const config = await withFolders(root, place, deps);
    const run = await beginRun(context, { pull, place, config, models, recorded, most: answerTask.most });
    const pinned = await run.pin(Pinned, async () => ({
      ...(await run.common()),
      thread: await threadOf(context, wish),
    }));
    if (pinned.thread && createPrivacy(config.paths.private)(pinned.thread.path))
      return await answered(context, WITHHELD, "it is about a private file");
    const input: AnswerInput = {
      ...run.input,
      ...pinned,
      question: { by, body: wish.question },
      ...(wish.wants === "description" && { wants: wish.wants }),
    };
    await recordStart({ kind: "run", what: "answer", shas: place.shas, input }, recorded, tools);
    const started = deps.processes.start(place.root);
    const result = await runTask(answerTask, input, { ...run.process, started });
    if (result.text !== null) {
      await run.recordResult(result);
      return await post(context, wish, { result, head: pull.headSha });
    }
    run.throwIfPassing();
    return answered(context, noAnswer(result.stop_reason, run.lastFault()), "there is no answer");
  });
}

const WITHHELD =
  "I cannot answer this, because the configuration keeps this file and its comments private from the model.";

const Pinned = AnswerInput.pick({ pull: true, thread: true, limits: true });

/** A description is about the whole change, wherever it was asked for. */
async function threadOf(context: CommandContext, { wants }: Wish): Promise<AskedThread | null> {
  return context.comment.thread === null || wants === "description"
    ? null
    : askedThread(await ownThreads(context), context);
}

function noAnswer(reason: StopReason, fault: AppError | undefined): string {
  if (fault) return `I cannot answer this. ${publicModelError(fault)}`;
  return `I cannot answer this: ${whyNoResult(reason, "the model gave no answer")}.`;
}

async function post(
  context: CommandContext,
  { wants }: Wish,
  { result, head }: { result: AnswerResult; head: string },
): Promise<JobOutcome> {
  const render = wants === "description" ? modelDescription : modelAnswer;
  if (result.text !== null) await say(context, render(result, result.text, head));
  return { kind: "done", reason: "answered" };
}
