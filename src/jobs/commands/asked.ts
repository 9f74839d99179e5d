import { AppError, errorLine } from "../../errors.ts";
import type { CommentRef, PullRequestApi } from "../../github/pull-request-api.ts";
import { hasWriteAccess } from "../../ledger/authority.ts";
import type { ClaimedJob, CommandTask, Outcome, ReplyTask, ReviewTask } from "../../queue/job.ts";
import { type JobTools, jobFields } from "../../queue/run-job.ts";
import { postOnce } from "../../publish/post-once.ts";
import { renderAnswer } from "../../publish/answers.ts";
import { isRefusal } from "../attempts.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { reviewPull } from "../review-pull.ts";
import { readAnswers } from "./answers.ts";

/** A comment in which somebody asks us for something, and what is needed to deal with it. */
export interface Asked<
  T extends CommandTask | ReplyTask | ReviewTask = CommandTask | ReplyTask | ReviewTask,
> {
  job: ClaimedJob & { task: T };
  comment: CommentRef;
  /** Login of who wrote it. */
  by: string;
  api: PullRequestApi;
  tools: JobTools;
  deps: JobDependencies;
}

/** Whoever answers each of our answers ends here: another bot under a person's name, or a loop of ours. */
const most = { inThread: 10, inAll: 50 };

/** Whether GitHub says that somebody can write to the repository. Rejects when it cannot be asked; bots never may. */
export async function mayWrite({ api, by }: Pick<Asked, "api" | "by">): Promise<boolean> {
  return !isBot(by) && (await hasWriteAccess(api, by));
}

/** Brackets cannot occur in a person's login. */
export const isBot = (login: string): boolean => login.endsWith("[bot]");

/** Shows that a comment was seen. Courtesy alone: a reaction that GitHub refuses stops nothing. */
export async function react({ api, comment }: Asked): Promise<void> {
  await api.react(comment, "eyes").catch(() => {});
}

/** Whether we have answered the comment: a job that is done again, or a delivery that came twice. */
export const isAnswered = async ({ api, comment }: Asked): Promise<boolean> =>
  (await readAnswers(api, comment)).given;

/** Why there is no answer to be given; null where there is. */
export async function whySilent({ api, comment }: Asked): Promise<string | null> {
  const { given, inThread, inAll } = await readAnswers(api, comment);
  if (given) return "it was answered already";
  return inThread >= most.inThread || inAll >= most.inAll ? "we have answered too often here" : null;
}

/** Asked before anything is done that can be seen. Rejects with `lease_lost` where another worker has the job. */
export async function requireOurs({ tools }: Pick<Asked, "tools">): Promise<void> {
  if (!(await tools.stillOurs())) throw new AppError("lease_lost", "another worker has this job now");
}

/**
 * Answers the comment, where it stands, once. Where GitHub takes no comment (a locked conversation) or there are too many of
 * ours, nobody is told but the log.
 *
 * @param text our own Markdown, given how many bytes there are for it
 */
export async function say(asked: Asked, text: string | ((maxBytes: number) => string)): Promise<void> {
  const { api, comment, job, deps } = asked;
  const silent = await whySilent(asked);
  if (silent !== null) return deps.log.info(jobFields(job), `Not answered: ${silent}`);
  await requireOurs(asked);
  const at = { id: comment.id, url: comment.thread === null ? pageOf(asked) : null };
  const body = renderAnswer(typeof text === "string" ? () => text : text, at);
  try {
    await postOnce(
      () => (comment.thread === null ? api.createComment(body) : api.reply(comment.thread, body)),
      async () => (await readAnswers(api, comment)).given,
    );
  } catch (error) {
    if (!isRefusal(error)) throw error;
    deps.log.warn(jobFields(job), `The answer could not be posted: ${errorLine(error)}`);
  }
}

/** The page of a comment in the conversation. */
export function pageOf({ job, comment, deps }: Asked): string {
  const { owner, name } = job.task.repository;
  return `${deps.webUrl}/${owner}/${name}/pull/${job.task.pull}#issuecomment-${comment.id}`;
}

/** Says it in one line, and is done. */
export async function answered(asked: Asked, line: string, reason: string): Promise<Outcome> {
  await say(asked, line);
  return { kind: "done", reason };
}

/** An ordinary review of what is new, which whoever asked was found to be allowed to start: summary and check run follow. */
export function reviewAfter({ job, comment, by, tools, deps }: Asked): Promise<Outcome> {
  const { repository, pull } = job.task;
  const place = comment.thread === null ? "comment" : "review-comment";
  const task: ReviewTask = {
    ...{ kind: "review", mode: "new", again: false, repository, pull },
    ...{ headSha: null, trigger: `${place}:${comment.id}`, thread: comment.thread },
    ...{ commentId: null, requestedBy: by },
  };
  return reviewPull({ ...job, task }, tools, deps, { isAdmitted: true });
}
