import { type AnchorProblem, type AskedLine, resolveAnchor } from "../anchor.ts";
import { currentPlace, pullDiff } from "../current-line.ts";
import {
  type Answer,
  created,
  type Endpoints,
  inRepository,
  listed,
  ok,
  type RepositoryCall,
} from "../endpoint.ts";
import { checkBodyLength, GitHubRefusal, NotSimulated, notFound, validationFailed } from "../errors.ts";
import { pullOf, reviewCommentOf, writtenNow } from "../find.ts";
import { reviewCommentJson } from "../json/comment.ts";
import type { LineAnchor, Pull, Review, ReviewComment } from "../model.ts";
import { commitOf } from "./reviews.ts";

interface NewReviewComment extends AskedLine {
  body: string;
  commit_id: string;
  position?: number;
  in_reply_to?: number;
  subject_type?: "line" | "file";
}

const resource = "PullRequestReviewComment";
const refusal = (field: string, message: string) =>
  validationFailed({ resource, code: "custom", field, message: `${field} ${message}` });

/** GitHub's refusals of a line comment without a valid place. */
const refusals: Record<AnchorProblem, () => GitHubRefusal> = {
  path: () => refusal("pull_request_review_thread.path", "could not be resolved"),
  too_large: () =>
    validationFailed(
      {
        resource,
        code: "custom",
        field: "pull_request_review_thread.path",
        message: "pull_request_review_thread.path diff too large",
      },
      { resource, code: "missing_field", field: "pull_request_review_thread.diff_hunk" },
    ),
  line: () =>
    validationFailed(
      {
        resource,
        code: "custom",
        field: "pull_request_review_thread.line",
        message: "pull_request_review_thread.line must be part of the diff",
      },
      { resource, code: "missing_field", field: "pull_request_review_thread.diff_hunk" },
    ),
  start_line: () =>
    refusal("pull_request_review_thread.start_line", "must be part of the same hunk as the line."),
  order: () => refusal("pull_request_review_thread.start_line", "must precede the end line."),
};

async function anchorOf(pull: Pull, asked: NewReviewComment, commitId: string): Promise<LineAnchor | null> {
  if (asked.position !== undefined) throw new NotSimulated("a review comment by `position`");
  const files = await pullDiff(pull, commitId);
  if (asked.subject_type === "file") {
    if (!files.some((file) => file.path === asked.path)) throw refusals.path();
    return null;
  }
  const result = resolveAnchor(files, asked);
  if ("problem" in result) throw refusals[result.problem]();
  return result.anchor;
}

/** A comment outside a review gets a separate review without text. */
function reviewOfOne(call: RepositoryCall, pull: Pull, commitId: string): Review {
  if (pull.locked) throw refusal("base", "lock prevents review");
  if (pull.reviews.some((one) => one.state === "PENDING" && one.author === call.token.installation.app.bot)) {
    const message = "user_id can only have one pending review per pull request";
    throw validationFailed({ resource: "PullRequestReview", code: "custom", field: "user_id", message });
  }
  const review: Review = { ...writtenNow(call, ""), pull, state: "COMMENTED", commitId };
  pull.reviews.push(review);
  return review;
}

function checkBody(body: string): void {
  if (!body.trim()) throw validationFailed({ resource, code: "missing_field", field: "body" });
  checkBodyLength(body, resource);
}

async function shown(call: RepositoryCall, comment: ReviewComment) {
  return reviewCommentJson(call.state, comment, await currentPlace(comment));
}

function reply(call: RepositoryCall, pull: Pull, to: number, body: string): ReviewComment {
  const first = pull.reviewComments.find((one) => one.id === to && !one.inReplyTo);
  if (!first) throw new GitHubRefusal(404, "Not Found");
  checkBody(body);
  const { path, commitId, anchor } = first;
  const review = reviewOfOne(call, pull, commitId);
  const made = {
    ...writtenNow(call, body),
    pull,
    review,
    path,
    commitId,
    anchor,
    inReplyTo: first,
    resolvedBy: null,
  };
  pull.reviewComments.push(made);
  return made;
}

async function create(call: RepositoryCall): Promise<Answer> {
  const pull = pullOf(call);
  const asked = call.body as NewReviewComment;
  if (asked.in_reply_to !== undefined) {
    return created(await shown(call, reply(call, pull, asked.in_reply_to, asked.body)));
  }
  checkBody(asked.body);
  const commitId = await commitOf(pull, asked.commit_id);
  if (!commitId) throw refusal("commit_id", "is not part of the pull request");
  const anchor = await anchorOf(pull, asked, commitId);
  const review = reviewOfOne(call, pull, commitId);
  const made = { ...writtenNow(call, asked.body), pull, review, path: asked.path, commitId, anchor };
  const comment: ReviewComment = { ...made, inReplyTo: null, resolvedBy: null };
  pull.reviewComments.push(comment);
  return created(await shown(call, comment));
}

function list(call: RepositoryCall): Answer {
  const { since, sort, direction } = call.query;
  const comments = pullOf(call).reviewComments.filter(
    (one) => one.review.state !== "PENDING" && one.updatedAt >= new Date(since ?? 0),
  );
  if (sort && direction === "desc") comments.reverse();
  return listed(comments, (one) => shown(call, one));
}

/** GitHub lets Apps with write access change comments of others; ours must never do so, and the double refuses it. */
function ownComment(call: RepositoryCall): ReviewComment {
  const comment = reviewCommentOf(call);
  if (comment.author === call.token.installation.app.bot) return comment;
  throw new GitHubRefusal(403, "Resource not accessible by integration");
}

/** A review without text disappears with its last comment; replies to the comment stay. */
function remove(call: RepositoryCall): Answer {
  const comment = ownComment(call);
  const { pull, review } = comment;
  pull.reviewComments.splice(pull.reviewComments.indexOf(comment), 1);
  const isEmpty = review.body === "" && pull.reviewComments.every((one) => one.review !== review);
  if (isEmpty) pull.reviews.splice(pull.reviews.indexOf(review), 1);
  return { status: 204 };
}

export const reviewComments: Endpoints = {
  "pulls/list-review-comments": inRepository([["pull_requests", "read"]], list),
  "pulls/get-review-comment": inRepository([["pull_requests", "read"]], async (call) => {
    const comment = reviewCommentOf(call);
    if (comment.review.state === "PENDING") throw notFound();
    return ok(await shown(call, comment));
  }),
  "pulls/create-review-comment": inRepository([["pull_requests", "write"]], create),
  "pulls/delete-review-comment": inRepository([["pull_requests", "write"]], remove),
  "pulls/create-reply-for-review-comment": inRepository([["pull_requests", "write"]], async (call) => {
    const pull = pullOf(call);
    const comment = reviewCommentOf(call);
    if (comment.pull !== pull) throw notFound();
    return created(await shown(call, reply(call, pull, comment.id, (call.body as { body: string }).body)));
  }),
};
