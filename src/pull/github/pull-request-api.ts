import type { Side } from "../../core/finding.ts";
import type { OwnText } from "../../core/ledger/entry.ts";
import type { PublicText } from "../../core/text/inert-text.ts";

export interface PullRequest {
  number: number;
  title: string;
  body: string;
  author: string;
  state: "open" | "closed";
  /** Null while it is open, and if GitHub does not say when it was closed. `at` is in milliseconds since 1970. */
  closed: { at: number; isMerged: boolean } | null;
  draft: boolean;
  labels: string[];
  headSha: string;
  baseSha: string;
  baseRef: string;
  /** The head branch; null if its repository is gone, or GitHub does not name it. */
  source: SourceBranch | null;
}

export interface SourceBranch {
  owner: string;
  repo: string;
  branch: string;
  isFork: boolean;
  /** It is the default branch of the base repository, from which others branch off and release. */
  isDefault: boolean;
  /** For a fork: its owner lets maintainers push to the branch. */
  maintainersMayPush: boolean;
}

/** An inline comment of a review. `startLine` is smaller than `line`. */
export interface InlineComment {
  path: string;
  side: Side;
  line: number;
  startLine: number | null;
  body: PublicText;
}

export interface CheckRunUpdate {
  status: "queued" | "in_progress" | "completed";
  conclusion?: "success" | "neutral" | "failure" | "skipped" | "cancelled";
  title: PublicText;
  /** Markdown, under 65,536 bytes. */
  summary: PublicText;
  /** More Markdown below the summary, with the same limit. */
  text?: PublicText;
  /** At most 50. GitHub adds them to the existing ones, and never removes one. */
  annotations?: readonly CheckAnnotation[];
}

/** A note of a check run on lines of its commit. All texts are plain text. */
export interface CheckAnnotation {
  path: string;
  startLine: number;
  endLine: number;
  level: "notice" | "warning" | "failure";
  /** At most 255 characters. */
  title: PublicText;
  /** At most 64 KB, and not empty. */
  message: PublicText;
  /** At most 64 KB; GitHub shows them collapsed. */
  details: PublicText;
}

export interface OwnAnnotation {
  externalId: string;
  details: string;
}

export interface OwnCheckRun {
  id: number;
  /** Identifies its review; empty if there is none. */
  externalId: string;
  completed: boolean;
  /** Null while it runs. */
  conclusion: string | null;
  title: string | null;
  summary: string | null;
  text: string | null;
}

/** The fields that decide whether a pull request counts for a commit. */
export type PullState = Pick<PullRequest, "number" | "state" | "headSha" | "baseRef">;

export interface OwnReview extends OwnText {
  /** Only visible to us. While it exists, GitHub accepts neither a review nor a comment of ours. */
  pending: boolean;
}

export interface OwnComment extends OwnText {
  path: string;
  side: Side;
  /** Current line on GitHub; null on a file, and when it is outdated. */
  line: number | null;
  /** The code of its line has changed since. */
  outdated: boolean;
  url: string;
  /** The review that it belongs to; null if GitHub does not name it. */
  review: number | null;
  /** ISO 8601. */
  createdAt: string;
}

export interface Issue {
  number: number;
  title: string;
  body: string;
}

/** A check run or commit status that has ended without success. */
export interface FailedCheck {
  name: string;
  conclusion: string;
  /** For a status, its description; for a check run, the title of its output. */
  title: string;
  summary: string;
  annotations: { path: string; startLine: number; endLine: number; level: string; message: string }[];
}

/** The author of an action on GitHub: we ourselves, another bot, or a person. */
export interface Actor {
  /** Null if the account is gone. */
  login: string | null;
  kind: "us" | "bot" | "person";
}

export interface ThreadComment {
  id: number;
  author: Actor;
  body: string;
  /** ISO 8601. */
  createdAt: string;
}

export interface OwnThread {
  /** Node id. */
  id: string;
  /** Id of the comment that opens it. */
  comment: number;
  body: string;
  path: string;
  side: Side;
  /** Current lines on GitHub; null on a file, and when they are outdated. `startLine` is null for a single line. */
  line: number | null;
  startLine: number | null;
  /** The line at the time of the comment; null on a file. */
  originalLine: number | null;
  /** Page of its first comment, and when it was published (ISO 8601). */
  url: string;
  createdAt: string;
  resolved: boolean;
  /** Null if it is not resolved, or GitHub does not name anyone. */
  resolvedBy: Actor | null;
  outdated: boolean;
  /** All answers, oldest first. */
  replies: ThreadComment[];
  /** All thumbs down from people on the first comment, oldest first; `at` is ISO 8601. */
  downvotes: { by: string; at: string }[];
  /** Number of thumbs up on the first comment. */
  upvotes: number;
}

/** A comment on a pull request: in the conversation, or in a review thread with the id of the comment that opens it. */
export interface CommentRef {
  id: number;
  thread: number | null;
}

export interface Surroundings {
  /** Undefined if there is none, or we may not see it. */
  issue(number: number): Promise<Issue | undefined>;
  /** Checks of other Apps and those without an App. Empty if we may not see them. */
  failedChecks(headSha: string): Promise<FailedCheck[]>;
  ownThreads(): Promise<OwnThread[]>;
}

export type Permission = "admin" | "write" | "read" | "none";

/**
 * GitHub for a job without a pull request. Rejects with an AppError of a `github_*` code. Creations are never retried: a `retryable`
 * rejection is ambiguous, and the caller looks whether the thing exists.
 */
export interface RepositoryApi {
  /** "none" also if GitHub does not know the person or does not tell us, or the login is not that of `account` (a numeric id). */
  permissionOf(login: string, account?: number): Promise<Permission>;
  /** The file's text at a ref of the base repository; undefined if it does not exist. `too_large` beyond 1 MB. */
  fileAt(path: string, ref: string): Promise<string | undefined>;
  /**
   * Numbers of the open pull requests with this head, among the 1,000 with the most recent activity. GitHub's own list for a commit lacks
   * forks.
   */
  commitPulls(sha: string): Promise<number[]>;
  react(comment: CommentRef, reaction: "eyes" | "+1" | "confused"): Promise<void>;
  /**
   * Logins of everybody who changed a branch up to one of its heads (https://docs.github.com/rest/repos/repos#list-repository-activities).
   * Null if GitHub's list is incomplete: the branch is older than its last 100 changes, or something was merged into it.
   */
  pushers(branch: string, headSha: string): Promise<string[] | null>;
  /** The current state of any pull request of the repository; undefined if the number does not exist. */
  pullState(number: number): Promise<PullState | undefined>;
  /** All our own check runs of this commit, oldest first. Rejects with `too_large` beyond 1,000. */
  checkRuns(headSha: string): Promise<OwnCheckRun[]>;
  createCheckRun(headSha: string, externalId: string, update: CheckRunUpdate): Promise<number>;
  updateCheckRun(id: number, update: CheckRunUpdate): Promise<void>;
  ownAnnotations(headSha: string): Promise<OwnAnnotation[]>;
  /** Waits, because GitHub shows what it has stored with a delay. */
  pause(milliseconds: number): Promise<void>;
}

export interface PullRequestApi extends RepositoryApi, Surroundings {
  pull(): Promise<PullRequest>;
  /** Includes a pending one that remains from an interrupted `acceptsReview`. */
  ownReviews(): Promise<OwnReview[]>;
  discardPendingReviews(): Promise<void>;
  ownReviewComments(): Promise<OwnComment[]>;
  ownComments(): Promise<OwnText[]>;
  /** Whether a comment on a line or file is ours; undefined if it does not exist. */
  isOwnReviewComment(id: number): Promise<boolean | undefined>;
  /** Answers in the thread that this comment opens. */
  reply(comment: number, body: PublicText): Promise<void>;
  /**
   * Uses a separate token with `contents: write` (https://github.com/orgs/community/discussions/44650). Rejects with `github_forbidden`
   * without it.
   */
  resolveThread(id: string): Promise<void>;
  /** Creates one review with event COMMENT. If GitHub refuses it (422), rejects with `github_invalid` and posts nothing. */
  createReview(headSha: string, body: PublicText, comments: readonly InlineComment[]): Promise<void>;
  /** Whether GitHub would accept these comments. Creates a pending review, which only we can see, and deletes it at once. */
  acceptsReview(headSha: string, comments: readonly InlineComment[]): Promise<boolean>;
  createFileComment(headSha: string, path: string, body: PublicText): Promise<void>;
  createComment(body: PublicText): Promise<void>;
  updateComment(id: number, body: PublicText): Promise<void>;
  /** Deletes a comment of ours from the conversation. Succeeds also if it is already gone. */
  deleteComment(id: number): Promise<void>;
  /** Deletes a comment on a line or file, or an answer in a thread. Answers to it stay. */
  deleteReviewComment(id: number): Promise<void>;
  /** Changes the text of a review, which cannot be deleted after it was submitted. */
  editReview(id: number, body: PublicText): Promise<void>;
}

/** A file to change on a new branch, and the pull request that proposes the change. */
export interface FileProposal {
  /** Name of the new branch. If it already has a pull request, open or closed, the result is that one. */
  branch: string;
  base: string;
  path: string;
  text: string;
  title: PublicText;
  body: PublicText;
}

/** Writes to a repository, for a command that asks for it. Rejects with `github_forbidden` without `contents: write`. */
export interface RepositoryWriter {
  /** Opens a pull request and resolves to its page. Can be called again after a fault: nothing is opened twice. */
  propose(proposal: FileProposal): Promise<string>;
}

/** A file of another repository's default branch; undefined if it does not exist, or we may not see it. */
export type ReadFile = (path: string) => Promise<string | undefined>;
