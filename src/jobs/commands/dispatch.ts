import { AppError } from "../../errors.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import { asks, dismisses } from "../../ledger/reply-words.ts";
import { commandRules, renderCommandTable } from "../../publish/command-answers.ts";
import type { ClaimedJob, CommandTask, JobOutcome, ReplyTask } from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import { untrustedLine } from "../../reporters/safe-markdown.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { loadConfig } from "../load-config.ts";
import { answerQuestion, describeChange } from "./answer-question.ts";
import {
  ANSWERED,
  answered,
  type CommandContext,
  isBot,
  isTooOften,
  mayWrite,
  react,
  readAnswers,
  reviewAfter,
  say,
  TOO_OFTEN,
} from "./command-context.ts";
import { fix } from "./fix.ts";
import { pause, resume } from "./pause.ts";
import { prove } from "./prove.ts";
import { remember } from "./remember.ts";
import { resolve } from "./resolve.ts";

type CommandJob = ClaimedJob & { task: CommandTask };

/**
 * Runs a command from a comment. People without write access get no answer and cost nothing, except for the author's questions in our
 * threads. May run again after a crash at any point: an answer is posted once, and nothing is paid twice.
 */
export async function runCommand(
  job: CommandJob,
  tools: JobTools,
  deps: JobDependencies,
): Promise<JobOutcome> {
  const context = await commandContext(job, tools, deps);
  const { command } = job.task;
  if (!(await mayWrite(context))) {
    if (command.name === "ask") return answerAuthor(context, command.question);
    return { kind: "skipped", reason: `${context.by} has no write access` };
  }
  if (command.name === "ask") return answerQuestion(context, command.question);
  if (command.name === "describe") return describeChange(context);
  await react(context);
  if (command.name === "help") return help(context);
  const answers = await readAnswers(context);
  // The job runs again, or its delivery arrived twice: it must not change what changed since.
  if (answers.given)
    return endsInReview.has(command.name) ? reviewAfter(context) : { kind: "done", reason: ANSWERED };
  switch (command.name) {
    case "pause":
      return answered(context, await pause(context), `paused by ${context.by}`);
    case "resume":
      await say(context, await resume(context));
      return reviewAfter(context);
    case "resolve":
      return resolve(context, command.numbers ?? [], job.task.writtenAt);
    case "fix":
      return isTooOften(answers) ? { kind: "done", reason: TOO_OFTEN } : fix(context, command);
    case "prove":
      return isTooOften(answers) ? { kind: "done", reason: TOO_OFTEN } : prove(context);
    case "remember":
      return remember(context, command.rule);
  }
}

/** Commands that end in a review, which updates the summary and the check run. */
const endsInReview = new Set<CommandTask["command"]["name"]>(["resume", "resolve", "fix"]);

export async function commandContext(
  job: CommandJob,
  tools: JobTools,
  deps: JobDependencies,
): Promise<CommandContext<CommandTask>> {
  const { repository, pull, commentId, thread, requestedBy } = job.task;
  const api = await deps.github.pull(repository, pull, tools.signal);
  return { job, comment: { id: commentId, thread }, by: requestedBy, api, tools, deps };
}

/** Answers why the command failed; people without write access get no answer. */
export async function tellFailure(context: CommandContext, reason: string): Promise<JobOutcome> {
  if (!(await mayWrite(context))) return { kind: "skipped", reason: `${context.by} has no write access` };
  return answered(context, `This failed: ${untrustedLine(reason, 600)}.`, "answered with the failure");
}

/** Lists the commands that are on here. With a configuration that is refused, none of the optional ones is. */
async function help(context: CommandContext): Promise<JobOutcome> {
  const { api, job, deps, tools } = context;
  const subject = { api, pull: await api.pull(), repository: job.task.repository };
  const config = await loadConfig(subject, deps, tools.signal).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "config_invalid") return null;
    throw error;
  });
  const on = { describe: config?.conversation.describe ?? false, prove: config?.prove.enabled ?? false };
  return answered(
    context,
    `${renderCommandTable(on)}\n\n${commandRules}`,
    "answered with the list of commands",
  );
}

type ReplyJob = ClaimedJob & { task: ReplyTask };

/**
 * Handles a reply in a review thread. In a thread of ours, by a writer or the author: a writer's dismissal starts a review, so that
 * summary and check run follow, and a question is answered. Everything else gets no answer.
 */
export async function runReply(job: ReplyJob, tools: JobTools, deps: JobDependencies): Promise<JobOutcome> {
  const { repository, pull: number, commentId, thread, author: by, body } = job.task;
  if (isBot(by)) return { kind: "skipped", reason: `${by} is a bot` };
  const api = await deps.github.pull(repository, number, tools.signal);
  const context: CommandContext<ReplyTask> = {
    job,
    comment: { id: commentId, thread },
    by,
    api,
    tools,
    deps,
  };
  if ((await api.isOwnReviewComment(thread)) !== true)
    return { kind: "done", reason: "the thread is not ours" };
  const pull = await api.pull();
  const isWriter = await mayWrite(context);
  if (!isWriter && !isAuthor(pull, by))
    return { kind: "skipped", reason: `${by} neither has write access nor opened the pull request` };
  if (dismisses(body)) {
    if (!isWriter) return { kind: "skipped", reason: `${by} may not dismiss findings` };
    await react(context);
    return reviewAfter(context);
  }
  if (!asks(body)) return { kind: "done", reason: "it asks nothing" };
  return answerQuestion(context, body);
}

/**
 * Answers an `ask` command of the pull request's author who has no write access, in a thread of ours, like a reply. Other people get
 * no answer.
 */
async function answerAuthor(context: CommandContext<CommandTask>, question: string): Promise<JobOutcome> {
  const { api, comment, by } = context;
  const isInOurs = comment.thread !== null && !isBot(by) && (await api.isOwnReviewComment(comment.thread));
  const pull = isInOurs === true ? await api.pull() : undefined;
  if (pull === undefined || !isAuthor(pull, by))
    return { kind: "skipped", reason: `${by} has no write access` };
  return answerQuestion(context, question);
}

const isAuthor = ({ author }: PullRequest, login: string) => author.toLowerCase() === login.toLowerCase();
