import { AppError, errorLine } from "../../errors.ts";
import type {
  CommentRef,
  OwnText,
  OwnThread,
  PullRequestApi,
  ThreadComment,
} from "../../github/pull-request-api.ts";
import { hasWriteAccess } from "../../ledger/authority.ts";
import { parseMarker } from "../../ledger/marker.ts";
import { renderAnswer } from "../../publish/answers.ts";
import { postOnce } from "../../publish/post-once.ts";
import type { ClaimedJob, CommandTask, Outcome, ReplyTask, ReviewTask } from "../../queue/job.ts";
import { type JobTools, jobFields } from "../../queue/run-job.ts";
import type { AskedThread, Said } from "../../review/answer/answer-input.ts";
import { isRefusal } from "../attempts.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { shorten } from "../prompt-context.ts";
import { reviewPull } from "../review-pull.ts";

/** What we have answered on a pull request. */
interface Answers {
  /** The comment in question has its answer. */
  given: boolean;
  /** In its thread; 0 for one in the conversation. */
  inThread: number;
  /** On the pull request. */
  inAll: number;
}

/** Our own texts on a pull request. */
interface OwnTexts {
  conversation: readonly OwnText[];
  /** On lines and files, answers in threads among them. */
  lines: readonly OwnText[];
  threads: readonly OwnThread[];
}

/** Counts our answers. Whose an answer in a thread is, GitHub says; what else is given here has to be ours. */
export function answersTo({ id, thread }: CommentRef, { conversation, lines, threads }: OwnTexts): Answers {
  const replies = threads.flatMap((one) =>
    one.replies
      .filter(({ author }) => author.kind === "us")
      .map((reply) => ({ ...reply, thread: one.comment })),
  );
  // An answer in a thread is read from both.
  const inThreads = new Map([...lines, ...replies].map((text) => [text.id, text]));
  const said = answeredIn(conversation);
  const saidInThreads = answeredIn([...inThreads.values()]);
  const here = replies.filter((reply) => reply.thread === thread && answeredBy(reply.body) !== undefined);
  // The ids of the two kinds of comments may coincide; an answer stands where its comment does.
  const given = (thread === null ? said : saidInThreads).includes(id);
  return { given, inThread: here.length, inAll: said.length + saidInThreads.length };
}

const answeredIn = (texts: readonly Pick<OwnText, "body">[]) =>
  texts.flatMap(({ body }) => answeredBy(body) ?? []);

/** The comment that a text of ours answers. */
function answeredBy(body: string): number | undefined {
  const marker = parseMarker(body);
  return marker?.kind === "answer" ? marker.comment : undefined;
}

type Source = Pick<PullRequestApi, "ownComments" | "ownReviewComments" | "ownThreads">;

/**
 * What we have answered on a pull request. Rejects where GitHub does not show those of our texts among which the answer would
 * stand: it might stand there already.
 */
async function readAnswers(api: Source, comment: CommentRef): Promise<Answers> {
  const isInThread = comment.thread !== null;
  const [conversation, lines, threads] = await Promise.all([
    isInThread ? orNone(api.ownComments()) : api.ownComments(),
    isInThread ? api.ownReviewComments() : orNone(api.ownReviewComments()),
    isInThread ? orNone(api.ownThreads()) : [],
  ]);
  return answersTo(comment, { conversation, lines, threads });
}

async function orNone<T>(asked: Promise<T[]>): Promise<T[]> {
  try {
    return await asked;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return [];
  }
}

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

const mostReplies = 30;
/** Characters. */
const longest = { finding: 6_000, said: 2_000 };

/**
 * The thread of a finding of ours up to the comment that asks, as it was then: what was said since is no part of the question,
 * and another attempt asks the same. Null where it is no finding's.
 */
export function askedThread(
  threads: readonly OwnThread[],
  { comment }: Pick<Asked, "comment">,
): AskedThread | null {
  const thread = threads.find((one) => one.comment === comment.thread);
  if (!thread || parseMarker(thread.body)?.kind !== "finding") return null;
  const { path, side, line, originalLine, body, replies } = thread;
  const before = replies.filter(({ id }) => id < comment.id).slice(-mostReplies);
  return {
    ...{ path, side, line, original_line: originalLine },
    finding: shorten(withoutMarker(body), longest.finding),
    conversation: before.map(said),
  };
}

function said({ author, body }: ThreadComment): Said {
  const by = author.kind === "us" ? "Hunkwise" : (author.login ?? "somebody");
  return { by, body: shorten(author.kind === "us" ? withoutMarker(body) : body, longest.said) };
}

/** Our texts end with their marker, which is for nobody to read. */
function withoutMarker(body: string): string {
  const text = body.trimEnd();
  if (parseMarker(text) === undefined) return text;
  return text.slice(0, Math.max(0, text.lastIndexOf("\n"))).trimEnd();
}

/** The threads of our comments; none if GitHub refuses to show them. */
export const ownThreads = ({ api }: Pick<Asked, "api">): Promise<OwnThread[]> => orNone(api.ownThreads());
