import { AppError } from "../errors.ts";
import type { GitHubClient } from "./client.ts";
import { type AppIdentity, ownAmong, ownCommentsAmong, ownTextsAmong } from "./own-text.ts";
import { PullRequestShape } from "./payload.ts";
import type { InlineComment, PullRequestApi } from "./pull-request-api.ts";
import { createRepositoryApi, type RepositoryApiOptions, read } from "./repository-client.ts";
import { ownThreads, resolveThread } from "./review-threads.ts";
import { failedChecks, issue } from "./surroundings.ts";

export interface PullRequestApiOptions extends RepositoryApiOptions {
  pull: number;
  /** The same with a token that may write to the repository, which it is asked for when it is first needed. */
  writing: GitHubClient;
}

/** Of reviews or comments 10,000: beyond it we would not know what already stands, and so post nothing. */
const mostHundreds = 100;

/** One pull request on GitHub, over a client that paces, repeats and explains. */
export function createPullRequestApi(options: PullRequestApiOptions): PullRequestApi {
  const { client, owner, repo, app, pull, writing } = options;
  const { rest } = client;
  const here = { owner, repo };
  const thisPull = { ...here, pull_number: pull };
  const root = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`;

  const all = (path: string) => client.list(`${root}/${path}`, mostHundreds);
  const own = <Item>(path: string, of: (page: unknown[], app: AppIdentity) => Item[]) =>
    client.list(`${root}/${path}`, mostHundreds, (page) => of(page, app));
  const reviews = () => own(`pulls/${pull}/reviews`, ownAmong);

  async function discardPendingReviews(): Promise<void> {
    for (const review of (await reviews()).filter((one) => one.pending)) {
      await rest.pulls.deletePendingReview({ ...thisPull, review_id: review.id });
    }
  }

  return {
    ...createRepositoryApi(options),

    async pull() {
      const { data } = await rest.pulls.get(thisPull);
      return read(PullRequestShape, data, `pull request ${pull}`);
    },

    async ownReviewComments() {
      return ownCommentsAmong(await all(`pulls/${pull}/comments`), app);
    },
    ownThreads: () =>
      ownThreads({ client, owner, repo, pull }, app, {
        comments: () => all(`pulls/${pull}/comments`),
        downvotes: (comment) => all(`pulls/comments/${comment}/reactions`),
      }),
    resolveThread: (id) => resolveThread(writing, id),
    isOwnReviewComment: (id) => isOwnComment(options, id),
    issue: (number) => issue(options, number),
    failedChecks: (headSha) => failedChecks(options, headSha),
    ownComments: () => own(`issues/${pull}/comments`, ownTextsAmong),
    ownReviews: reviews,
    discardPendingReviews,

    async createReview(headSha, body, comments) {
      await rest.pulls.createReview({
        ...thisPull,
        commit_id: headSha,
        event: "COMMENT",
        body,
        comments: comments.map(wireComment),
      });
    },

    async acceptsReview(headSha, comments) {
      // One that was left behind (by a crash between the two calls below) would make GitHub refuse any other.
      await discardPendingReviews();
      try {
        await rest.pulls.createReview({
          ...thisPull,
          commit_id: headSha,
          comments: comments.map(wireComment),
        });
      } catch (error) {
        if (error instanceof AppError && error.code === "github_invalid") return false;
        throw error;
      }
      await discardPendingReviews();
      return true;
    },

    async createFileComment(headSha, path, body) {
      await rest.pulls.createReviewComment({
        ...thisPull,
        commit_id: headSha,
        path,
        body,
        subject_type: "file",
      } as Parameters<typeof rest.pulls.createReviewComment>[0]);
    },

    async reply(comment_id, body) {
      await rest.pulls.createReplyForReviewComment({ ...thisPull, comment_id, body });
    },

    async createComment(body) {
      await rest.issues.createComment({ ...here, issue_number: pull, body });
    },

    async updateComment(id, body) {
      await rest.issues.updateComment({ ...here, comment_id: id, body });
    },

    deleteComment: (comment_id) => unlessGone(rest.issues.deleteComment({ ...here, comment_id })),
    deleteReviewComment: (comment_id) => unlessGone(rest.pulls.deleteReviewComment({ ...here, comment_id })),
    async editReview(review_id, body) {
      await rest.pulls.updateReview({ ...thisPull, review_id, body });
    },
  };
}

async function isOwnComment(
  { client, owner, repo, app }: PullRequestApiOptions,
  comment_id: number,
): Promise<boolean | undefined> {
  try {
    const { data } = await client.rest.pulls.getReviewComment({ owner, repo, comment_id });
    return ownAmong([data], app).length === 1;
  } catch (error) {
    if (error instanceof AppError && error.code === "github_not_found") return undefined;
    throw error;
  }
}

async function unlessGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof AppError && error.code === "github_not_found")) throw error;
  }
}

function wireComment({ path, side, line, startLine, body }: InlineComment) {
  const range = startLine === null ? {} : { start_line: startLine, start_side: side };
  return { path, side, line, body, ...range };
}
