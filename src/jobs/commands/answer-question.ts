import type { StopReason, TrajectoryEntry } from "../../agent/trajectory.ts";
import type { RepoConfig } from "../../config/repo-config.ts";
import { createPrivacy } from "../../diff/filter.ts";
import type { AppError } from "../../errors.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import { eachRole, factsOf, type Models } from "../../llm/model.ts";
import { runTask } from "../../process/run-task.ts";
import { modelAnswer, modelDescription } from "../../publish/command-answers.ts";
import { type JobOutcome, maxAttempts } from "../../queue/job.ts";
import { AnswerInput, AnswerResult, type AskedThread, answerTask } from "../../review/answer/answer-input.ts";
import type { Limits } from "../../review/review-input.ts";
import { publicModelError, whyNoResult } from "../../review/review-result.ts";
import { pinPromptContext, recordedMasks, recordedTurns, recordStart } from "../attempts.ts";
import { withinBudget } from "../budgets.ts";
import { loadConfig, withFolders } from "../load-config.ts";
import { budgetOf, limitsWithin, logProgress, watchModels } from "../model-run.ts";
import {
  answered,
  answeredWithError,
  askedThread,
  type CommandContext,
  ownThreads,
  react,
  say,
  whySilent,
} from "./command-context.ts";

/**
 * Answers a question about the change, below the question, with a model that reads the head with tools. The model's answer is recorded
 * before it is posted, so another attempt pays nothing.
 */
export function answerQuestion(context: CommandContext, question: string): Promise<JobOutcome> {
  return answer(context, { question, wants: "answer" });
}

/**
 * Describes the change, below the comment that asks for it, in the same way. If the configuration of the base branch does not allow it, the
 * answer says how to switch it on.
 */
export function describeChange(context: CommandContext): Promise<JobOutcome> {
  return answer(context, { question: "/describe", wants: "description" });
}

/** What a person wants to know. */
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
    if (wish.wants === "description" && !(await mayDescribe(context)))
      return await answered(context, SWITCHED_OFF, "descriptions are off");
    if (deps.models === null) return await answered(context, NO_MODEL, "there is no model to ask");
    const recorded = await tools.recorded();
    const known = recordedAnswer(recorded);
    if (known) return await post(context, wish, known);
    return await askModel({ context, wish, recorded, models: deps.models });
  } catch (error) {
    return answeredWithError(context, "I cannot answer this", error);
  }
}

/** Whether the configuration of the base branch switches descriptions on. Rejects as `loadConfig` does. */
async function mayDescribe({ api, job, deps, tools }: CommandContext): Promise<boolean> {
  const subject = { api, pull: await api.pull(), repository: job.task.repository };
  return (await loadConfig(subject, deps, tools.signal)).conversation.describe;
}

const SWITCHED_OFF =
  "Descriptions are off in this repository. To switch them on, set `conversation: { describe: true }` in `.github/hunkwise.yml` on the base branch.";

const NO_MODEL =
  "I cannot answer this, because no model is configured here. Only the built-in analyzers review.";

interface Question {
  context: CommandContext;
  wish: Wish;
  recorded: readonly TrajectoryEntry[];
  models: Models;
}

async function askModel({ context, wish, recorded, models }: Question): Promise<JobOutcome> {
  const { api, deps, tools, job } = context;
  const pull = await api.pull();
  const config = await loadConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);
  const budget = budgetOf(job, config, deps);
  const turns = recordedTurns(recorded, pull.headSha);
  await tools.record({ kind: "began", head: pull.headSha });
  if (turns.length === 0) await budget.require();
  await deps.modelsReady(tools.signal);
  const watched = watchModels(eachRole(models, (model) => budget.meter(model)));
  const limits = async () => withinBudget(limitsWithin(answerTask.most, config), await budget.left(), turns);
  const prepared = { pull, wish, rootConfig: config, limits, models: watched.models, recorded, turns };
  const answer = await readAndAnswer(context, prepared);
  if (answer === null) return answered(context, WITHHELD, "it is about a private file");
  if (answer.text !== null) {
    await tools.record({ kind: "result", head: pull.headSha, base: pull.baseSha, result: answer });
    return post(context, wish, { answer, head: pull.headSha });
  }
  const fault = watched.lastFault();
  if (fault?.retryable && job.attempt < maxAttempts) throw fault;
  return answered(context, noAnswer(answer.stop_reason, fault), "there is no answer");
}

const WITHHELD =
  "I cannot answer this, because the configuration keeps this file and its comments private from the model.";

interface Prepared {
  pull: PullRequest;
  wish: Wish;
  rootConfig: RepoConfig;
  limits(): Promise<Limits>;
  models: Models;
  recorded: readonly TrajectoryEntry[];
  turns: ReturnType<typeof recordedTurns>;
}

const Told = AnswerInput.pick({ pull: true, thread: true, limits: true });

/** Null if the subject of the question is withheld from every model. */
async function readAndAnswer(
  context: CommandContext,
  { pull, wish, rootConfig, limits, models, recorded, turns }: Prepared,
): Promise<AnswerResult | null> {
  const { job, deps, by, tools } = context;
  const { signal, record } = tools;
  const { number, title, body, headSha: head, baseSha: base, baseRef } = pull;
  const { repository } = job.task;
  const checkout = await deps.checkout({ repository, pull: number, head, base, baseRef, signal });
  try {
    const config = await withFolders(rootConfig, checkout.place, deps);
    const about = { head, base, after: null, private: [...config.paths.private] };
    const told = await pinPromptContext({ about, shape: Told, recorded, turns }, tools, async () => ({
      ...{ pull: { number, title, body }, thread: await threadOf(context, wish), limits: await limits() },
    }));
    if (told.thread && createPrivacy(config.paths.private)(told.thread.path)) return null;
    const input: AnswerInput = {
      ...{ targetBranch: baseRef, question: { by, body: wish.question }, config, ...told },
      ...(wish.wants === "description" && { wants: wish.wants }),
      models: eachRole(models, factsOf),
    };
    const { place } = checkout;
    await recordStart({ kind: "run", what: "answer", shas: place.shas, input }, recorded, tools);
    return await runTask(answerTask, input, {
      ...{ place, models, signal },
      started: deps.startProcess?.(place.root),
      trajectory: { append: record },
      replay: turns,
      masks: recordedMasks(recorded),
      onProgress: (event) => logProgress(event, job, deps.log),
    });
  } finally {
    await checkout.release();
  }
}

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

interface GivenAnswer {
  answer: AnswerResult;
  /** The commit that the model read. */
  head: string;
}

/** The recorded answer that an earlier attempt could not post. */
function recordedAnswer(recorded: readonly TrajectoryEntry[]): GivenAnswer | undefined {
  const last = recorded.findLast((entry) => entry.kind === "result");
  const { data } = AnswerResult.safeParse(last?.result);
  return last && data ? { answer: data, head: last.head } : undefined;
}

async function post(
  context: CommandContext,
  { wants }: Wish,
  { answer, head }: GivenAnswer,
): Promise<JobOutcome> {
  const render = wants === "description" ? modelDescription : modelAnswer;
  if (answer.text !== null) await say(context, render(answer, answer.text, head));
  return { kind: "done", reason: "answered" };
}
