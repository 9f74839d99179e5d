import type { Checkout } from "../git/checkout.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import type { PushEnd, PushRequest } from "../git/remote.ts";
import type { BeforeWrite } from "../github/client.ts";
import type {
  PullRequestApi,
  ReadFile,
  RepositoryApi,
  RepositoryWriter,
} from "../github/pull-request-api.ts";
import type { LogseqVault } from "../journal/logseq-vault.ts";
import type { Models } from "../llm/model.ts";
import type { FindFixSandbox } from "../process/fix-sandbox.ts";
import type { IndexTask } from "../process/index-messages.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import type { NewJob, RepositoryRef } from "../queue/job.ts";
import type { Notes } from "../queue/notes.ts";
import type { Queue } from "../queue/queue.ts";
import type { Spending } from "../queue/spending.ts";
import type { AppAccess } from "./app-access.ts";
import type { DayLimits, UsageLimits } from "./budgets.ts";

/** What jobs work with that are about no pull request: looking for what was missed, and deleting what is kept. */
export interface Upkeep {
  access: AppAccess;
  queue: Pick<Queue, "accept" | "enqueue" | "knows" | "forget">;
  notes: Notes;
  /** Whether a webhook may start a job at all. */
  handles(event: string, action: string | null): boolean;
  /** The jobs that a webhook starts. */
  jobsOf(event: string, payload: unknown): Promise<readonly NewJob[]>;
  /** Deletes mirror and checkouts of a repository; false where one of them is in use. */
  removeRepository(place: { owner: string; name: string }): Promise<boolean>;
}

/** What a push takes. */
export interface Pushing {
  /** Whose commits are pushed: ours. */
  author: { name: string; email: string };
  /**
   * Value of the Authorization header, of a token for this job alone; asked for right before the push. Rejects with
   * `github_forbidden` where writing was not granted.
   */
  authorization(): Promise<string>;
}

/**
 * GitHub for jobs: each API acts on one repository with a token that reaches nothing else. `beforeWrite` is asked right before
 * each request leaves that changes something.
 */
export interface GitHubAccess {
  repository(
    repository: RepositoryRef,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): Promise<RepositoryApi>;
  pull(
    repository: RepositoryRef,
    number: number,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): Promise<PullRequestApi>;
  /** For a command that changes a file. Its calls reject with `github_forbidden` where that was not granted. */
  writer(
    repository: RepositoryRef,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): Promise<RepositoryWriter>;
  /** For a command that pushes. */
  pushing(repository: RepositoryRef, signal: AbortSignal, beforeWrite?: BeforeWrite): Promise<Pushing>;
  /** Reads the repository `.github` of the repository's owner, where an organisation keeps what holds for all of its own. */
  organization(repository: RepositoryRef, signal: AbortSignal): Promise<ReadFile>;
}

export interface CheckoutRequest {
  repository: RepositoryRef;
  pull: number;
  /** Full object names. Both are fetched, and `head` is checked out. */
  head: string;
  base: string;
  /** Name of the branch that the pull request is to be merged into. */
  baseRef: string;
  signal: AbortSignal;
}

/** The part of a logger that jobs need. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What is measured of a review: fetching and checking out, reading and finding, publishing. */
export type Phase = "fetch" | "review" | "publish";

/** A commit that a branch on GitHub is to go to. */
export interface BranchPush extends Pick<PushRequest, "branch" | "from" | "to" | "authorization" | "signal"> {
  /** Where the commit is. */
  place: CheckoutPlace;
  /** The repository of the branch, which may be a fork. */
  owner: string;
  name: string;
}

/** What jobs work with; the process that runs them composes it once. */
export interface JobDependencies {
  github: GitHubAccess;
  checkout(request: CheckoutRequest): Promise<Checkout>;
  /** Moves a branch on GitHub from one commit to another, or does nothing. */
  push(request: BranchPush): Promise<PushEnd>;
  /** Starts what reads the checkout in this folder; left out, a process of its own. */
  startProcess?: (checkout: string) => StartedReviewProcess;
  /** Left out, fixes run no commands. */
  fixSandbox?: FindFixSandbox;
  /** Null reviews with the analyzers alone. */
  models: Models | null;
  /** Resolves once it is known what the models can do, and their facts hold. Rejects only when aborted. */
  modelsReady(signal: AbortSignal): Promise<void>;
  spending: Spending;
  /** A Logseq graph that takes notes of reviews; left out or null, none are taken. */
  vault?: LogseqVault | null;
  /** Indexes repositories for later reviews; left out, none are, and no review reads an index. */
  indexes?: { update(task: IndexTask): void };
  /** Left out where nothing but reviews is done. */
  upkeep?: Upkeep;
  /** Of each installation. */
  dailyBudget: DayLimits;
  /** How much may be asked of us. */
  usage: UsageLimits;
  /** A secret of a pull request, the same in each process: by it is remembered what was read. */
  contentKey(repository: RepositoryRef, pull: number): string;
  /** Told how long a phase of a review took that went well. For metrics. */
  onPhase?: (phase: Phase, milliseconds: number) => void;
  /** Milliseconds since 1970. */
  now(): number;
  /** Root of GitHub's pages, without a slash at the end. */
  webUrl: string;
  /** Version of Hunkwise. */
  version: string;
  log: JobLog;
}
