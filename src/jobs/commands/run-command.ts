import type { Outcome, ClaimedJob, CommandTask, ReplyTask } from "../../queue/job.ts";
import { commandRules, renderCommandTable } from "../../publish/answers.ts";
import { type Asked, answered, isAnswered, requireOurs, reviewAfter, say, isBot, mayWrite, react } from "./command-context.ts";
import type { Pause } from "../../ledger/state.ts";
import { untrustedCode, untrustedLine } from "../../reporters/safe-markdown.ts";
import { updateState } from "../../publish/sticky-comment.ts";
import type { RepoConfig } from "../../config/repo-config.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import { asks, dismisses } from "../../ledger/words.ts";
import type { JobTools } from "../../queue/run-job.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { loadConfig } from "../load-config.ts";
import { answerQuestion } from "./answer-question.ts";
import { fix } from "./fix.ts";
import { remember } from "./remember.ts";
import { resolve } from "./resolve.ts";

/** Tells of all commands. */
function help(asked: Asked): Promise<Outcome> {
  return answered(asked, `${renderCommandTable()}\n\n${commandRules}`, "told of the commands");
}

/** Stops reviews that events start. Done before it is said; a comment that was answered changes nothing any more. */
async function pause(asked: Asked): Promise<Outcome> {
  const { api, by, deps } = asked;
  if (await isAnswered(asked)) return { kind: "done", reason: "it was paused already" };
  await requireOurs(asked);
  let standing: Pause | null = null;
  await updateState(api, (state) => {
    standing = state.paused;
    return { ...state, paused: state.paused ?? { by, at: new Date(deps.now()).toISOString() } };
  });
  const before = standing as Pause | null;
  const line =
    before === null || before.by === by
      ? "Paused: pushes are not reviewed until someone writes `/resume`. Commands work as before."
      : `It is paused already, by ${untrustedCode(before.by)}. \`/resume\` goes on.`;
  return answered(asked, line, `paused by ${by}`);
}

/** Lets events start reviews again, and makes up for those that were left out. */
async function resume(asked: Asked): Promise<Outcome> {
  if (!(await isAnswered(asked))) {
    await requireOurs(asked);
    await updateState(asked.api, (state) => ({ ...state, paused: null }));
    await say(asked, "Resumed: what came meanwhile is reviewed now, and pushes are reviewed again.");
  }
  return reviewAfter(asked);
}

type ReplyJob = ClaimedJob & { task: ReplyTask };

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
async function answerAuthor(asked: Asked<CommandTask>, question: string): Promise<Outcome> {
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

type CommandJob = ClaimedJob & { task: CommandTask };

/**
 * Does what a person asked for in a comment. Who cannot write to the repository gets no answer and costs nothing, but for the
 * author's questions in our threads. May be run again after a crash at any point: an answer stands once, and what was paid for
 * is not paid again.
 */
export async function runCommand(job: CommandJob, tools: JobTools, deps: JobDependencies): Promise<Outcome> {
  const asked = await askedIn(job, tools, deps);
  const { command } = job.task;
  if (!(await mayWrite(asked))) {
    if (command.name === "ask") return answerAuthor(asked, command.question);
    return { kind: "skipped", reason: `${asked.by} has no write access` };
  }
  if (command.name === "ask") return answerQuestion(asked, command.question);
  await react(asked);
  switch (command.name) {
    case "help":
      return help(asked);
    case "pause":
      return pause(asked);
    case "resume":
      return resume(asked);
    case "resolve":
      return resolve(asked);
    case "fix":
      return fix(asked, command.all);
    case "remember":
      return remember(asked, command.rule);
  }
}

export async function askedIn(
  job: CommandJob,
  tools: JobTools,
  deps: JobDependencies,
): Promise<Asked<CommandTask>> {
  const { repository, pull, commentId, thread, requestedBy } = job.task;
  const api = await deps.github.pull(repository, pull, tools.signal);
  return { job, comment: { id: commentId, thread }, by: requestedBy, api, tools, deps };
}

/** Tells whoever asked why nothing came of it; a stranger is told nothing. */
export async function tellFailure(asked: Asked, reason: string): Promise<Outcome> {
  if (!(await mayWrite(asked))) return { kind: "skipped", reason: `${asked.by} has no write access` };
  return answered(asked, `That did not work: ${untrustedLine(reason, 600)}.`, "told of the failure");
}
