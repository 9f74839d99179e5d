import { type AnchorProblem, type AskedLine, resolveAnchor } from "../anchor.ts";
import { findCommit, git } from "../bare-repository.ts";
import type { DiffedFile } from "../commentable.ts";
import { pullDiff } from "../current-line.ts";
import { type Answer, type Endpoints, inRepository, listed, ok, type RepositoryCall } from "../endpoint.ts";
import {
  checkBodyLength,
  GitHubRefusal,
  lockedReview,
  NotSimulated,
  notFound,
  unprocessable,
} from "../errors.ts";
import { pullOf, writtenNow } from "../find.ts";
import { reviewJson } from "../json/comment.ts";
import { mergeBaseOf } from "../json/pull.ts";
import type { Pull, Review, ReviewState } from "../model.ts";
import { headOf } from "../model.ts";

interface NewReview {
  commit_id?: string;
  body?: string;
  event?: "APPROVE" | "REQUEST_CHANGES" | "COMMENT";
  comments?: (AskedLine & { body: string; position?: number })[];
}

const states: Record<string, ReviewState> = {
  APPROVE: "APPROVED",
  REQUEST_CHANGES: "CHANGES_REQUESTED",
  COMMENT: "COMMENTED",
};

const sentences: Record<AnchorProblem, string> = {
  path: "Path could not be resolved",
  too_large: "Pull request review thread path diff too large",
  line: "Line could not be resolved",
  start_line: "Start line could not be resolved",
  order: "Pull request review thread start line must precede the end line.",
};

/** The commit of a comment: the current head or an earlier one. */
export async function commitOf(pull: Pull, asked: string | undefined): Promise<string | undefined> {
  if (!asked || asked === headOf(pull)) return headOf(pull);
  const { gitDir } = pull.repository;
  const commit = /^[0-9a-f]{40}$/.test(asked) ? await findCommit(gitDir, asked) : undefined;
  if (!commit) return undefined;
  const heads = await Promise.all(
    pull.heads.map(async (head) => git(gitDir, "rev-list", `${await mergeBaseOf(pull, head)}..${head}`)),
  );
  return heads.some((list) => list.split("\n").includes(commit)) ? commit : undefined;
}

function checkEvent(call: RepositoryCall, pull: Pull, review: NewReview): void {
  if (pull.locked) throw lockedReview();
  const { bot } = call.token.installation.app;
  if (pull.reviews.some((one) => one.author === bot && one.state === "PENDING")) {
    throw unprocessable("User can only have one pending review per pull request");
  }
  if (pull.author === bot && review.event === "APPROVE") {
    throw unprocessable("Can not approve your own pull request");
  }
  if (pull.author === bot && review.event === "REQUEST_CHANGES") {
    throw unprocessable("Can not request changes on your own pull request");
  }
  const needsBody =
    review.event === "REQUEST_CHANGES" || (review.event === "COMMENT" && !review.comments?.length);
  if (needsBody && !review.body?.trim()) throw unprocessable("Review body can't be blank");
}

/** All or nothing: the first comment without a valid place refuses the review, and GitHub does not name it. */
function anchorsOf(files: DiffedFile[], comments: NonNullable<NewReview["comments"]>) {
  const resolved = comments.map((comment) => {
    if (comment.position !== undefined) throw new NotSimulated("a review comment by `position`");
    return resolveAnchor(files, comment);
  });
  const problems = new Set(resolved.flatMap((one) => ("problem" in one ? [sentences[one.problem]] : [])));
  if (problems.size > 0) throw unprocessable([...problems].join(", "));
  return resolved.flatMap((one) => ("anchor" in one ? [one.anchor] : []));
}

async function create(call: RepositoryCall): Promise<Answer> {
  const pull = pullOf(call);
  const asked = (call.body ?? {}) as NewReview;
  const comments = asked.comments ?? [];
  const commitId = await commitOf(pull, asked.commit_id);
  if (!commitId) throw unprocessable("The commitOID is not part of the pull request");
  checkEvent(call, pull, asked);
  for (const text of [asked.body ?? "", ...comments.map((one) => one.body)]) checkBodyLength(text, "review");
  if (comments.some((one) => !one.body.trim())) throw unprocessable("Body can't be blank");
  const anchors = comments.length > 0 ? anchorsOf(await pullDiff(pull, commitId), comments) : [];
  const review: Review = {
    ...writtenNow(call, asked.body ?? ""),
    pull,
    state: states[asked.event ?? ""] ?? "PENDING",
    commitId,
  };
  pull.reviews.push(review);
  for (const [index, comment] of comments.entries()) {
    const anchor = anchors[index] ?? null;
    const made = { ...writtenNow(call, comment.body), pull, review, path: comment.path, commitId, anchor };
    pull.reviewComments.push({ ...made, inReplyTo: null, resolvedBy: null });
  }
  return ok(reviewJson(call.state, review));
}

/** Only its author sees a pending review. */
const visible = (call: RepositoryCall, review: Review) =>
  review.state !== "PENDING" || review.author === call.token.installation.app.bot;

function reviewOf(call: RepositoryCall, pull: Pull): Review {
  const review = pull.reviews.find((one) => one.id === Number(call.path.review_id) && visible(call, one));
  if (!review) throw notFound();
  return review;
}

/** Deletes a pending review with its comments; a submitted review cannot be deleted. */
function deletePending(call: RepositoryCall): Answer {
  const pull = pullOf(call);
  const review = reviewOf(call, pull);
  if (review.state !== "PENDING") throw unprocessable("Can not delete a non-pending pull request review");
  pull.reviews.splice(pull.reviews.indexOf(review), 1);
  pull.reviewComments = pull.reviewComments.filter((one) => one.review !== review);
  return ok(reviewJson(call.state, review));
}

/** Only the text of a submitted review can change, and only its author can change it. */
function update(call: RepositoryCall): Answer {
  const review = reviewOf(call, pullOf(call));
  if (review.author !== call.token.installation.app.bot)
    throw new GitHubRefusal(403, "Resource not accessible by integration");
  const { body } = call.body as { body: string };
  if (!body.trim()) throw unprocessable("Review body can't be blank");
  checkBodyLength(body, "review");
  review.body = body;
  return ok(reviewJson(call.state, review));
}

export const reviews: Endpoints = {
  "pulls/list-reviews": inRepository([["pull_requests", "read"]], (call) => {
    const seen = pullOf(call).reviews.filter((review) => visible(call, review));
    return listed(seen, (review) => reviewJson(call.state, review));
  }),
  "pulls/create-review": inRepository([["pull_requests", "write"]], create),
  "pulls/update-review": inRepository([["pull_requests", "write"]], update),
  "pulls/delete-pending-review": inRepository([["pull_requests", "write"]], deletePending),
};
