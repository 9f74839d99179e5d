import { AppError, type ErrorCode, errorLine, publicLine } from "../../../core/errors.ts";
import { withoutMachineParts } from "../../../core/ledger/entry.ts";
import { type Marker, markerIn, withoutMarker } from "../../../core/ledger/marker.ts";
import { cutCharacters } from "../../../core/text/cut.ts";
import type {
  CommentRef,
  OwnThread,
  PullRequest,
  PullRequestApi,
  ThreadComment,
} from "../../../pull/github/pull-request-api.ts";
import { hasWriteAccess } from "../../../pull/ledger/authority.ts";
import { type Answers, answersTo } from "../../../pull/ledger/read-ledger.ts";
import { renderAnswer } from "../../../pull/publish/command-answers.ts";
import { postOnce } from "../../../pull/publish/post-once.ts";
import type { RevisionPlace } from "../../../repo/git/workspace.ts";
import { untrustedLine } from "../../../report/safe-markdown.ts";
import type { AskedThread, ThreadMessage } from "../../../tasks/answer/answer-input.ts";
import {
  type ActTask,
  type ClaimedJob,
  type CommandTask,
  type JobOutcome,
  type ReplyTask,
  type ReviewTask,
  reviewOf,
} from "../../queue/job.ts";
import { type JobTools, jobFields, requireLease } from "../../queue/run-job.ts";
import { isRefusal } from "../attempts.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { loadConfig } from "../load-config.ts";
import { reviewPull } from "../review-pull.ts";

type CommentTask = CommandTask | ReplyTask | ReviewTask;

/** What a person asks of us, wherever they do. */
export interface AskedContext<T extends CommentTask | ActTask = CommentTask | ActTask> {
  job: ClaimedJob & { task: T };
  /** The person's login. */
  by: string;
  api: PullRequestApi;
  tools: JobTools;
  deps: JobDependencies;
}

/** A comment that asks us for something. */
export interface CommandContext<T extends CommentTask = CommentTask> extends AskedContext<T> {
  comment: CommentRef;
}

/** Ends a conversation with a bot under a person's name. */
const most = { inThread: 10, inAll: 50 };

/** Whether a person can write to the repository; bots never can. Rejects if GitHub cannot be reached. */
export async function mayWrite(
  { api, by }: Pick<CommandContext, "api" | "by">,
  account?: number,
): Promise<boolean> {
  return !isBot(by) && (await hasWriteAccess(api, by, account));
}

/** Brackets cannot occur in a person's login. */
export const isBot = (login: string): boolean => login.endsWith("[bot]");

/** Shows that the comment was seen. A refused reaction stops nothing. */
export async function react({ api, comment }: CommandContext): Promise<void> {
  await api.react(comment, "eyes").catch(() => {});
}

/** Why the comment gets no answer; null if it gets one. */
export async function whySilent(context: CommandContext): Promise<string | null> {
  const answers = await readAnswers(context);
  if (answers.given) return ANSWERED;
  return isTooOften(answers) ? TOO_OFTEN : null;
}

export const ANSWERED = "it was already answered";
export const TOO_OFTEN = "the limit of answers is reached here";

export const isTooOften = ({ inThread, inAll }: Pick<Answers, "inThread" | "inAll">): boolean =>
  inThread >= most.inThread || inAll >= most.inAll;

/**
 * Answers the comment once, in its thread or in the conversation, unless GitHub refuses or we have answered too often.
 * @param text our own Markdown, for at most this many bytes
 */
export async function say(
  context: CommandContext,
  text: string | ((maxBytes: number) => string),
): Promise<void> {
  const { api, comment, job, deps } = context;
  const silent = await whySilent(context);
  if (silent !== null) return deps.log.info(jobFields(job), `Not answered: ${silent}`);
  const at = { id: comment.id, url: comment.thread === null ? pageOf(context) : null };
  const body = renderAnswer(typeof text === "string" ? () => text : text, at);
  await postUnlessRefused(context, "The answer could not be posted", {
    post: () => (comment.thread === null ? api.createComment(body) : api.reply(comment.thread, body)),
    isPosted: async () => (await readAnswers(context)).given,
  });
}

/** Posts something once. False if GitHub refuses it. */
export async function postUnlessRefused(
  { api, job, tools, deps }: AskedContext,
  otherwise: string,
  { post, isPosted }: { post: () => Promise<void>; isPosted: () => Promise<boolean> },
): Promise<boolean> {
  await requireLease(tools);
  try {
    await postOnce(api, post, isPosted);
    return true;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    deps.log.warn(jobFields(job), `${otherwise}: ${errorLine(error)}`);
    return false;
  }
}

/** Whether one of these texts of ours has such a marker. */
export const isMarked = <Kind extends Marker["kind"]>(
  texts: readonly { body: string }[],
  kind: Kind,
  isMeant: (marker: Extract<Marker, { kind: Kind }>) => boolean,
): boolean =>
  texts.some(({ body }) => {
    const marker = markerIn(body, kind);
    return marker !== undefined && isMeant(marker);
  });

/** The page of a comment. */
export function pageOf({ job, comment, deps }: CommandContext): string {
  const { owner, name } = job.task.repository;
  const place = comment.thread === null ? "issuecomment-" : "discussion_r";
  return `${deps.app.webUrl}/${owner}/${name}/pull/${job.task.pull}#${place}${comment.id}`;
}

/** Answers with one line and ends the job. */
export async function answered(context: CommandContext, line: string, reason: string): Promise<JobOutcome> {
  await say(context, line);
  return { kind: "done", reason };
}

const forPeople = new Set<ErrorCode>(["budget_spent", "config_invalid", "github_forbidden", "not_allowed"]);

/** Answers with an error that people can act on. Rejects with any other error. */
export async function answeredWithError(
  context: CommandContext,
  start: string,
  error: unknown,
): Promise<JobOutcome> {
  if (!(error instanceof AppError) || !forPeople.has(error.code)) throw error;
  return answered(context, `${start}: ${untrustedLine(publicLine(error), 600)}.`, error.message);
}

/** A review of what is new, to update the summary and the check run. */
export function reviewAfter(context: CommandContext): Promise<JobOutcome> {
  const { thread, id } = context.comment;
  const place = thread === null ? "comment" : "review-comment";
  return reviewFor(context, { trigger: `${place}:${id}`, thread, mode: "new" });
}

/** A review for a person whose permission is checked. */
export function reviewFor(
  { job, by, tools, deps }: AskedContext,
  review: Pick<ReviewTask, "mode" | "trigger" | "thread">,
): Promise<JobOutcome> {
  const { repository, pull } = job.task;
  const task = reviewOf({ repository, pull, requestedBy: by, ...review });
  return reviewPull({ ...job, task }, tools, deps, true);
}

/** The configuration of the base branch, without its folders. Rejects with `config_invalid`. */
export const configFor = ({ api, job, tools, deps }: AskedContext, pull: PullRequest) =>
  loadConfig({ api, pull, repository: job.task.repository }, deps, tools.signal);

/** Does something with a checkout of the pull request, and gives it back. */
export async function withCheckout<T>(
  { job, tools, deps }: AskedContext,
  pull: PullRequest,
  work: (place: RevisionPlace) => Promise<T>,
): Promise<T> {
  const { repository } = job.task;
  const checkout = await deps.disk.checkout({ repository, pull, signal: tools.signal });
  try {
    return await work(checkout.place);
  } finally {
    await checkout.release();
  }
}

const mostReplies = 30;
/** Characters. */
const longest = { finding: 6_000, message: 2_000 };

/** The thread of one of our findings up to the comment that asks, so that another attempt asks the same. Null if it is about no finding. */
export function askedThread(
  threads: readonly OwnThread[],
  { comment }: Pick<CommandContext, "comment">,
): AskedThread | null {
  const thread = threads.find((one) => one.comment === comment.thread);
  if (!thread || !markerIn(thread.body, "finding")) return null;
  const { path, side, line, originalLine, body, replies } = thread;
  const before = replies.filter(({ id }) => id < comment.id).slice(-mostReplies);
  return {
    path,
    side,
    line,
    original_line: originalLine,
    finding: cutCharacters(withoutMachineParts(body), longest.finding),
    conversation: before.map(messageOf),
  };
}

function messageOf({ author, body }: ThreadComment): ThreadMessage {
  const by = author.kind === "us" ? "Hunkwise" : (author.login ?? "somebody");
  return { by, body: cutCharacters(author.kind === "us" ? withoutMarker(body) : body, longest.message) };
}

/** None if GitHub refuses to show them. */
export const ownThreads = ({ api }: Pick<CommandContext, "api">): Promise<OwnThread[]> =>
  orNone(api.ownThreads());

/** Rejects if GitHub does not show the texts that may contain our answer, because it might exist already. */
export async function readAnswers({
  api,
  comment,
}: Pick<CommandContext, "api" | "comment">): Promise<Answers> {
  const isInThread = comment.thread !== null;
  const [conversation, lines, threads] = await Promise.all([
    isInThread ? orNone(api.ownComments()) : api.ownComments(),
    isInThread ? api.ownReviewComments() : orNone(api.ownReviewComments()),
    isInThread ? orNone(api.ownThreads()) : [],
  ]);
  return answersTo(comment, { conversation, lines, threads });
}

async function orNone<T>(request: Promise<T[]>): Promise<T[]> {
  try {
    return await request;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return [];
  }
}
