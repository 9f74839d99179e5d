import type {
  IssueComment,
  Pull,
  Reaction,
  ReactionContent,
  Review,
  ReviewComment,
  Written,
} from "../model.ts";
import { headOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { accountJson, appJson, associationOf } from "./account.ts";
import { filled } from "./filled.ts";
import { issueUrl, pullPage, pullUrl } from "./pull.ts";
import { repositoryUrl } from "./repository.ts";

const contents: ReactionContent[] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket"];

function rollup(reactions: Reaction[], url: string) {
  const count = (content: ReactionContent) => reactions.filter((one) => one.content === content).length;
  return {
    url: `${url}/reactions`,
    total_count: reactions.length,
    ...Object.fromEntries(contents.map((content) => [content, count(content)])),
  };
}

export function reactionJson(state: GitHubState, reaction: Reaction) {
  return {
    id: reaction.id,
    node_id: nodeId("REA", reaction.id),
    user: accountJson(state, reaction.user),
    content: reaction.content,
    created_at: timestamp(reaction.createdAt),
  };
}

const writtenJson = (state: GitHubState, written: Written & { pull: Pull }) => ({
  user: accountJson(state, written.author),
  body: written.body,
  author_association: associationOf(written.pull.repository, written.author),
});

export function issueCommentJson(state: GitHubState, comment: IssueComment) {
  const url = `${repositoryUrl(state, comment.pull.repository)}/issues/comments/${comment.id}`;
  return filled("issue-comment", {
    url,
    html_url: `${pullPage(state, comment.pull)}#issuecomment-${comment.id}`,
    issue_url: issueUrl(state, comment.pull),
    id: comment.id,
    node_id: nodeId("IC", comment.id),
    ...writtenJson(state, comment),
    created_at: timestamp(comment.createdAt),
    updated_at: timestamp(comment.updatedAt),
    reactions: rollup(comment.reactions, url),
    performed_via_github_app: comment.via && !comment.via.isPerson ? appJson(state, comment.via) : null,
  });
}

export function reviewJson(state: GitHubState, review: Review) {
  return filled("pull-request-review", {
    id: review.id,
    node_id: nodeId("PRR", review.id),
    ...writtenJson(state, review),
    state: review.state,
    html_url: `${pullPage(state, review.pull)}#pullrequestreview-${review.id}`,
    ...(review.state === "PENDING" ? {} : { submitted_at: timestamp(review.createdAt) }),
    commit_id: review.commitId,
  });
}

/** The place of a line comment in the current diff; null if the lines are gone (GitHub says "outdated"). */
export interface CurrentPlace {
  line: number;
  startLine: number | null;
  position: number;
}

export const reviewCommentPage = (state: GitHubState, { pull, id }: ReviewComment) =>
  `${pullPage(state, pull)}#discussion_r${id}`;

export function reviewCommentJson(state: GitHubState, comment: ReviewComment, current: CurrentPlace | null) {
  const url = `${repositoryUrl(state, comment.pull.repository)}/pulls/comments/${comment.id}`;
  const { anchor } = comment;
  return filled("pull-request-review-comment", {
    url,
    pull_request_review_id: comment.review.id,
    id: comment.id,
    node_id: nodeId("PRRC", comment.id),
    diff_hunk: anchor?.diffHunk ?? "",
    path: comment.path,
    commit_id: current || !anchor ? headOf(comment.pull) : comment.commitId,
    original_commit_id: comment.commitId,
    ...(comment.inReplyTo ? { in_reply_to_id: comment.inReplyTo.id } : {}),
    ...writtenJson(state, comment),
    created_at: timestamp(comment.createdAt),
    updated_at: timestamp(comment.updatedAt),
    html_url: reviewCommentPage(state, comment),
    pull_request_url: pullUrl(state, comment.pull),
    reactions: rollup(comment.reactions, url),
    subject_type: anchor ? "line" : "file",
    ...(anchor ? lineFields(anchor, current) : fileFields),
  });
}

function lineFields(anchor: NonNullable<ReviewComment["anchor"]>, current: CurrentPlace | null) {
  return {
    side: anchor.side,
    start_side: anchor.startSide,
    line: current?.line ?? null,
    start_line: current?.startLine ?? null,
    original_line: anchor.line,
    original_start_line: anchor.startLine,
    position: current?.position ?? null,
    original_position: anchor.position,
  };
}

/** GitHub gives a file comment the fields of an arbitrary first line. */
const fileFields = {
  side: "RIGHT",
  start_side: null,
  line: null,
  start_line: null,
  original_line: 1,
  original_start_line: null,
  position: 1,
  original_position: 1,
};
