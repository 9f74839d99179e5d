import type { RepositoryCall } from "./endpoint.ts";
import { notFound } from "./errors.ts";
import type { IssueComment, Pull, ReviewComment } from "./model.ts";

/** The things a path names, or 404. */

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

/** Who an App writes as, with the fields every written thing begins with. Its pull request is updated by it. */
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
