import type { CommentRef, PullRequestApi } from "../../github/pull-request-api.ts";
import { type Answers, answersTo } from "../../ledger/answers.ts";
import { isRefusal } from "../attempts.ts";

type Source = Pick<PullRequestApi, "ownComments" | "ownReviewComments" | "ownThreads">;

/**
 * What we have answered on a pull request. Rejects where GitHub does not show those of our texts among which the answer would
 * stand: it might stand there already.
 */
export async function readAnswers(api: Source, comment: CommentRef): Promise<Answers> {
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
