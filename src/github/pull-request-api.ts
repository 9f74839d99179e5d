import type { Side } from "../finding.ts";

/** A pull request as the bot needs it. */
export interface PullRequest {
  number: number;
  title: string;
  body: string;
  author: string;
  state: "open" | "closed";
  draft: boolean;
  labels: string[];
  headSha: string;
  baseSha: string;
  baseRef: string;
}

/** An inline comment of a review. `startLine` is smaller than `line`. */
export interface InlineComment {
  path: string;
  side: Side;
  line: number;
  startLine: number | null;
  body: string;
}

export interface CheckRunUpdate {
  status: "in_progress" | "completed";
  conclusion?: "success" | "neutral" | "failure" | "skipped" | "cancelled";
  title: string;
  summary: string;
}

/** Something of ours that already stands on GitHub. */
export interface OwnText {
  id: number;
  body: string;
}

export type Permission = "admin" | "write" | "read" | "none";

/**
 * GitHub as one review sees it: one repository, one pull request, domain types. Rejects with an AppError of a `github_*`
 * code. Creations are never retried blindly: after an ambiguous failure the caller reads back by marker.
 */
export interface PullRequestApi {
  pull(): Promise<PullRequest>;
  /** "none" when GitHub says so or cannot be asked: fails closed. */
  permissionOf(login: string): Promise<Permission>;
  /** The file's text at a ref of the base repository; undefined when there is none. */
  fileAt(path: string, ref: string): Promise<string | undefined>;
  react(commentId: number, reaction: "eyes" | "+1" | "confused"): Promise<void>;
  /** Our own reviews, all pages. */
  ownReviews(): Promise<OwnText[]>;
  /** Our own inline and file comments on the pull request, all pages. */
  ownReviewComments(): Promise<OwnText[]>;
  /** Our own comments in the conversation, all pages. */
  ownComments(): Promise<OwnText[]>;
  /** One review with event COMMENT. Rejects with `github_invalid` when GitHub refuses it (422), and posts nothing then. */
  createReview(headSha: string, body: string, comments: readonly InlineComment[]): Promise<void>;
  createFileComment(headSha: string, path: string, body: string): Promise<void>;
  createComment(body: string): Promise<void>;
  updateComment(id: number, body: string): Promise<void>;
  createCheckRun(headSha: string, externalId: string, update: CheckRunUpdate): Promise<number>;
  updateCheckRun(id: number, update: CheckRunUpdate): Promise<void>;
}
