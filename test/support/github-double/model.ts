import type { GitRepo } from "../git-repo.ts";

/** The state of the double. Plain data: endpoints read and change it, `json/` shows it in GitHub's format. */

export interface Account {
  id: number;
  login: string;
  type: "User" | "Organization" | "Bot";
}

/** Roles of people in a repository; GitHub's permission endpoint calls them "admin", "write" and "read". */
export type Role = "admin" | "maintain" | "write" | "triage" | "read";
export type Access = "read" | "write";
export type Permissions = Record<string, Access>;

export interface App {
  id: number;
  slug: string;
  name: string;
  owner: Account;
  /** The author of everything that is written with its tokens. */
  bot: Account;
  /** No App, but a person with a personal token: what it writes is not "performed via" anything. */
  isPerson?: boolean;
  publicKey: string;
  permissions: Permissions;
  events: string[];
  createdAt: Date;
  /** With which people log in through it; undefined if it has no client secret. */
  oauth?: { clientId: string; clientSecret: string; callbackUrls: string[] };
}

/** A token with which an App acts for a person. */
export interface UserToken {
  value: string;
  app: App;
  account: Account;
}

export interface Installation {
  id: number;
  app: App;
  account: Account;
  repositories: Repository[];
  permissions: Permissions;
  suspendedAt: Date | null;
  createdAt: Date;
}

/** An installation access token: its permissions, its repositories and its expiry (by the machine's own clock). */
export interface Token {
  value: string;
  installation: Installation;
  repositories: Repository[];
  permissions: Permissions;
  expiresAt: Date;
  /** Revoked by its holder before its expiry. */
  revoked: boolean;
}

export interface Repository {
  id: number;
  owner: Account;
  name: string;
  private: boolean;
  defaultBranch: string;
  /** The bare repository. */
  git: GitRepo;
  /** Absolute path of the bare repository. */
  gitDir: string;
  parent: Repository | null;
  collaborators: Map<string, Role>;
  pulls: Map<number, Pull>;
  /** Issues that are not pull requests; both share one numbering. */
  issues: Map<number, Issue>;
  checkRuns: CheckRun[];
  /** Oldest first; the latest status of a context counts. */
  statuses: CommitStatus[];
  /** Runs of workflows of Actions, oldest first. */
  workflowRuns: WorkflowRun[];
  /** Activities of the branches of pull requests, oldest first. */
  activities: Activity[];
  createdAt: Date;
  /** Read-only for everyone: archived by its owner, or disabled by GitHub. */
  archived: boolean;
  disabled: boolean;
}

export interface Issue {
  id: number;
  number: number;
  repository: Repository;
  title: string;
  body: string | null;
  author: Account;
  state: "open" | "closed";
  createdAt: Date;
}

export interface Pull {
  id: number;
  number: number;
  repository: Repository;
  title: string;
  body: string | null;
  author: Account;
  state: "open" | "closed";
  merged: boolean;
  draft: boolean;
  /** Only people with push access can comment. */
  locked: boolean;
  labels: string[];
  baseRef: string;
  /** The tip of the base branch at the last move of the head: GitHub's `base.sha` stays behind until the next push. */
  baseSha: string;
  headRef: string;
  /** The repository of the head branch: the base repository, a fork, or null if the fork was deleted. */
  headRepository: Repository | null;
  /** For a fork: everyone with push access to the base repository may push to the head branch. */
  maintainersMayPush?: boolean;
  /** All heads of the pull request; the last one is current. */
  heads: string[];
  reviews: Review[];
  reviewComments: ReviewComment[];
  comments: IssueComment[];
  createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
  /** True if the diff is too large for GitHub to list. */
  hasEndlessDiff?: boolean;
}

/** A written text. `via` is the App that wrote it, null for people. */
export interface Written {
  id: number;
  author: Account;
  via: App | null;
  body: string;
  createdAt: Date;
  updatedAt: Date;
  reactions: Reaction[];
}

export interface IssueComment extends Written {
  pull: Pull;
}

export type ReviewState = "PENDING" | "COMMENTED" | "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED";

export interface Review extends Written {
  pull: Pull;
  state: ReviewState;
  commitId: string;
}

export type Side = "LEFT" | "RIGHT";

/** The place of a line comment at its creation. */
export interface LineAnchor {
  side: Side;
  line: number;
  startSide: Side | null;
  startLine: number | null;
  /** Lines below the file's first hunk header: GitHub's `position`. */
  position: number;
  diffHunk: string;
}

export interface ReviewComment extends Written {
  pull: Pull;
  review: Review;
  path: string;
  commitId: string;
  /** Null for a comment on the file as a whole. */
  anchor: LineAnchor | null;
  /** The first comment of the thread; null for the first comment itself. */
  inReplyTo: ReviewComment | null;
  /** Set on the first comment: it stands for the thread. */
  resolvedBy: Account | null;
}

export type ReactionContent = "+1" | "-1" | "laugh" | "confused" | "heart" | "hooray" | "rocket" | "eyes";

export interface Reaction {
  id: number;
  user: Account;
  content: ReactionContent;
  createdAt: Date;
}

export interface CheckAnnotation {
  path: string;
  startLine: number;
  endLine: number;
  startColumn: number | null;
  endColumn: number | null;
  level: string;
  title: string | null;
  message: string;
  rawDetails: string | null;
}

export interface CheckRun {
  id: number;
  repository: Repository;
  app: App;
  name: string;
  headSha: string;
  externalId: string;
  detailsUrl: string | null;
  status: "queued" | "in_progress" | "completed";
  conclusion: string | null;
  startedAt: Date;
  completedAt: Date | null;
  output: { title: string | null; summary: string | null; text: string | null };
  annotations: CheckAnnotation[];
}

/** A change of a branch on the activity page of a repository. */
export interface Activity {
  id: number;
  ref: string;
  before: string;
  after: string;
  kind: "push" | "force_push" | "branch_creation";
  actor: Account;
  at: Date;
}

export interface WorkflowRun {
  id: number;
  /** Name of its file. */
  workflow: string;
  headSha: string;
  event: string;
  status: "queued" | "in_progress" | "completed";
  conclusion: string | null;
  artifacts: WorkflowArtifact[];
  createdAt: Date;
}

export interface WorkflowArtifact {
  id: number;
  name: string;
  size: number;
  expired: boolean;
  /** The signed address to which its download is redirected. */
  storedAt: string;
}

export interface CommitStatus {
  id: number;
  sha: string;
  context: string;
  state: "error" | "failure" | "pending" | "success";
  description: string | null;
  createdAt: Date;
}

export interface Delivery {
  id: number;
  guid: string;
  event: string;
  action: string | null;
  deliveredAt: Date;
  redelivery: boolean;
  durationSeconds: number;
  statusCode: number;
  installationId: number | null;
  repositoryId: number | null;
  /** The request. */
  headers: Record<string, string>;
  payload: object | null;
  /** The response. */
  answer: string;
}

export const clientIdOf = ({ id }: App) => `Iv23li${String(id).padStart(14, "0")}`;
export const fullName = (repository: Repository) => `${repository.owner.login}/${repository.name}`;
/** Issues and pull requests share one numbering. */
export const nextNumber = ({ pulls, issues }: Repository) => pulls.size + issues.size + 1;
export const headOf = (pull: Pull) => pull.heads.at(-1) ?? "";
/** GitHub's timestamps have no milliseconds. */
export const timestamp = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;
/** A replacement for GitHub's opaque node ids: a prefix for the kind, then the number. */
export const nodeId = (prefix: string, id: number) =>
  `${prefix}_${Buffer.from(String(id)).toString("base64url")}`;
