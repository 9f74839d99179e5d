import type { Side } from "../../core/finding.ts";
import type { OwnText } from "../../core/ledger/entry.ts";
import type { PublicText } from "../../core/text/inert-text.ts";

/** A pull request as the bot needs it. */
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
  /** Its repository is not the one of the base branch. */
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

/** A note of a check run on lines of its commit, which GitHub also shows among the changed files. All texts are plain text. */
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

/** An existing annotation of ours on a commit. */
export interface OwnAnnotation {
  /** External id of its check run. */
  externalId: string;
  details: string;
}

/** A check run of ours on GitHub. */
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

/** A comment of ours on a line or a file of the pull request. */
export interface OwnComment extends OwnText {
  path: string;
  side: Side;
  /** Current line on GitHub; null on a file, and when it is outdated. */
  line: number | null;
  /** The code of its line has changed since. */
  outdated: boolean;
  /** Its page. */
  url: string;
  /** The review that it belongs to; null if GitHub does not name it. */
  review: number | null;
  /** ISO 8601. */
  createdAt: string;
}

/** An issue of the repository, or a pull request, which is also an issue. */
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

/** A thread that starts with a comment of ours. */
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

/** The context of a pull request. All of it is text of others, uncut. */
export interface Surroundings {
  /** Undefined if there is none, or we may not see it. */
  issue(number: number): Promise<Issue | undefined>;
  /** Checks of other Apps and those without an App. Empty if we may not see them. */
  failedChecks(headSha: string): Promise<FailedCheck[]>;
  /** All of them. */
  ownThreads(): Promise<OwnThread[]>;
}

export type Permission = "admin" | "write" | "read" | "none";

/**
 * GitHub for a job that has a repository and no pull request. Rejects with an AppError of a `github_*` code. Creations are never retried
 * blindly: a rejection that is `github_failed` and `retryable` is ambiguous, and the caller looks for the marker (or external id) to find
 * out whether the thing exists.
 */
export interface RepositoryApi {
  /**
   * "none" also if GitHub does not know the person or does not tell us, and if the login is not the one of `account` (a numeric id).
   * Rejects when GitHub cannot be asked.
   */
  permissionOf(login: string, account?: number): Promise<Permission>;
  /** The file's text at a ref of the base repository; undefined if it does not exist. `too_large` beyond 1 MB. */
  fileAt(path: string, ref: string): Promise<string | undefined>;
  /**
   * Numbers of the open pull requests whose head is this commit, among the 1,000 with the most recent activity. Searches the list of all
   * pull requests, because GitHub's own list for a commit is empty for a commit of a fork.
   */
  commitPulls(sha: string): Promise<number[]>;
  /** Reacts to a comment in a conversation or a thread. */
  react(comment: CommentRef, reaction: "eyes" | "+1" | "confused"): Promise<void>;
  /**
   * Logins of everybody who changed a branch of this repository, from its creation to one of its heads, as on GitHub's activity page
   * (https://docs.github.com/rest/repos/repos#list-repository-activities). Null if GitHub's list is incomplete: the branch is older than
   * its last 100 changes, something was merged into it, or the head is not in the list.
   */
  pushers(branch: string, headSha: string): Promise<string[] | null>;
  /** The current state of any pull request of the repository; undefined if the number does not exist. */
  pullState(number: number): Promise<PullState | undefined>;
  /** All our own check runs of this commit, oldest first. Rejects with `too_large` beyond 1,000. */
  checkRuns(headSha: string): Promise<OwnCheckRun[]>;
  createCheckRun(headSha: string, externalId: string, update: CheckRunUpdate): Promise<number>;
  updateCheckRun(id: number, update: CheckRunUpdate): Promise<void>;
  /** The annotations of all our check runs of this commit. */
  ownAnnotations(headSha: string): Promise<OwnAnnotation[]>;
  /** Waits, because GitHub shows what it has stored with a delay. */
  pause(milliseconds: number): Promise<void>;
}

/** GitHub for one review: one repository, one pull request, domain types. */
export interface PullRequestApi extends RepositoryApi, Surroundings {
  pull(): Promise<PullRequest>;
  /** Our own reviews, all pages, including a pending one that remains from an interrupted `acceptsReview`. */
  ownReviews(): Promise<OwnReview[]>;
  /** Deletes pending reviews of ours. */
  discardPendingReviews(): Promise<void>;
  /** Our own inline and file comments on the pull request, all pages. */
  ownReviewComments(): Promise<OwnComment[]>;
  /** Our own comments in the conversation, all pages. */
  ownComments(): Promise<OwnText[]>;
  /** Whether a comment on a line or file is ours; undefined if it does not exist. */
  isOwnReviewComment(id: number): Promise<boolean | undefined>;
  /** Answers in the thread that this comment opens. */
  reply(comment: number, body: PublicText): Promise<void>;
  /**
   * Resolves a thread. GitHub requires `contents: write` for this (https://github.com/orgs/community/discussions/44650): uses a separate
   * token, and rejects with `github_forbidden` if the App does not have that permission.
   */
  resolveThread(id: string): Promise<void>;
  /** Creates one review with event COMMENT. If GitHub refuses it (422), rejects with `github_invalid` and posts nothing. */
  createReview(headSha: string, body: PublicText, comments: readonly InlineComment[]): Promise<void>;
  /**
   * Whether GitHub would accept these comments. Creates a pending review, which only we can see, and deletes it at once: the refusal of a
   * review does not say which of its comments was wrong.
   */
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
  /** The branch to start from and to merge into. */
  base: string;
  path: string;
  /** The file's whole new text. */
  text: string;
  /** Title of the commit and of the pull request. */
  title: PublicText;
  body: PublicText;
}

/**
 * Writes to a repository. Only for a command that asks for it, with the same token as `resolveThread`. Rejects with `github_forbidden` if
 * the App does not have `contents: write`.
 */
export interface RepositoryWriter {
  /** Opens a pull request and resolves to its page. Can be called again after a fault: nothing is opened twice. */
  propose(proposal: FileProposal): Promise<string>;
}

/** A file of another repository's default branch; undefined if it does not exist, or we may not see it. */
export type ReadFile = (path: string) => Promise<string | undefined>;
