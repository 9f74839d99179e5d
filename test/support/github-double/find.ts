import type { RepositoryCall } from "./endpoint.ts";
import { notFound } from "./errors.ts";
import type { IssueComment, Pull, ReviewComment } from "./model.ts";

/** Finds the objects that a path names, or throws 404. */

export function pullOf(call: RepositoryCall): Pull {
  const pull = call.repository.pulls.get(Number(call.path.pull_number ?? call.path.issue_number));
  if (!pull) throw notFound();
  return pull;
}

export function issueCommentOf(call: RepositoryCall): IssueComment {
  const comment = call.state.findIssueComment(call.repository, Number(call.path.comment_id));
  if (!comment) throw notFound();
  return comment;
}

export function reviewCommentOf(call: RepositoryCall): ReviewComment {
  const comment = call.state.findReviewComment(call.repository, Number(call.path.comment_id));
  if (!comment) throw notFound();
  return comment;
}

/** The App's author fields and the common fields of everything written. Updates the pull request. */
export function writtenNow(call: RepositoryCall, body: string) {
  const { app } = call.token.installation;
  const now = call.state.now();
  pullOf(call).updatedAt = now;
  return {
    id: call.state.nextId(),
    author: app.bot,
    via: app,
    body,
    createdAt: now,
    updatedAt: now,
    reactions: [],
  };
}
