import type { Side } from "../finding.ts";
import type { PublicText } from "../text/inert-text.ts";

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
  /** The branch that it comes from; null where its repository is gone, or GitHub does not say. */
  source: SourceBranch | null;
}

export interface SourceBranch {
  owner: string;
  repo: string;
  branch: string;
  /** It is another repository than the one that it is to be merged into. */
  isFork: boolean;
  /** It is what others start from and what is released: the default branch of the repository that it is to be merged into. */
  isDefault: boolean;
  /** Of a fork: its owner lets maintainers push to the branch. */
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
  status: "in_progress" | "completed";
  conclusion?: "success" | "neutral" | "failure" | "skipped" | "cancelled";
  title: PublicText;
  /** Markdown, under 65,536 bytes. */
  summary: PublicText;
  /** More Markdown below the summary, as long as that. */
  text?: PublicText;
  /** At most 50. GitHub adds them to those that stand, and never takes one away. */
  annotations?: readonly CheckAnnotation[];
}

/** A note of a check run on lines of its commit, which GitHub also shows among the changed files. All of it is plain text. */
export interface CheckAnnotation {
  path: string;
  startLine: number;
  endLine: number;
  level: "notice" | "warning" | "failure";
  /** At most 255 characters. */
  title: PublicText;
  /** At most 64 KB, and not empty. */
  message: PublicText;
  /** At most 64 KB; GitHub shows them folded away. */
  details: PublicText;
}

/** An annotation of ours that stands on a commit. */
export interface OwnAnnotation {
  /** External id of its check run. */
  externalId: string;
  details: string;
}

/** A check run of ours as GitHub has it. */
export interface OwnCheckRun {
  id: number;
  /** Which review it is of; empty where it does not say. */
  externalId: string;
  completed: boolean;
  /** Null while it runs. */
  conclusion: string | null;
  title: string | null;
  summary: string | null;
  text: string | null;
}

/** What decides whether a pull request counts for a commit. */
export type PullState = Pick<PullRequest, "number" | "state" | "headSha" | "baseRef">;

/** Something of ours that already stands on GitHub. */
export interface OwnText {
  id: number;
  body: string;
  /** Somebody reacted to it or answered it. Left out where that is not known. */
  touched?: boolean;
}

export interface OwnReview extends OwnText {
  /** Seen by nobody else; GitHub takes neither a review nor a comment of ours while there is one. */
  pending: boolean;
}

/** A comment of ours on a line or a file of the pull request. */
export interface OwnComment extends OwnText {
  path: string;
  side: Side;
  /** Where GitHub sees the line now; null on a file, and when it is outdated. */
  line: number | null;
  /** Its line's code has changed since. */
  outdated: boolean;
  /** Its page. */
  url: string;
  /** The review that it came with; null where GitHub does not say. */
  review: number | null;
}

/** An issue of the repository, or a pull request, which is one too. */
export interface Issue {
  number: number;
  title: string;
  body: string;
}

/** A check run or commit status that has ended without success. */
export interface FailedCheck {
  name: string;
  conclusion: string;
  /** Of a status, what it says; of a check run, the title of its output. */
  title: string;
  summary: string;
  annotations: { path: string; startLine: number; endLine: number; level: string; message: string }[];
}

/** Who did something on GitHub: we ourselves, another bot, or a person. */
export interface Actor {
  /** Null when the account is gone. */
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

/** A thread that a comment of ours began. */
export interface OwnThread {
  /** Node id. */
  id: string;
  /** Id of the comment that opens it. */
  comment: number;
  body: string;
  path: string;
  side: Side;
  /** Where GitHub sees the lines now; null on a file, and when they are outdated. `startLine` is null for a single line. */
  line: number | null;
  startLine: number | null;
  /** Where the line was when the comment was made; null on a file. */
  originalLine: number | null;
  /** Page of its first comment. */
  url: string;
  resolved: boolean;
  /** Null where it is not resolved, or GitHub does not say. */
  resolvedBy: Actor | null;
  outdated: boolean;
  /** All answers, oldest first. */
  replies: ThreadComment[];
  /** All thumbs down of people on the first comment, oldest first; `at` is ISO 8601. */
  downvotes: { by: string; at: string }[];
}

/** A comment on a pull request: in the conversation, or with the id of the comment that opens its review thread. */
export interface CommentRef {
  id: number;
  thread: number | null;
}

/** What stands around a pull request. All of it is text of others, uncut. */
export interface Surroundings {
  /** Undefined where there is none, or none that we may see. */
  issue(number: number): Promise<Issue | undefined>;
  /** Of other Apps and of nobody's. Empty where we may not see them. */
  failedChecks(headSha: string): Promise<FailedCheck[]>;
  /** All of them. */
  ownThreads(): Promise<OwnThread[]>;
}

export type Permission = "admin" | "write" | "read" | "none";

/**
 * GitHub as a job sees it that knows a repository and no pull request. Rejects with an AppError of a `github_*` code.
 * Creations are never retried blindly: a rejection that is `github_failed` and `retryable` is ambiguous, and the caller
 * reads back by marker (or external id) whether the thing stands.
 */
export interface RepositoryApi {
  /** "none" also where GitHub does not know the person or does not tell us. Rejects when GitHub cannot be asked. */
  permissionOf(login: string): Promise<Permission>;
  /** The file's text at a ref of the base repository; undefined when there is none. `too_large` beyond 1 MB. */
  fileAt(path: string, ref: string): Promise<string | undefined>;
  /**
   * Numbers of the open pull requests whose head is this commit, among the 1,000 in which something happened last. Looked for
   * in the list of all: GitHub's own list of a commit's pull requests is empty for a commit of a fork.
   */
  commitPulls(sha: string): Promise<number[]>;
  /** Reacts to a comment, wherever it stands. */
  react(comment: CommentRef, reaction: "eyes" | "+1" | "confused"): Promise<void>;
  /**
   * Logins of everybody who changed a branch of this repository, from its creation to a head of it: what GitHub's activity
   * page shows (https://docs.github.com/rest/repos/repos#list-repository-activities). Null if GitHub does not tell all of
   * them: the branch is older than its last 100 changes, something was merged into it, or it tells nothing of the head.
   */
  pushers(branch: string, headSha: string): Promise<string[] | null>;
  /** How any pull request of the repository is now; undefined where GitHub has none of this number. */
  pullState(number: number): Promise<PullState | undefined>;
  /** All our own check runs of this commit, oldest first. Rejects with `too_large` beyond 1,000. */
  checkRuns(headSha: string): Promise<OwnCheckRun[]>;
  createCheckRun(headSha: string, externalId: string, update: CheckRunUpdate): Promise<number>;
  updateCheckRun(id: number, update: CheckRunUpdate): Promise<void>;
  /** The annotations of all our check runs of this commit. */
  ownAnnotations(headSha: string): Promise<OwnAnnotation[]>;
}

/** GitHub as one review sees it: one repository, one pull request, domain types. */
export interface PullRequestApi extends RepositoryApi, Surroundings {
  pull(): Promise<PullRequest>;
  /** Our own reviews, all pages, also a pending one that an interrupted question left behind. */
  ownReviews(): Promise<OwnReview[]>;
  /** Takes away pending reviews of ours. */
  discardPendingReviews(): Promise<void>;
  /** Our own inline and file comments on the pull request, all pages. */
  ownReviewComments(): Promise<OwnComment[]>;
  /** Our own comments in the conversation, all pages. */
  ownComments(): Promise<OwnText[]>;
  /** Whether a comment on a line or file is ours; undefined where there is none. */
  isOwnReviewComment(id: number): Promise<boolean | undefined>;
  /** Answers in the thread that this comment opens. */
  reply(comment: number, body: PublicText): Promise<void>;
  /**
   * Resolves a thread, which takes `contents: write` however little it has to do with contents
   * (https://github.com/orgs/community/discussions/44650): asked with a token of its own, and rejected with
   * `github_forbidden` where that was not granted.
   */
  resolveThread(id: string): Promise<void>;
  /** One review with event COMMENT. Rejects with `github_invalid` when GitHub refuses it (422), and posts nothing then. */
  createReview(headSha: string, body: PublicText, comments: readonly InlineComment[]): Promise<void>;
  /**
   * Whether GitHub would take these comments. Asked with a pending review, which nobody else sees and which is deleted at
   * once: a refused review does not say which of its comments was wrong.
   */
  acceptsReview(headSha: string, comments: readonly InlineComment[]): Promise<boolean>;
  createFileComment(headSha: string, path: string, body: PublicText): Promise<void>;
  createComment(body: PublicText): Promise<void>;
  updateComment(id: number, body: PublicText): Promise<void>;
  /** Takes a comment of ours out of the conversation. Done also where it is gone already. */
  deleteComment(id: number): Promise<void>;
  /** The same for one on a line or file, or an answer in a thread. Answers to it stay. */
  deleteReviewComment(id: number): Promise<void>;
  /** Changes the text of a review, which stands for ever once it was submitted. */
  editReview(id: number, body: PublicText): Promise<void>;
}

/** A file to be changed on a branch of its own, and the pull request that proposes it. */
export interface FileProposal {
  /** Name of the new branch. Where it has a pull request already, open or closed, that one is the answer. */
  branch: string;
  /** The branch to start from and to be merged into. */
  base: string;
  path: string;
  /** The file's whole new text. */
  text: string;
  /** Of the commit, and of the pull request. */
  title: PublicText;
  body: PublicText;
}

/**
 * What may write to a repository; only for a command that asks for it, with the token that `resolveThread` takes too. Rejects
 * with `github_forbidden` where `contents: write` was not granted.
 */
export interface RepositoryWriter {
  /** Opens a pull request and resolves to its page. May be called again after a fault: nothing is opened twice. */
  propose(proposal: FileProposal): Promise<string>;
}

/** A file of another repository's default branch; undefined where there is none, or none that we may see. */
export type ReadFile = (path: string) => Promise<string | undefined>;
