import { AppError } from "../../../core/errors.ts";
import { isOpenFinding } from "../../../core/ledger/entry.ts";
import { formatMarker } from "../../../core/ledger/marker.ts";
import type { Pause } from "../../../core/ledger/state.ts";
import { withoutSecrets } from "../../../core/secrets/redact.ts";
import type { PullRequest } from "../../../pull/github/pull-request-api.ts";
import { isSamePerson } from "../../../pull/ledger/authority.ts";
import { asks, dismisses } from "../../../pull/ledger/reply-words.ts";
import { commandRules, renderCommandTable, renderDryRun } from "../../../pull/publish/command-answers.ts";
import { currentLedger } from "../../../pull/publish/existing.ts";
import { publicText } from "../../../pull/publish/public-text.ts";
import { updateState } from "../../../pull/publish/sticky-comment.ts";
import { untrustedCode, untrustedLine } from "../../../report/safe-markdown.ts";
import type {
  Act,
  ActTask,
  ClaimedJob,
  CommandTask,
  JobOutcome,
  ReplyTask,
  ReviewTask,
} from "../../queue/job.ts";
import { type JobTools, requireLease } from "../../queue/run-job.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { reviewConfig } from "../load-config.ts";
import { type ReviewJob, reviewUnseen } from "../review-and-publish.ts";
import { answerQuestion, describeChange } from "./answer-question.ts";
import {
  ANSWERED,
  type AskedContext,
  answered,
  answeredWithError,
  type CommandContext,
  configFor,
  isBot,
  isMarked,
  isTooOften,
  mayWrite,
  postUnlessRefused,
  react,
  readAnswers,
  reviewAfter,
  reviewFor,
  say,
  TOO_OFTEN,
} from "./command-context.ts";
import { fix } from "./fix.ts";
import { prove } from "./prove.ts";
import { demote, remember } from "./remember.ts";
import { dismiss, resolve, resolveThreads } from "./resolve.ts";

type CommandJob = ClaimedJob & { task: CommandTask };

/**
 * Runs a command from a comment. People without write access get no answer, except for the author's questions in our threads. May run again
 * after a crash at any point: an answer is posted once, and nothing is paid twice.
 */
export async function runCommand(
  job: CommandJob,
  tools: JobTools,
  deps: JobDependencies,
): Promise<JobOutcome> {
  const context = await contextOf(job, job.task.requestedBy, tools, deps);
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

const endsInReview = new Set<CommandTask["command"]["name"]>(["resume", "resolve", "fix"]);

async function contextOf<T extends CommandContext["job"]["task"] & { commentId: number }>(
  job: ClaimedJob & { task: T },
  by: string,
  tools: JobTools,
  deps: JobDependencies,
): Promise<CommandContext<T>> {
  const { repository, pull, commentId: id, thread } = job.task;
  const api = await deps.github.pull(repository, pull, tools.signal);
  return { job, comment: { id, thread }, by, api, tools, deps };
}

/** Answers the person who asked for a command or a dry run in a comment why it failed; people without write access get no answer. */
export async function answerFailure(
  job: ClaimedJob & { task: CommandTask | ReviewTask },
  reason: string,
  tools: JobTools,
  deps: JobDependencies,
): Promise<void> {
  const context = await askedContext(job, tools, deps);
  if (context && (await mayWrite(context)))
    await answered(context, `This failed: ${untrustedLine(reason, 600)}.`, "answered with the failure");
}

/** With a configuration that is refused, no optional command is on. */
async function help(context: CommandContext): Promise<JobOutcome> {
  const config = await configFor(context, await context.api.pull()).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "config_invalid") return null;
    throw error;
  });
  const on = { describe: config?.conversation.describe ?? false, prove: config?.prove.enabled ?? false };
  const list = `${renderCommandTable(on)}\n\n${commandRules}`;
  return answered(context, list, "answered with the list of commands");
}

type ReplyJob = ClaimedJob & { task: ReplyTask };

/** A dismissal by a writer starts a review, and a question of a writer or the author in a thread of ours is answered. */
export async function runReply(job: ReplyJob, tools: JobTools, deps: JobDependencies): Promise<JobOutcome> {
  const { thread, author: by, body } = job.task;
  if (isBot(by)) return { kind: "skipped", reason: `${by} is a bot` };
  const context = await contextOf(job, by, tools, deps);
  const { api } = context;
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

/** Answers an `ask` of the author without write access, in a thread of ours, like a reply. */
async function answerAuthor(context: CommandContext<CommandTask>, question: string): Promise<JobOutcome> {
  const { api, comment, by } = context;
  const isInOurs = comment.thread !== null && !isBot(by) && (await api.isOwnReviewComment(comment.thread));
  const pull = isInOurs === true ? await api.pull() : undefined;
  if (pull === undefined || !isAuthor(pull, by))
    return { kind: "skipped", reason: `${by} has no write access` };
  return answerQuestion(context, question);
}

const isAuthor = ({ author }: PullRequest, login: string) => author.toLowerCase() === login.toLowerCase();

/** Reviews the whole change and shows the result in one comment, without a review, a summary or a check run. */
export async function dryRun(job: ReviewJob, tools: JobTools, deps: JobDependencies): Promise<JobOutcome> {
  const context = await askedContext(job, tools, deps);
  if (context === null) return { kind: "skipped", reason: "no one requested it" };
  if (!(await mayWrite(context))) return { kind: "skipped", reason: `${context.by} has no write access` };
  await react(context);
  if ((await readAnswers(context)).given) return { kind: "done", reason: ANSWERED };
  const { api } = context;
  const pull = await api.pull();
  if (pull.state === "closed") return { kind: "skipped", reason: "the pull request is closed" };
  try {
    const loaded = await reviewConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);
    const [ledger, recorded] = [await currentLedger(api), await tools.recorded()];
    const { trigger } = job.task;
    const result = await reviewUnseen({ job, api, pull, trigger, loaded, ledger, recorded }, tools, deps);
    await say(context, (maxBytes) => renderDryRun(result, maxBytes));
    return { kind: "done", reason: `${result.findings.length} would be posted` };
  } catch (error) {
    return answeredWithError(context, "Not reviewed", error);
  }
}

/** Null for a dry run that no person asked for in a comment. */
async function askedContext(
  job: ClaimedJob & { task: CommandTask | ReviewTask },
  tools: JobTools,
  deps: JobDependencies,
) {
  const { commentId, requestedBy } = job.task;
  if (commentId === null || requestedBy === null) return null;
  return contextOf({ ...job, task: { ...job.task, commentId } }, requestedBy, tools, deps);
}

type ActContext = AskedContext<ActTask>;

/** Does what a person did on a page, in public, if GitHub lets them now. May run again after a crash at any point. */
export async function runAct(
  job: ClaimedJob & { task: ActTask },
  tools: JobTools,
  deps: JobDependencies,
): Promise<JobOutcome> {
  const { repository, pull, act, account, requestedBy: by } = job.task;
  const api = await deps.github.pull(repository, pull, tools.signal);
  const context: ActContext = { job, by, api, tools, deps };
  // If an earlier attempt opened a check run, it must be concluded.
  const wasLetIn = (await tools.recorded()).some(({ kind }) => kind === "check_opened");
  if (!wasLetIn && !(await mayWrite(context, account)))
    return { kind: "skipped", reason: `${by} has no write access` };
  switch (act.name) {
    case "review":
      // Nothing is reviewed, and nothing is to be said, once it is closed.
      if ((await api.pull()).state === "open")
        await announceOnce(context, async () => (act.mode === "full" ? WHOLE_AGAIN : NEW_CHANGES));
      return review(context, act.mode);
    case "pause":
      await announceOnce(context, () => pause(context));
      return { kind: "done", reason: `paused by ${by}` };
    case "resume":
      await announceOnce(context, () => resume(context));
      return review(context);
    case "dismiss":
      return dismissOne(context, act);
    case "demote":
      await announceOnce(context, () => demote(context, act));
      return { kind: "done", reason: `proposed for ${by}` };
  }
}

const WHOLE_AGAIN = "I review the whole change again.";
const NEW_CHANGES = "I review what is new since the last review.";

const review = (context: ActContext, mode: ReviewTask["mode"] = "new"): Promise<JobOutcome> =>
  reviewFor(context, { mode, trigger: `page:${context.job.task.id}`, thread: null });

/**
 * Does something, and then says so once in the conversation; if that was said before, does nothing.
 * @param work resolves to what to say, in Markdown
 */
async function announceOnce(context: ActContext, work: () => Promise<string>): Promise<void> {
  const { api, by, job } = context;
  const { id } = job.task;
  const isPosted = async () => isMarked(await api.ownComments(), "acted", (marker) => marker.id === id);
  if (await isPosted()) return;
  const text = await work();
  const marker = formatMarker({ kind: "acted", id });
  const body = publicText(`Asked for by ${untrustedCode(by)} on a page of Hunkwise. ${text}\n\n${marker}`);
  await postUnlessRefused(context, "What was done on a page could not be said", {
    post: () => api.createComment(body),
    isPosted,
  });
}

async function dismissOne(
  context: ActContext,
  { comment, reason }: Extract<Act, { name: "dismiss" }>,
): Promise<JobOutcome> {
  const { entries } = await currentLedger(context.api);
  const entry = entries.find((one) => one.comment === comment);
  if (!entry) return { kind: "skipped", reason: "the finding has no comment any more" };
  const { state, dismissal } = entry;
  if (isOpenFinding(entry)) {
    if (!(await dismiss(entry, context, withoutSecrets(reason))))
      return { kind: "skipped", reason: "GitHub refuses an answer in the thread of the finding" };
  } else if (dismissal?.how !== "page" || !isSamePerson(dismissal.by ?? "", context.by)) {
    return { kind: "skipped", reason: `the finding is already ${state}` };
  }
  await resolveThreads([entry], context);
  return review(context);
}

/* Both resolve to the answer, in Markdown. */

/** Stops reviews that events start. */
async function pause({ api, by, job, tools, deps }: AskedContext): Promise<string> {
  await requireLease(tools);
  const at = new Date(deps.now()).toISOString();
  const now: Pause = { by, at, ...(job.task.kind === "act" && { on: "page" }) };
  let before: Pause | null = null as Pause | null;
  await updateState(api, (state) => {
    before = state.paused;
    return { ...state, paused: state.paused ?? now };
  });
  return before === null || before.by === by
    ? "Paused: pushes are not reviewed until someone writes `/resume`. Commands still work."
    : `Reviews of pushes are already paused, by ${untrustedCode(before.by)}. \`/resume\` starts them again.`;
}

/** A review must follow, to make up for the omitted ones. */
async function resume({ api, tools }: AskedContext): Promise<string> {
  await requireLease(tools);
  await updateState(api, (state) => ({ ...state, paused: null }));
  return "Resumed: I review what was pushed meanwhile, and every push from now on.";
}
