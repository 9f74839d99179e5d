import type { StopReason, TrajectoryEntry } from "../../agent/trajectory.ts";
import type { RepoConfig } from "../../config/repo-config.ts";
import { createPrivacy } from "../../diff/filter.ts";
import { AppError, publicLine } from "../../errors.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import { eachRole, factsOf, type Models } from "../../llm/model.ts";
import { runAnswerProcess } from "../../process/run-answer-process.ts";
import { maxAttempts, type Outcome } from "../../queue/job.ts";
import { modelAnswer } from "../../reporters/render-answer.ts";
import { untrustedLine } from "../../reporters/render-untrusted.ts";
import { AnswerInput, AnswerResult, type AskedThread } from "../../review/answer/answer-input.ts";
import type { Limits } from "../../review/review-input.ts";
import { publicModelError } from "../../review/review-result.ts";
import { recordedMasks, recordedTurns } from "../attempts.ts";
import { withinDay } from "../day-budget.ts";
import { loadConfig, withFolders } from "../load-config.ts";
import { recordStart } from "../record-start.ts";
import { toldOnce } from "../told.ts";
import { watchModels } from "../watched-model.ts";
import { type Asked, answered, react, say, whySilent } from "./asked.ts";
import { budgetOf, limitsWithin, logProgress, ownThreads } from "./model-work.ts";
import { askedThread } from "./question-thread.ts";

/** Of one answer, within what the repository allows for a review. */
const most = { turns: 20, tokens: 300_000, milliseconds: 5 * 60_000 };

/**
 * Answers a question about the change by a model that reads the head with tools, below the question. What the model said is
 * recorded before it is posted, so that another attempt pays for nothing.
 */
export async function answerQuestion(asked: Asked, question: string): Promise<Outcome> {
  const { deps, tools } = asked;
  const silent = await whySilent(asked);
  if (silent !== null) return { kind: "done", reason: silent };
  await react(asked);
  if (deps.models === null) return answered(asked, NO_MODEL, "there is no model to ask");
  const recorded = await tools.recorded();
  const known = recordedAnswer(recorded);
  if (known) return post(asked, known.answer, known.head);
  try {
    return await askModel({ asked, question, recorded, models: deps.models });
  } catch (error) {
    const isTold =
      error instanceof AppError && (error.code === "budget_spent" || error.code === "config_invalid");
    if (!isTold) throw error;
    return answered(asked, `I cannot answer this: ${untrustedLine(publicLine(error), 600)}.`, error.message);
  }
}

const NO_MODEL = "I cannot answer this: no model is configured here, only the built-in analyzers.";

interface Question {
  asked: Asked;
  question: string;
  recorded: readonly TrajectoryEntry[];
  models: Models;
}

async function askModel({ asked, question, recorded, models }: Question): Promise<Outcome> {
  const { api, deps, tools, job } = asked;
  const pull = await api.pull();
  const config = await loadConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);
  const budget = budgetOf(asked, config);
  const turns = recordedTurns(recorded, pull.headSha);
  await tools.record({ kind: "began", head: pull.headSha });
  if (turns.length === 0) await budget.require();
  await deps.modelsReady(tools.signal);
  const watched = watchModels(eachRole(models, (model) => budget.meter(model)));
  const limits = async () => withinDay(limitsWithin(most, config), await budget.left(), turns);
  const prepared = { pull, question, rootConfig: config, limits, models: watched.models, recorded, turns };
  const answer = await readAndAnswer(asked, prepared);
  if (answer === null) return answered(asked, WITHHELD, "it is about a private file");
  if (answer.text !== null) {
    await tools.record({ kind: "result", head: pull.headSha, base: pull.baseSha, result: answer });
    return post(asked, answer, pull.headSha);
  }
  const fault = watched.lastFault();
  if (fault?.retryable && job.attempt < maxAttempts) throw fault;
  return answered(asked, noAnswer(answer.stop_reason, fault), "there is no answer");
}

const WITHHELD =
  "I cannot answer this: the configuration keeps this file from the model, and what was said of it.";

interface Prepared {
  pull: PullRequest;
  question: string;
  rootConfig: RepoConfig;
  limits(): Promise<Limits>;
  models: Models;
  recorded: readonly TrajectoryEntry[];
  turns: ReturnType<typeof recordedTurns>;
}

const Told = AnswerInput.pick({ pull: true, thread: true, limits: true });

/** Null where what was asked about is withheld from every model. */
async function readAndAnswer(
  asked: Asked,
  { pull, question, rootConfig, limits, models, recorded, turns }: Prepared,
): Promise<AnswerResult | null> {
  const { job, deps, by, tools } = asked;
  const { signal, record } = tools;
  const { number, title, body, headSha: head, baseSha: base, baseRef } = pull;
  const { repository } = job.task;
  const checkout = await deps.checkout({ repository, pull: number, head, base, baseRef, signal });
  try {
    const config = await withFolders(rootConfig, checkout.place);
    const about = { head, base, after: null, private: [...config.paths.private] };
    const told = await toldOnce({ about, shape: Told, recorded, turns }, tools, async () => ({
      ...{ pull: { number, title, body }, thread: await threadOf(asked), limits: await limits() },
    }));
    if (told.thread && createPrivacy(config.paths.private)(told.thread.path)) return null;
    const input: AnswerInput = {
      ...{ targetBranch: baseRef, question: { by, body: question }, config, ...told },
      models: eachRole(models, factsOf),
    };
    const { place } = checkout;
    await recordStart({ kind: "run", what: "answer", shas: place.shas, input }, recorded, tools);
    return await runAnswerProcess({
      ...{ place, input, models, signal },
      started: deps.startProcess?.(place.root),
      trajectory: { append: record },
      replay: turns,
      masks: recordedMasks(recorded),
      onProgress: (event) => logProgress(event, asked),
    });
  } finally {
    await checkout.release();
  }
}

async function threadOf(asked: Asked): Promise<AskedThread | null> {
  return asked.comment.thread === null ? null : askedThread(await ownThreads(asked), asked);
}

const limits: Partial<Record<StopReason, string>> = {
  turn_limit: "I did not come to an end within the limit of turns",
  token_limit: "I did not come to an end within the limit of tokens",
  cost_limit: "I did not come to an end within the limit of costs",
  time_limit: "I did not come to an end within the time limit",
};

function noAnswer(reason: StopReason, fault: AppError | undefined): string {
  if (fault) return `I cannot answer this. ${publicModelError(fault)}`;
  return `I cannot answer this: ${limits[reason] ?? "the model gave no answer"}.`;
}

/** What an attempt before came to, and could not post. */
function recordedAnswer(
  recorded: readonly TrajectoryEntry[],
): { answer: AnswerResult; head: string } | undefined {
  const last = recorded.findLast((entry) => entry.kind === "result");
  const { data } = AnswerResult.safeParse(last?.result);
  return last && data ? { answer: data, head: last.head } : undefined;
}

async function post(asked: Asked, answer: AnswerResult, head: string): Promise<Outcome> {
  if (answer.text !== null) await say(asked, modelAnswer(answer, answer.text, head));
  return { kind: "done", reason: "answered" };
}
