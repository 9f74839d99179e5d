import type { RepoConfig } from "../../config/repo-config.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import { asks, dismisses } from "../../ledger/words.ts";
import type { ClaimedJob, CommandTask, Outcome, ReplyTask } from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { loadConfig } from "../load-config.ts";
import { answerQuestion } from "./answer-question.ts";
import { type Asked, isBot, mayWrite, react, reviewAfter } from "./command-context.ts";

export type ReplyJob = ClaimedJob & { task: ReplyTask };

/**
 * Deals with what a person answered in a thread. In one of ours, by somebody whose word counts, a dismissal lets summary and
 * check run follow, and a question is answered. Everything else is left without a word.
 */
export async function runReply(job: ReplyJob, tools: JobTools, deps: JobDependencies): Promise<Outcome> {
  const { repository, pull: number, commentId, thread, author: by, body } = job.task;
  if (isBot(by)) return { kind: "skipped", reason: `${by} is a bot` };
  const api = await deps.github.pull(repository, number, tools.signal);
  const asked: Asked<ReplyTask> = { job, comment: { id: commentId, thread }, by, api, tools, deps };
  if ((await api.isOwnReviewComment(thread)) !== true)
    return { kind: "done", reason: "the thread is not ours" };
  const pull = await api.pull();
  const isWriter = await mayWrite(asked);
  if (!isWriter && !isAuthor(pull, by)) return { kind: "skipped", reason: `${by} has no say here` };
  if (dismisses(body)) {
    if (!isWriter) return { kind: "skipped", reason: `${by} may not dismiss findings` };
    await react(asked);
    return reviewAfter(asked);
  }
  if (!asks(body)) return { kind: "done", reason: "it asks nothing" };
  return answerInThread(asked, pull, { text: body, isWriter });
}

/**
 * Answers a question by which somebody who cannot write speaks to us by name: in a thread of ours, the author's is one like
 * any reply's. Everybody else's is left without a word.
 */
export async function answerAuthor(asked: Asked<CommandTask>, question: string): Promise<Outcome> {
  const { api, comment, by } = asked;
  const isInOurs = comment.thread !== null && !isBot(by) && (await api.isOwnReviewComment(comment.thread));
  const pull = isInOurs === true ? await api.pull() : undefined;
  if (pull === undefined || !isAuthor(pull, by))
    return { kind: "skipped", reason: `${by} has no write access` };
  return answerInThread(asked, pull, { text: question, isWriter: false });
}

async function answerInThread(
  asked: Asked<CommandTask | ReplyTask>,
  pull: PullRequest,
  { text, isWriter }: { text: string; isWriter: boolean },
): Promise<Outcome> {
  const { answers } = (await configOf(asked, pull)).conversation;
  if (answers === "author" || (answers === "writers" && isWriter)) return answerQuestion(asked, text);
  return {
    kind: "skipped",
    reason: `the configuration leaves questions of ${asked.by} in threads unanswered`,
  };
}

const configOf = ({ api, job, deps, tools }: Asked, pull: PullRequest): Promise<RepoConfig> =>
  loadConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);

const isAuthor = ({ author }: PullRequest, login: string) => author.toLowerCase() === login.toLowerCase();
