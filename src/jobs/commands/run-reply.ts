import { atLeast } from "../../finding.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import { parseMarker } from "../../ledger/marker.ts";
import { asks, dismisses } from "../../ledger/words.ts";
import type { ClaimedJob, Outcome, ReplyTask } from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { loadConfig } from "../load-config.ts";
import { answerQuestion } from "./answer-question.ts";
import { type Asked, isBot, mayWrite, react, reviewAfter } from "./asked.ts";

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
    const isEnough = isWriter || (await isMild(asked));
    if (!isEnough) return { kind: "skipped", reason: `${by} may not dismiss a finding this severe` };
    await react(asked);
    return reviewAfter(asked);
  }
  if (!asks(body)) return { kind: "done", reason: "it asks nothing" };
  const { config } = await loadConfig({ api, pull, repository }, deps, tools.signal);
  const { answers } = config.conversation;
  const isAnswered = answers === "author" || (answers === "writers" && isWriter);
  return isAnswered
    ? answerQuestion(asked, body)
    : { kind: "skipped", reason: `the configuration leaves questions of ${by} in threads unanswered` };
}

const isAuthor = ({ author }: PullRequest, login: string) => author.toLowerCase() === login.toLowerCase();

/** Whether the finding of the thread is one that the author of the change may dismiss alone. */
async function isMild({ api, comment }: Asked): Promise<boolean> {
  const opening = (await api.ownReviewComments()).find(({ id }) => id === comment.thread);
  const marker = opening && parseMarker(opening.body);
  return marker?.kind === "finding" && !atLeast(marker.severity, "high");
}
